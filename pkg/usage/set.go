package usage

import (
	"net/http"
	"strconv"
	"strings"
)

// Limits of the explanations that one Set stores.
const (
	maxTerms       = 64
	maxDiagnostics = 64

	maxAddress = 2048 // bytes of an address in Terms
)

// maxLines is how many lines of a header are read.
const maxLines = 64

// Set collects the statements about one URL. The zero value is empty and ready to use. Without
// statements it allocates nothing. Only one goroutine may use a Set at a time.
type Set struct {
	// Memo, unless nil, avoids parsing a statement again.
	Memo *Memo

	kept        Statements  // except reservations
	preferences Preferences // of kept
	inferred    Preferences // of kept
	tdm         [tdmLayers]Statement
	terms       []Terms
	diags       []Diagnostic
}

// The layers of a reservation: the one nearest to the page replaces the others (formats §8.16).
const (
	tdmFile = iota
	tdmHeader
	tdmMeta
	tdmLayers
)

// Preferences returns the result of all statements (formats §8.4).
func (s *Set) Preferences() Preferences {
	p := s.preferences
	for i := tdmLayers - 1; i >= 0; i-- {
		if t := &s.tdm[i]; t.Preferences != (Preferences{}) {
			return p.Merge(t.Preferences)
		}
	}
	return p
}

// Concluded returns Preferences together with inferred ones (formats §8.21), which count when pages
// are exported.
func (s *Set) Concluded() Preferences { return s.Preferences().Merge(s.inferred) }

// Statements returns the statements, reservations last, including those that are replaced. The
// first 64 are kept, and all that change the result.
func (s *Set) Statements() Statements {
	all := s.kept[:len(s.kept):len(s.kept)]
	for i := range s.tdm {
		if s.tdm[i].Preferences != (Preferences{}) {
			all = append(all, s.tdm[i])
		}
	}
	return all
}

// Sources returns the statements that count, reservations last.
func (s *Set) Sources() []Source { return s.Statements().Sources() }

// Terms returns the addresses of conditions, at most 64.
func (s *Set) Terms() []Terms { return s.terms }

// Diagnostics returns oddities, at most 64.
func (s *Set) Diagnostics() []Diagnostic { return s.diags }

// ContentUsage adds an AIPREF statement: that of a line of robots.txt, or of the header's joined
// lines. An invalid one has no effect (formats §8.8).
func (s *Set) ContentUsage(at Position, statement string) {
	if s.remembered(at, memoUsage, statement) {
		return
	}
	p, err := ParseContentUsage(statement)
	if err != nil {
		s.odd(at, err.Error(), statement)
		return
	}
	s.remember(at, memoUsage, statement, p)
}

// ContentSignal adds a statement of a line of robots.txt or of the header (formats §8.11, §8.12).
func (s *Set) ContentSignal(at Position, statement string) {
	if s.remembered(at, memoSignal, statement) {
		return
	}
	p, ignored := ParseContentSignal(statement)
	for _, i := range ignored {
		s.odd(at, "it has no meaning here: ignored", i)
	}
	if len(ignored) > 0 {
		s.add(at, statement, p)
		return
	}
	s.remember(at, memoSignal, statement, p)
}

// License records the target of a License line of robots.txt: the absolute address of a licence
// document. Only that document determines its effect (formats §8.19).
func (s *Set) License(at Position, url string) {
	if origin, _ := splitURL(strings.Trim(url, " \t")); origin == "" {
		s.odd(at, "not an absolute http(s) address: skipped", url)
		return
	}
	s.term("rsl", at, url)
}

// Link records a licence document to which a page or its header links; the address may be relative.
func (s *Set) Link(at Position, url string) { s.term("rsl", at, url) }

// Names of headers in the form of http.Header.
const (
	hContentUsage  = "Content-Usage"
	hContentSignal = "Content-Signal"
	hReservation   = "Tdm-Reservation"
	hPolicy        = "Tdm-Policy"
	hLink          = "Link"
)

// The sources whose statements are replaced by a later answer, or by a nearer source.
const (
	fromContentUsage  = "header Content-Usage"
	fromContentSignal = "header Content-Signal"
	fromTDMFile       = "tdmrep.json"
	fromTDMHeader     = "header tdm-reservation"
	fromTDMMeta       = "meta tdm-reservation"
)

// Headers adds the statements in the headers of a response: Content-Usage with joined lines, so
// that the last of equal keys counts (formats §8.13), Content-Signal, tdm-reservation, tdm-policy,
// and links to licence documents.
func (s *Set) Headers(h http.Header) {
	if lines := h[hContentUsage]; len(lines) > 0 {
		s.ContentUsage(Position{fromContentUsage, 1}, joined(lines))
	}
	for i, line := range within(h[hContentSignal]) {
		s.ContentSignal(Position{fromContentSignal, i + 1}, line)
	}
	for i, line := range within(h[hReservation]) {
		for value := range strings.SplitSeq(line, ",") { // a proxy may have joined two lines
			s.reserve(Position{fromTDMHeader, i + 1}, value)
		}
	}
	for i, line := range within(h[hPolicy]) {
		s.term("tdm-policy", Position{"header tdm-policy", i + 1}, line)
	}
	for i, line := range within(h[hLink]) {
		for _, url := range licenseLinks(line) {
			s.Link(Position{"header Link", i + 1}, url)
		}
	}
}

