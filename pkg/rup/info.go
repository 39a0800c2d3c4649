package rup

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// InfoPath is the path of a site's Info. The draft also writes .tex, which robots do not try.
const InfoPath = "/rupinfo.txt"

// ConfirmLine begins the line of a mail in which a site asks an address whether it wants reports;
// it is followed by a colon and a URL. To confirm, the URL's query is posted to it. The draft has
// no such line (formats §6.5 allows confirmation). With this line and URLBase, a program can answer
// the mail.
const ConfirmLine = "RUP-Confirm"

// Why a robot cannot use RUP at a site (formats §6.1).
var (
	// ErrNoRUP: the file has no usable RUP-CGI line, so there is nothing to send requests to.
	ErrNoRUP = errors.New("the site does not offer RUP")
	// ErrAuthentifier: the site requires robots to identify themselves in an undefined way.
	// GetIndex is still possible.
	ErrAuthentifier = errors.New("unsupported authentifier")
)

// Info is a parsed /rupinfo.txt (formats §6.1).
type Info struct {
	CGI          string   // absolute http or https URL on the file's host, its own query kept
	Authentifier string   // "" and "none" mean none
	Latency      []Unit   // offered, as written; may include unknown units
	Exclude      []string // patterns that a robot may send; empty: it may send none
	IncludeOnly  []string // the same
	MaxQuerySpan Span     // how far back GetIndex reaches; zero: GetIndex is not offered

	Notes
}

// ParseInfo parses a /rupinfo.txt from base. If the error is ErrNoRUP, the Info still has the
// file's other fields. An Authentifier is not an error here: see CanRegister.
func ParseInfo(body []byte, base *url.URL) (*Info, error) {
	p := infoParser{Info: new(Info), base: base}
	text, cut := fit(body, MaxInfo)
	last := 0
	for n, line := range lines(text) {
		last = n
		if trim(line) != "" {
			p.line(n, line)
		}
	}
	if cut {
		p.odd(last, "it is longer than %d bytes: the rest is ignored", MaxInfo)
	}
	if p.problem != "" {
		return p.Info, fmt.Errorf("%w: %s", ErrNoRUP, p.problem)
	}
	if p.CGI == "" {
		return p.Info, fmt.Errorf("%w: there is no RUP-CGI line", ErrNoRUP)
	}
	return p.Info, nil
}

type infoParser struct {
	*Info
	base    *url.URL
	cgi     bool   // a RUP-CGI line was read
	problem string // why the URL of the RUP-CGI line is unusable
}

// line parses a line. If a field that is not a list is repeated, the first one counts. An invalid
// field counts as missing.
func (p *infoParser) line(n int, line string) {
	name, value, ok := field(line, ":")
	if !ok {
		p.odd(n, "there is no colon: skipped")
		return
	}
	switch lower(name) {
	case "rup-cgi", "authentifier", "latency", "exclude", "includeonly", "maxqueryspan":
	default:
		p.odd(n, "unknown field %q: skipped", name)
		return
	}
	if value == "" {
		p.odd(n, "%s has no value: skipped", name)
		return
	}
	switch lower(name) {
	case "rup-cgi":
		p.readCGI(n, value)
	case "authentifier":
		if p.Authentifier != "" {
			p.odd(n, "a second Authentifier: skipped")
			return
		}
		p.Authentifier = value
	case "latency":
		for word := range strings.SplitSeq(value, ",") {
			p.readUnit(n, Unit(trim(word)))
		}
	case "exclude":
		p.Exclude = p.readPatterns(n, p.Exclude, value)
	case "includeonly":
		p.IncludeOnly = p.readPatterns(n, p.IncludeOnly, value)
	case "maxqueryspan":
		span, err := ParseSpan(value)
		switch {
		case err != nil:
			p.odd(n, "%v: skipped", err)
		case p.MaxQuerySpan != Span{}:
			p.odd(n, "a second MaxQuerySpan: skipped")
		default:
			p.MaxQuerySpan = span
		}
	}
}

