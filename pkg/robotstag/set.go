package robotstag

import (
	"net/http"
	"strings"
	"time"
)

// Limits. draft-illyes-repext §2.1.1 demands at least 8 KiB of a field value;
// the rest bounds what one response can make us do and keep.
const (
	// MaxValue is how many bytes of one header line, or of one meta element's
	// content, are read. A rule that the cut halves is ignored.
	MaxValue = 8 << 10
	// MaxResponse is how many bytes of all header lines of a response
	// together are read, and again of all its meta elements.
	MaxResponse = 64 << 10

	maxSources     = 64 // kept for explanation; rules past it still hold
	maxDiagnostics = 64
)

// Where a source stood.
const (
	Header = "header"
	Meta   = "meta"
)

// Source is one header line or meta element that was read, and what it asks
// of our token. It lets a decision be explained; see Set.Sources.
type Source struct {
	Where string // Header or Meta
	Name  string // the field's name, or the meta element's, as written
	Value string // the value, as far as it was read
	Rules []Rule // what it asks, each rule once; empty if nothing concerns us
}

// Directives returns what this source alone asks.
func (s Source) Directives() Directives {
	var d Directives
	for _, r := range s.Rules {
		d = d.Merge(r.directives())
	}
	return d
}

// Rule is one thing asked. "none" appears as the two rules it stands for, and
// a max-snippet of 0 as nosnippet.
type Rule struct {
	// noindex, nosnippet, max-snippet, nofollow, noarchive, unavailable_after, noai or noimageai
	Name  string
	Own   bool      // asked of our token by name, not of everybody
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

// Diagnostic is something odd in a value. None of them stops the reading.
type Diagnostic struct {
	Where  string // Header or Meta
	Line   int    // which header line or meta element of the Set, from 1
	Text   string // the words in question
	Reason string
}

// Set gathers the header lines and meta elements of one response on behalf of
// one product token. The zero value works and listens to what is said to
// everybody; New and Reset give it a token. A response that has no such header
// and no such meta element costs no allocation.
//
// A Set may be used by one goroutine at a time.
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

// Reset empties the set and gives it a token, so that one Set can serve page
// after page. What Sources and Diagnostics returned before becomes invalid.
func (s *Set) Reset(token string) {
	*s = Set{token: leadingToken(token), sources: s.sources[:0], diags: s.diags[:0]}
}

// AddHeader reads one field line (formats §4.1). Names other than Robots-Tag and
// X-Robots-Tag, in any case, are ignored. Lines must not be joined with commas
// first: each is read on its own.
func (s *Set) AddHeader(name, value string) {
	if isField(name) {
		s.add(Header, name, value, false)
	}
}

// AddHeaders reads all Robots-Tag and X-Robots-Tag lines of a response.
func (s *Set) AddHeaders(h http.Header) {
	for _, name := range fields {
		for _, value := range h[name] {
			s.add(Header, name, value, false)
		}
	}
}

// Carries reports whether a response has any Robots-Tag or X-Robots-Tag line.
// A 304 that carries one replaces what earlier headers said; one without keeps
// it (formats §4.2).
func Carries(h http.Header) bool {
	for _, name := range fields {
		if len(h[name]) > 0 {
			return true
		}
	}
	return false
}

// fields are the two names in the spelling http.Header keeps them under.
var fields = [...]string{"Robots-Tag", "X-Robots-Tag"}

func isField(name string) bool {
	for _, f := range fields {
		if equalFold(name, f) {
			return true
		}
	}
	return false
}

// AddMeta reads one <meta name=… content=…> that stands in a page's head
// (formats §4.3); whether it does is for the caller to decide, see Head. Names that are
// neither "robots" nor our token are ignored.
func (s *Set) AddMeta(name, content string) {
	if everybody, own := addressee(name, s.token); everybody || own {
		s.add(Meta, name, content, own)
	}
}

// WantsMeta reports whether AddMeta would read a meta element of this name. It
// spares a tokenizer loop the conversion of every viewport and og:title.
func (s *Set) WantsMeta(name []byte) bool {
	everybody, own := addressee(name, s.token)
	return everybody || own
}

// Directives returns what all sources together ask of us.
func (s *Set) Directives() Directives { return s.header.Merge(s.meta) }

// HeaderDirectives returns what the header lines alone ask: the part a 304
// may replace (formats §4.2).
func (s *Set) HeaderDirectives() Directives { return s.header }

// MetaDirectives returns what the meta elements alone ask.
func (s *Set) MetaDirectives() Directives { return s.meta }

// Sources returns the header lines and meta elements read so far, in order,
// with what each asks of us. Sixty-four are kept; rules of later ones still
// count in Directives. The slice belongs to the set until Reset.
func (s *Set) Sources() []Source { return s.sources }

// Diagnostics returns what was odd, sixty-four of them at most. The slice
// belongs to the set until Reset.
func (s *Set) Diagnostics() []Diagnostic { return s.diags }

// add reads one value within the limits and records what it asks.
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

// cutValue shortens a value to n bytes and further back to the end of its last
// whole word. open reports that more of the same item lay beyond the cut, so
// that a date there may be incomplete even where its last word is whole.
func cutValue(value string, n int) (short string, open bool) {
	open = value[n] != ',' && value[n] != ';'
	short = value[:n]
	if open && strings.IndexByte(blanks, value[n]) < 0 {
		short = short[:strings.LastIndexAny(short, blanks+",;")+1]
	}
	return short, open
}
