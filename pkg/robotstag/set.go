package robotstag

import (
	"strings"
	"time"
)

// Limits. draft-illyes-repext §2.1.1 requires at least 8 KiB of a field value; the other limits
// bound the work and the memory for one response.
const (
	// MaxValue is how many bytes of one header line, or of one meta element's content, are read. A
	// rule that the limit cuts is ignored.
	MaxValue = 8 << 10
	// MaxResponse is how many bytes of all header lines of a response together are read, and again
	// of all its meta elements.
	MaxResponse = 64 << 10

	maxSources     = 64 // stored for explanation; rules beyond it still apply
	maxDiagnostics = 64
)

// The kinds of sources.
const (
	Header = "header"
	Meta   = "meta"
)

// Source is one header line or meta element that was read, with its rules for our token. It
// explains a decision; see Set.Sources.
type Source struct {
	Where string // Header or Meta
	Name  string // the field's name, or the meta element's, as written
	Value string // the value, up to the limit
	Rules []Rule // its rules for us, each once; empty if there are none
}

// Directives returns the directives of this source alone.
func (s Source) Directives() Directives {
	var d Directives
	for _, r := range s.Rules {
		d = d.Merge(r.directives())
	}
	return d
}

// Rule is one rule. "none" appears as its two rules, and a max-snippet of 0 as nosnippet.
type Rule struct {
	// noindex, nosnippet, max-snippet, nofollow, noarchive, unavailable_after, noai or noimageai
	Name  string
	Own   bool      // for our token by name, not for everybody
	Until time.Time // the date of unavailable_after, else zero
	Limit int       // the characters of max-snippet, else zero
}

func (r Rule) directives() Directives {
	switch r.Name {
	case "noindex":
		return Directives{NoIndex: true}
	case "nosnippet":
		return Directives{NoSnippet: true}
	case "max-snippet":
		return Directives{MaxSnippet: r.Limit}
	case "nofollow":
		return Directives{NoFollow: true}
	case "noarchive":
		return Directives{NoArchive: true}
	case "noai":
		return Directives{NoAI: true}
	case "noimageai":
		return Directives{NoImageAI: true}
	}
	return Directives{UnavailableAfter: r.Until}
}

// Diagnostic describes something odd in a value. It does not stop the reading.
type Diagnostic struct {
	Where  string // Header or Meta
	Line   int    // which header line or meta element of the Set, from 1
	Text   string // the words in question
	Reason string
}

// Set collects the header lines and meta elements of one response for one product token. The zero
// value is ready to use and has only the rules for everybody; New and Reset give it a token. A
// response without such headers and meta elements costs no allocation.
//
// Only one goroutine may use a Set at a time.
type Set struct {
	token   string
	header  Directives
	meta    Directives
	headers gauge
	metas   gauge
	sources []Source
	diags   []Diagnostic
}

// gauge counts what was read of one kind of source.
type gauge struct{ lines, bytes int }

// New returns an empty Set for our product token.
func New(token string) *Set {
	s := new(Set)
	s.Reset(token)
	return s
}

// Reset empties the set and gives it a token, so that one Set can be used for many pages. Earlier
// results of Sources and Diagnostics become invalid.
func (s *Set) Reset(token string) {
	*s = Set{token: leadingToken(token), sources: s.sources[:0], diags: s.diags[:0]}
}

// AddHeader reads one field line (formats §4.1). Names other than Robots-Tag and X-Robots-Tag, in
// any case, are ignored. Lines must not be joined with commas before, because each is read
// separately.
func (s *Set) AddHeader(name, value string) {
	if isField(name) {
		s.add(Header, name, value, false)
	}
}

// AddHeaders reads all Robots-Tag and X-Robots-Tag lines of a response. h is an http.Header; this
// package does not import net/http, because it is also compiled into programs that must be small.
func (s *Set) AddHeaders(h map[string][]string) {
	for _, name := range fields {
		for _, value := range h[name] {
			s.add(Header, name, value, false)
		}
	}
}

// Carries reports whether a response has any Robots-Tag or X-Robots-Tag line. A 304 that has one
// replaces earlier headers; a 304 without one keeps them (formats §4.2). h is an http.Header.
func Carries(h map[string][]string) bool {
	for _, name := range fields {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// fields are the two names in the spelling of http.Header.
var fields = [...]string{"Robots-Tag", "X-Robots-Tag"}

func isField(name string) bool {
	for _, f := range fields {
		if equalFold(name, f) {
			return true
		}
	}
	return false
}

// AddMeta reads one <meta name=… content=…> in a page's head (formats §4.3). The caller must check
// that it is in the head, see Head. Names other than "robots" and our token are ignored.
func (s *Set) AddMeta(name, content string) {
	if everybody, own := addressee(name, s.token); everybody || own {
		s.add(Meta, name, content, own)
	}
}

// WantsMeta reports whether AddMeta would read a meta element with this name. With it a tokenizer
// loop need not convert every viewport and og:title.
func (s *Set) WantsMeta(name []byte) bool {
	everybody, own := addressee(name, s.token)
	return everybody || own
}

// Directives returns the directives of all sources together.
func (s *Set) Directives() Directives { return s.header.Merge(s.meta) }

// HeaderDirectives returns the directives of the header lines alone, which a 304 may replace
// (formats §4.2).
func (s *Set) HeaderDirectives() Directives { return s.header }

// MetaDirectives returns the directives of the meta elements alone.
func (s *Set) MetaDirectives() Directives { return s.meta }

// Sources returns the header lines and meta elements read so far, in order, with the rules of each
// for us. Sixty-four are kept; rules of later ones still count in Directives. The slice is valid
// until Reset.
func (s *Set) Sources() []Source { return s.sources }

// Diagnostics returns oddities, at most sixty-four. The slice is valid until Reset.
func (s *Set) Diagnostics() []Diagnostic { return s.diags }

// add reads one value within the limits and records its rules.
func (s *Set) add(where, name, value string, own bool) {
	g, sum := &s.headers, &s.header
	if where == Meta {
		g, sum = &s.metas, &s.meta
	}
	g.lines++
	read := min(MaxValue, MaxResponse-g.bytes)
	p := parser{set: s, where: where, line: g.lines, own: own}
	if len(value) > read {
		p.diagnose("", "the value was cut at the size limit")
		value, p.cut = cutValue(value, read)
	}
	g.bytes += min(len(value), read)
	if where == Meta {
		p.metaValue(value)
	} else {
		p.headerValue(value)
	}
	for _, r := range p.rules {
		*sum = sum.Merge(r.directives())
	}
	if len(s.sources) < maxSources {
		s.sources = append(s.sources, Source{Where: where, Name: name, Value: value, Rules: p.rules})
	}
}

// cutValue shortens a value to at most n bytes, at the end of its last complete word. open reports
// that the same item continued beyond the cut, so that a date there may be incomplete even if its
// last word is complete.
func cutValue(value string, n int) (short string, open bool) {
	open = value[n] != ',' && value[n] != ';'
	short = value[:n]
	if open && strings.IndexByte(blanks, value[n]) < 0 {
		short = short[:strings.LastIndexAny(short, blanks+",;")+1]
	}
	return short, open
}