// readCGI uses the first URL in the file, even if it is unusable: if a site names another host
// first, we must not send requests elsewhere.
func (p *infoParser) readCGI(n int, value string) {
	if p.cgi {
		p.odd(n, "a second RUP-CGI: skipped")
		return
	}
	u, err := url.Parse(value)
	if err != nil || strings.ContainsAny(value, blanks) {
		p.odd(n, "RUP-CGI is not a URL: skipped")
		return
	}
	p.cgi = true
	if p.base != nil {
		u = p.base.ResolveReference(u)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		p.problem = "RUP-CGI is neither http nor https"
	case u.Hostname() == "":
		p.problem = "RUP-CGI has no host"
	case u.User != nil:
		p.problem = "RUP-CGI contains a user name"
	case p.base != nil && lower(u.Hostname()) != lower(p.base.Hostname()):
		p.problem = "RUP-CGI is on another host"
	}
	if p.problem != "" {
		p.odd(n, "%s", p.problem)
		return
	}
	u.Fragment, u.RawFragment = "", ""
	p.CGI = u.String()
}

func (p *infoParser) readUnit(n int, unit Unit) {
	switch {
	case unit == "" || offers(p.Latency, unit):
		return
	case unit.Days() == 0:
		p.odd(n, "unknown unit %q: ignored", unit)
	}
	p.Latency = append(p.Latency, unit)
}

// readPatterns extends a list. Patterns that cannot be sent in a request are kept, because they are
// in the file, and reported.
func (p *infoParser) readPatterns(n int, patterns []string, value string) []string {
	for _, pattern := range list(value) {
		if err := checkPattern(pattern); err != nil {
			p.odd(n, "pattern %q: %v", pattern, err)
		}
		patterns = append(patterns, pattern)
	}
	return patterns
}

// CanRegister returns nil if a robot may register, else ErrNoRUP or ErrAuthentifier.
func (i *Info) CanRegister() error {
	switch {
	case i.CGI == "":
		return ErrNoRUP
	case i.Authentifier != "" && i.Authentifier != "none":
		return fmt.Errorf("%w %q", ErrAuthentifier, brief(i.Authentifier))
	}
	return nil
}

// DefaultLatency is the latency of a site for a robot that requests none: the first known unit that
// it offers, or a week (formats §6.2).
func (i *Info) DefaultLatency() Latency {
	for _, unit := range i.Latency {
		if unit.Days() > 0 {
			return Latency{1, unit}
		}
	}
	return Latency{1, Week}
}

// Text returns a file with this content. It fails if there is no CGI URL, or if a pattern could not
// be parsed again.
func (i *Info) Text() ([]byte, error) {
	if i.CGI == "" || strings.ContainsAny(i.CGI, " \t\r\n") {
		return nil, fmt.Errorf("rupinfo: RUP-CGI %q: use a URL, for example /rup", i.CGI)
	}
	var b strings.Builder
	line := func(name string, values ...string) {
		if v := strings.Join(values, ", "); v != "" {
			b.WriteString(name + ": " + v + "\n")
		}
	}
	line("RUP-CGI", i.CGI)
	if i.Authentifier != "" && i.Authentifier != "none" {
		return nil, fmt.Errorf("rupinfo: Authentifier %q: use none, the only one that is defined", i.Authentifier)
	}
	line("Authentifier", "none")
	var units []string
	for _, unit := range i.Latency {
		if unit.Days() == 0 {
			return nil, fmt.Errorf("rupinfo: Latency %q: use day, week or month", unit)
		}
		units = append(units, string(unit))
	}
	line("Latency", units...)
	for _, patterns := range [][]string{i.Exclude, i.IncludeOnly} {
		for _, pattern := range patterns {
			if err := checkPattern(pattern); err != nil {
				return nil, fmt.Errorf("rupinfo: pattern %q: %w", pattern, err)
			}
		}
	}
	line("Exclude", i.Exclude...)
	line("IncludeOnly", i.IncludeOnly...)
	line("MaxQuerySpan", i.MaxQuerySpan.String())
	if b.Len() > MaxInfo {
		return nil, fmt.Errorf("rupinfo: the file would have %d bytes, but robots read only %d: offer fewer patterns", b.Len(), MaxInfo)
	}
	return []byte(b.String()), nil
}