// joined makes one dictionary of the lines; of too many lines, one that is too long.
func joined(lines []string) string {
	if len(lines) == 1 && len(lines[0]) <= MaxStatement {
		return strings.Trim(lines[0], " \t")
	}
	n := 0
	var kept []string
	for _, l := range lines {
		if l = strings.Trim(l, " \t"); l != "" {
			kept = append(kept, l)
		}
		if n += len(l) + 2; n > MaxStatement+2 {
			break
		}
	}
	return strings.Join(kept, ", ")
}

func within(lines []string) []string { return lines[:min(len(lines), maxLines)] }

// WantsMeta reports whether Meta would read a meta element with this name. For nearly all names it
// does not allocate.
func WantsMeta[T ~string | ~[]byte](name T) bool {
	for i := range len(name) {
		switch c := name[i]; c {
		case ' ', '\t', '\r', '\n', '\f':
			continue
		case 't', 'T':
			word := lower(strings.Trim(string(name), " \t\r\n\f"))
			return word == "tdm-reservation" || word == "tdm-policy"
		}
		return false
	}
	return false
}

// Meta adds a meta element of the page's head: tdm-reservation or tdm-policy. line is its line in
// the page, from 1.
func (s *Set) Meta(line int, name, content string) {
	if !WantsMeta(name) {
		return
	}
	name = lower(strings.Trim(name, " \t\r\n\f"))
	at := Position{"meta " + name, line}
	if name == "tdm-policy" {
		s.term("tdm-policy", at, content)
		return
	}
	s.reserve(at, content)
}

// Tag adds a word of a robots tag that applies to us: noai, or noimageai, which applies to images
// only (formats §8.20).
func (s *Set) Tag(at Position, word string, image bool) {
	var p Preferences
	switch {
	case word == "noai":
		p[AIInput], p[AITrain] = Disallow, Disallow
	case word == "noimageai" && image:
		p[AITrain] = Disallow
	case word == "noimageai":
		s.odd(at, "it is about images and has no effect on this page", word)
	}
	s.add(at, word, p)
}

// TDMRep adds the rule of a tdmrep.json for a URL or a path.
func (s *Set) TDMRep(f *TDMRep, url string) {
	r := f.find(url)
	if r == nil {
		return
	}
	at := Position{fromTDMFile, r.line}
	s.add(at, "tdm-reservation: "+strconv.Itoa(max(int(r.reserved)-1, 0)), tdmPreferences(r.reserved))
	if r.reserved == Disallow && r.policy != "" {
		s.term("tdm-policy", at, r.policy)
	}
}

// RSL adds the preferences of a licence document for a URL or a path: those of the matching content
// element with the longest address; of several, the strictest. at is the beginning of the document.
func (s *Set) RSL(doc *RSL, at Position, url string) {
	for _, c := range doc.find(url) {
		s.add(Position{at.From, at.Line + c.line - 1}, "RSL", c.preferences())
	}
}

// Inferred adds that a site closes itself to a robot that trains models (formats §8.21).
func (s *Set) Inferred(at Position, text string) {
	var p Preferences
	p[AITrain] = Disallow
	s.state(Statement{at, short(text), p, true})
}

// Add adds earlier statements, such as those of a robots.txt for its whole site.
func (s *Set) Add(l Statements) {
	for i := range l {
		s.state(l[i])
	}
}

// Odd reports input that a caller could not parse.
func (s *Set) Odd(at Position, reason, text string) { s.odd(at, reason, text) }

// reserve adds a reservation of one of the layers. Within a layer the strictest counts.
func (s *Set) reserve(at Position, value string) {
	v := reservation(value)
	if v == Unknown {
		s.odd(at, "neither 0 nor 1: ignored", value)
	}
	s.add(at, "tdm-reservation: "+strings.Trim(value, " \t\r\n\f"), tdmPreferences(v))
}

func (s *Set) add(at Position, text string, p Preferences) {
	if p != (Preferences{}) {
		s.state(Statement{at, short(text), p, false})
	}
}

// state stores a statement, if it is one of the first or changes the result.
func (s *Set) state(st Statement) {
	if i := st.layer(); i >= 0 {
		if p := s.tdm[i].Preferences; st.Preferences.Merge(p) != p {
			s.tdm[i] = st
		}
		return
	}
	sum := &s.preferences
	if st.Inferred {
		sum = &s.inferred
	}
	merged := sum.Merge(st.Preferences)
	if merged != *sum || len(s.kept) < maxStatements {
		s.kept = append(s.kept, st)
	}
	*sum = merged
}

func (s *Set) term(kind string, at Position, url string) {
	url = strings.Trim(url, " \t\r\n\f")
	if url == "" || len(url) > maxAddress {
		s.odd(at, "not an address of at most 2048 bytes: skipped", url)
		return
	}
	if len(s.terms) < maxTerms {
		s.terms = append(s.terms, Terms{kind, strings.Clone(url), at})
	}
}

func (s *Set) odd(at Position, reason, text string) {
	if len(s.diags) < maxDiagnostics {
		s.diags = append(s.diags, Diagnostic{at, reason, short(text)})
	}
}

// short limits the stored text of a statement, so that it does not keep a page in memory.
func short(text string) string {
	return strings.ToValidUTF8(strings.Clone(text[:min(len(text), 200)]), "")
}
