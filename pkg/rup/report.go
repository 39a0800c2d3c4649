package rup

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Kind is the kind of change of a page.
type Kind string

// The three kinds of line in a report (formats §6.4).
const (
	New    Kind = "New"
	Change Kind = "Change"
	Delete Kind = "Delete"
)

// Why a whole report is refused (formats §6.4, §6.5).
var (
	// ErrHead: the number or the URLBase of a report is missing or invalid.
	ErrHead = errors.New("it is not a report")
	// ErrSite: a report is about another site than expected.
	ErrSite = errors.New("it is a report of another site")
)

// Report is a list of changes at a site (formats §6.4).
type Report struct {
	Sequence int64  // 1 for the first report to a robot; 0: not numbered
	Base     string // absolute http or https URL in normal form, with a final slash
	Entries  []Entry
	Refused  []Refused
	// Truncated: the report is longer than MaxReport or MaxPaths allow, and its end is missing
	// here.
	Truncated bool

	Notes
}

// Entry is one page that changed.
type Entry struct {
	URL  string // absolute, without fragment, within the report's Base
	Kind Kind
	Date time.Time // UTC; zero if unknown
	Line int       // its line in the report, from 1
}

// Refused is a path that a report must not list, or that cannot be written.
type Refused struct {
	Path   string // as in the report, shortened
	Kind   Kind
	Line   int // from 1, or 0 if it was to be written
	Reason string
}

// Limits of a report, so that a short one cannot take much memory: each of its paths becomes an
// absolute URL.
const (
	maxURL     = 8 << 10
	maxURLs    = 32 << 20 // bytes of all URLs together
	maxRefused = 1000     // kept; the others are counted
)

// ParseReport parses the text of a report, with decoded transfer encoding and charset. An error
// wraps ErrHead, because without a complete head the paths have no meaning. Any later oddity
// affects only its line or path.
func ParseReport(text []byte) (*Report, error) {
	s, cut := fit(text, MaxReport)
	p := reportParser{Report: new(Report)}
	for n, line := range lines(s) {
		if p.last = n; p.full {
			break
		}
		if err := p.line(n, line); err != nil {
			return nil, err
		}
	}
	if err := p.endHead(p.last); err != nil {
		return nil, err
	}
	if cut && !p.full {
		p.Truncated = true
		p.odd(p.last, "it is longer than %d bytes: the rest is ignored", MaxReport)
	}
	p.Entries = latest(p.Entries)
	return p.Report, nil
}

type reportParser struct {
	*Report
	base   *base
	number bool // SequenceNumber was read
	begun  bool // a line of the head was read
	body   bool // the head is complete
	full   bool // the limit of paths is reached
	last   int  // number of the current line
	paths  int
	bytes  int // of all URLs
}

func (p *reportParser) line(n int, line string) error {
	switch {
	case p.body:
		if trim(line) != "" {
			p.bodyLine(n, line)
		}
		return nil
	case trim(line) != "":
		return p.headLine(n, line)
	case p.begun:
		return p.endHead(n)
	}
	return nil // blank lines before the head
}

// headLine parses a line of the head. A line of changes also ends the head, so that nothing is lost
// if the blank line is missing.
func (p *reportParser) headLine(n int, line string) error {
	p.begun = true
	name, value, ok := field(line, ":=")
	switch {
	case ok && lower(name) == "sequencenumber":
		number, err := strconv.ParseInt(value, 10, 64)
		switch {
		case p.number:
			p.odd(n, "a second SequenceNumber: skipped")
		case value == "" || !allDigits(value) || err != nil:
			return fmt.Errorf("%w: line %d: SequenceNumber %q is not a number", ErrHead, n, brief(value))
		default:
			p.Sequence, p.number = number, true
		}
	case ok && lower(name) == "urlbase":
		if p.base != nil {
			p.odd(n, "a second URLBase: skipped")
			return nil
		}
		b, err := parseBase(value)
		if err != nil {
			return fmt.Errorf("%w: line %d: URLBase %q: %w", ErrHead, n, brief(value), err)
		}
		p.base, p.Base = b, b.String()
	default:
		if _, _, _, ok := changeLine(line); !ok {
			p.odd(n, "not a header line: skipped")
			return nil
		}
		if err := p.endHead(n); err != nil {
			return err
		}
		p.odd(n, "there is no blank line after the header")
		p.bodyLine(n, line)
	}
	return nil
}

func (p *reportParser) endHead(n int) error {
	p.body = true
	switch {
	case !p.number:
		return fmt.Errorf("%w: line %d: the header has no SequenceNumber", ErrHead, n)
	case p.base == nil:
		return fmt.Errorf("%w: line %d: the header has no URLBase", ErrHead, n)
	}
	return nil
}

// bodyLine parses a line of changes. Signatures and advertisements are skipped.
func (p *reportParser) bodyLine(n int, line string) {
	kind, date, paths, ok := changeLine(line)
	if !ok {
		p.odd(n, "not a New, Change or Delete line: skipped")
		return
	}
	at, known := parseDate(date)
	if !known {
		p.odd(n, "date %q cannot be read: treated as unknown", date)
	}
	for _, path := range list(paths) {
		if p.paths == MaxPaths || p.bytes > maxURLs {
			p.full, p.Truncated = true, true
			p.odd(n, "more than %d paths: the rest is ignored", p.paths)
			return
		}
		p.paths++
		u, err := p.base.resolve(path)
		if err != nil {
			p.Skipped++
			if len(p.Refused) < maxRefused {
				p.Refused = append(p.Refused, Refused{brief(path), kind, n, err.Error()})
			}
			continue
		}
		p.bytes += len(u)
		p.Entries = append(p.Entries, Entry{URL: u, Kind: kind, Date: at, Line: n})
	}
}

// changeLine splits a line "Kind[date]: paths". The date may contain colons.
func changeLine(line string) (kind Kind, date, paths string, ok bool) {
	line = trim(line)
	end := strings.IndexAny(line, " \t[:")
	if end < 0 {
		return "", "", "", false
	}
	switch lower(line[:end]) {
	case "new":
		kind = New
	case "change":
		kind = Change
	case "delete":
		kind = Delete
	default:
		return "", "", "", false
	}
	rest := trim(line[end:])
	if strings.HasPrefix(rest, "[") {
		date, rest, ok = strings.Cut(rest[1:], "]")
		if !ok {
			return "", "", "", false
		}
		date, rest = trim(date), trim(rest)
	}
	paths, ok = strings.CutPrefix(rest, ":")
	return kind, date, paths, ok
}

// latest keeps one of several entries for a URL: the one with the latest date, and of equal dates
// the last one (formats §6.4). The order is kept.
func latest(entries []Entry) []Entry {
	best := make(map[string]int, len(entries))
	for i, e := range entries {
		if j, seen := best[e.URL]; !seen || !e.Date.Before(entries[j].Date) {
			best[e.URL] = i
		}
	}
	if len(best) == len(entries) {
		return entries
	}
	kept := entries[:0]
	for i, e := range entries {
		if best[e.URL] == i {
			kept = append(kept, e)
		}
	}
	return kept
}

// CheckSite returns ErrSite if a report is not from the expected site (formats §6.5). site is any
// URL of that site; scheme, host and port are compared.
func (r *Report) CheckSite(site *url.URL) error {
	b, err := url.Parse(r.Base)
	if err != nil || !sameOrigin(b, site) {
		return fmt.Errorf("%w: URLBase is %s, not %s", ErrSite, r.Base, originOf(site))
	}
	return nil
}
