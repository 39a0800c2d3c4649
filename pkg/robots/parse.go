package robots

import (
	"slices"
	"strings"
)

// Parse reads a robots.txt. It never fails: an invalid line is skipped and reported in Diagnostics,
// and an HTML page gives a File without rules. Parse keeps no reference to body.
func Parse(body []byte) *File {
	text, cut := decode(body)
	p := &parser{file: &File{text: text}, group: -1}
	l := newLines(text)
	for l.next() {
		line := l.line
		if i := strings.IndexByte(line, '#'); i >= 0 {
			line = line[:i]
		}
		// A blank line and a comment have no meaning. They do not even end a group (formats
		// §1.2.2).
		if line = trim(line); line != "" {
			p.line, p.text = l.num, line
			p.cutAtNUL()
			p.record()
		}
	}
	if cut {
		p.line, p.text = l.num+1, ""
		p.odd("the file is longer than 512000 bytes: the rest is ignored")
	}
	p.finish()
	return p.file
}

// parser is the state of Parse.
type parser struct {
	file *File
	line int    // number of the current line
	text string // the current line, without comment and outer blanks

	group int32 // index of the open group, -1 before the first
	// there was no rule since the last user-agent line, so another one joins the group (formats
	// §1.2.3)
	naming bool
	block  int32 // index of the first user-agent of the block (formats §1.2.6)
	// there was a line that is not a user-agent line since: the next user-agent line begins another
	// block
	blockEnd bool
	sitemaps map[string]struct{} // those seen, once there are some

	wildCleans int // Clean-param lines with "*" in their path, so far
	cleanNames int // names of parameters in Clean-param lines, so far

	originWide [License + 1]int // lines about the use of the whole origin so far, by kind
}

func (p *parser) odd(reason string) {
	f := p.file
	f.Odd++
	if len(f.Diagnostics) < MaxDiagnostics {
		f.Diagnostics = append(f.Diagnostics, Diagnostic{Line: p.line, Reason: reason, Text: p.text[:min(len(p.text), 200)]})
	}
}

// cutAtNUL ends a user-agent, disallow or crawl-delay line at a NUL, as parsers written in C do:
// "Disallow: /a\x00b" closes /a. An Allow would open more than it states in this way, so it becomes
// one that matches nothing. In other records a NUL is an ordinary character.
func (p *parser) cutAtNUL() {
	nul := strings.IndexByte(p.text, 0)
	if nul < 0 {
		return
	}
	switch kind, _, _ := splitRecord(p.text[:nul]); kind {
	case kindUserAgent, kindDisallow, kindCrawlDelay:
		p.odd("the line contains a NUL: the rest of the line is ignored")
		p.text = trim(p.text[:nul])
	case kindAllow:
		p.odd("the Allow rule contains a NUL: it matches nothing")
		p.text = "allow:"
	}
}

func (p *parser) record() {
	kind, value, oddity := splitRecord(p.text)
	if oddity != "" {
		p.odd(oddity)
	}
	if kind != kindUserAgent {
		p.blockEnd = true
	}
	switch kind {
	case kindUserAgent:
		if p.blockEnd {
			p.block, p.blockEnd = int32(len(p.file.agents)), false
		}
		p.userAgent(value)
	case kindAllow, kindDisallow:
		p.rule(kind == kindAllow, value)
	case kindSitemap:
		p.sitemap(value)
	case kindCrawlDelay:
		p.crawlDelay(value)
	case kindHost:
		p.host(value)
	case kindCleanParam:
		p.cleanParam(value)
	case kindMobileAgentServer:
		p.agentServer(value)
	case kindContentUsage:
		p.usage(ContentUsage, value)
	case kindContentSignal:
		p.usage(ContentSignal, value)
	case kindLicense:
		p.usage(License, value)
	}
}

func (p *parser) userAgent(value string) {
	f := p.file
	if !p.naming {
		n, r := int32(len(f.agents)), int32(len(f.rules))
		f.groups = append(f.groups, group{n, n, r, r})
		p.group++
		p.naming = true
	}
	agent := agentName(value)
	if agent == "" {
		p.odd("user-agent line without a robot's name: the group applies to no robot unless it has another user-agent line")
	}
	f.agents = append(f.agents, agent)
	f.groups[p.group].agentsTo++
}

func (p *parser) rule(allow bool, value string) {
	if p.group < 0 {
		p.odd("rule before the first user-agent line: skipped")
		return
	}
	p.naming = false // an empty rule, too, ends the list of agents (formats §1.2.4)
	if value == "" {
		return
	}
	if value[0] != '/' && value[0] != '*' {
		p.odd("the pattern does not start with / or *: it matches nothing")
		return
	}
	r := newRule(value)
	if r.octets() > maxPattern {
		p.odd("the pattern is longer than 8 KiB: skipped")
		return
	}
	r.text, r.line, r.allow = p.text, int32(p.line), allow
	if rules := p.file.rules; len(rules) == cap(rules) {
		// append alone would copy a long list many times
		p.file.rules = slices.Grow(rules, len(rules)+8)
	}
	p.file.rules = append(p.file.rules, r)
	p.file.groups[p.group].rulesTo++
}

// newRule returns a rule for a pattern as written. The caller sets whether it allows.
func newRule(pattern string) (r rule) {
	if last := len(pattern) - 1; last >= 0 && pattern[last] == '$' {
		pattern, r.anchored = pattern[:last], true
	}
	r.pattern = normalize(pattern, true)
	r.wild = strings.IndexByte(r.pattern, '*') >= 0
	return r
}

// scope returns which robots a record on this line applies to.
func (p *parser) scope() scope {
	s := scope{p.group, p.block, int32(len(p.file.agents))}
	if p.group >= 0 && !p.naming {
		s.agentsFrom = p.file.groups[p.group].agentsFrom
	}
	return s
}

// finish does the work that needs the whole file.
func (p *parser) finish() {
	p.file.indexCleanParams()
}

// productToken returns the run of letters, "_" and "-" at the beginning of s (formats §1.3).
func productToken(s string) string {
	for i := range len(s) {
		if c := s[i]; !isLetter(c) && c != '_' && c != '-' {
			return s[:i]
		}
	}
	return s
}

// agentName returns the part of a user-agent line that is compared: a product token, "*" for the
// global group, or "" if it names nobody.
func agentName(value string) string {
	if word, _ := cutWord(value); word == "*" {
		return "*"
	}
	return productToken(value)
}
