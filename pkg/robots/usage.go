package robots

import (
	"slices"
	"strings"
)

// UsageKind is the kind of a line that speaks of the use of pages, not of fetching them.
type UsageKind uint8

// The kinds of lines about use (formats §8).
const (
	ContentUsage  UsageKind = iota + 1 // draft-ietf-aipref-attach-05
	ContentSignal                      // Cloudflare's content signals policy
	License                            // RSL 1.0: the address of a licence document
)

// String returns the name of the record.
func (k UsageKind) String() string {
	switch k {
	case ContentUsage:
		return "Content-Usage"
	case ContentSignal:
		return "Content-Signal"
	case License:
		return "License"
	}
	return ""
}

// UsageLine is a line about the use of pages. What its statement means is for package usage to say.
type UsageLine struct {
	Kind      UsageKind
	Path      string // of Content-Usage: the path as written, "" if it has none
	Statement string // what is said, without the path
	Line      int    // counted from 1
	Text      string // the line as written, without comment
}

// Lines of these kinds concern every URL of the origin, so there are no more of them in a file than
// someone would write on purpose.
const maxOriginWide = 100

// usageRecord is a UsageLine and whom it concerns.
type usageRecord struct {
	scope
	UsageLine
	rule // of Content-Usage: what its path matches
}

// usage takes a line about use. For Allow and Disallow it is one of the other records: it closes
// no group, and counts for its own block (formats §8.6).
func (p *parser) usage(kind UsageKind, value string) {
	u := usageRecord{scope: p.scope(), UsageLine: UsageLine{Kind: kind, Statement: value, Line: p.line, Text: p.text}}
	if kind == ContentUsage {
		// Any first character but "/" begins the statement: there is no path then.
		if value != "" && value[0] == '/' {
			u.Path, u.Statement = cutWord(value)
		}
		if u.rule = newRule(u.Path); u.rule.octets() > maxPattern {
			p.odd("the path is longer than 8 KiB: skipped")
			return
		}
	} else if p.originWide[kind]++; p.originWide[kind] > maxOriginWide {
		p.odd("more than 100 " + kind.String() + " lines: skipped")
		return
	}
	p.file.usages = append(p.file.usages, u)
}

// usageRules is what a file says of use to one robot.
type usageRules struct {
	everywhere []UsageLine // Content-Signal and License
	plain      prefixes    // paths of Content-Usage
	globs      []rule
	byPath     map[string][]UsageLine // Content-Usage by pattern, in file order
}

// usageFor returns the lines for us, or nil: of each kind those of our group, or if it has none,
// those at the top of the file (formats §8.9). A group of our own inherits nothing from "*"
// (formats §8.10).
func (f *File) usageFor(ours []int32) *usageRules {
	if len(f.usages) == 0 {
		return nil
	}
	own := f.ownUsage(ours)
	r := &usageRules{byPath: map[string][]UsageLine{}}
	var rules []rule
	for i := range f.usages {
		u := &f.usages[i]
		if !own.take(u, ours) {
			continue
		}
		// Rules are kept longer than files: a line should not keep a big file in memory.
		line := u.UsageLine
		line.Path, line.Statement, line.Text = strings.Clone(u.Path), strings.Clone(u.Statement), strings.Clone(u.Text)
		if u.Kind != ContentUsage {
			r.everywhere = append(r.everywhere, line)
			continue
		}
		key := u.rule.key()
		if r.byPath[key] == nil {
			rules = append(rules, rule{pattern: strings.Clone(u.pattern), anchored: u.anchored, wild: u.wild})
		}
		r.byPath[key] = append(r.byPath[key], line)
	}
	r.plain, r.globs = index(rules)
	return r
}

// usageKinds are those kinds of lines of which a robot's own group has some.
type usageKinds [License + 1]bool

func (f *File) ownUsage(ours []int32) (own usageKinds) {
	for i := range f.usages {
		if u := &f.usages[i]; u.covers(ours) {
			own[u.Kind] = true
		}
	}
	return own
}

// take reports whether a line concerns the robot: one of its group, or, of a kind of which that has
// none, one at the top of the file.
func (own *usageKinds) take(u *usageRecord, ours []int32) bool {
	return own[u.Kind] == u.covers(ours) && (own[u.Kind] || u.group < 0)
}

// key tells patterns apart: "/a$" is not "/a".
func (r *rule) key() string {
	if r.anchored {
		return r.pattern + "$"
	}
	return r.pattern
}

// Usage returns the lines about use that concern a URL (formats §8), for package usage to read: all
// lines of Content-Signal and License, and of Content-Usage those whose path matches and has the
// most octets, as in Match; no path has none. Where several have as many, all of them are returned,
// for the strictest to count. Content-Usage says nothing of a URL that may not be fetched. Without
// such lines Usage does not allocate.
//
// pathAndQuery is what Match takes. The lines belong to r, which does not change.
func (r *Rules) Usage(pathAndQuery string) []UsageLine {
	u := r.usage
	if u == nil || r.denyAll {
		return nil
	}
	if len(u.byPath) == 0 {
		return u.everywhere
	}
	s := subject(pathAndQuery)
	if v, _ := r.match(s); !v.Allowed {
		return u.everywhere
	}
	lines := slices.Clip(u.everywhere)
	most := -1
	if best, _ := u.plain.longest(s); best != nil {
		lines, most = append(lines, u.byPath[best.key()]...), best.octets()
	}
	for i := range u.globs {
		g := &u.globs[i]
		if g.octets() < most {
			break // nor has any after it more
		}
		if ok, _ := glob(g.pattern, g.anchored, s); ok {
			if g.octets() > most {
				lines, most = slices.Clip(u.everywhere), g.octets()
			}
			lines = append(lines, u.byPath[g.key()]...)
		}
	}
	return lines
}

// Names reports whether a user-agent line of the file names the robot with the given product token;
// "*" names nobody.
func (f *File) Names(token string) bool {
	token = productToken(token)
	return token != "" && slices.ContainsFunc(f.agents, func(a string) bool { return equalFold(a, token) })
}
