package search

import (
	"bytes"
	"net/url"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/search/analysis"
)

const (
	snippetBytes = 240     // about three lines
	ellipses     = 4       // maximum number of characters that render adds
	snippetText  = 1 << 20 // how much of a page is searched
	titleWithin  = 8 << 10 // how far the title is searched, which most pages repeat
	// firstLook is how much of a page's text is read at first: the whole text of most pages. If it
	// has no good passage, moreLooks times as much is read.
	firstLook = 16 << 10
	moreLooks = 3
	// bytesAWord is the average length of a word, including the text between it and the next.
	bytesAWord = 6
)

// mark is a word in the text that the query contains.
type mark struct {
	clause, start, end int
}

// snipper cuts snippets, one after another.
type snipper struct {
	extract pagetext.Extractor
	tokens  analysis.Tokenizer
	wanted  map[string]int // word → clause
	maybe   [16]uint64     // maybeBit of each of these
	light   []bool
	heavy   int // number of clauses that are not light
	plan    *Plan
	marks   []mark

	content pages.Content // nil: pages are read as they are

	packed, body []byte // buffers for a page's body, as stored and unpacked
}

// snippers are unused ones with their buffers.
var snippers = sync.Pool{New: func() any { return &snipper{} }}

// free returns a snipper for the next query. One that met an error is not returned.
func (r *snipper) free() {
	r.plan, r.wanted = nil, nil
	if cap(r.packed) > keepBuffer {
		r.packed = nil
	}
	if cap(r.body) > keepBuffer {
		r.body = nil
	}
	if cap(r.marks) > 10_000 {
		r.marks = nil
	}
	snippers.Put(r)
}

// prepare notes the words of a plan.
func (r *snipper) prepare(p *Plan) {
	if r.plan == p {
		return
	}
	r.plan, r.wanted, r.light, r.heavy = p, map[string]int{}, make([]bool, len(p.Clauses)), p.heavy()
	clear(r.maybe[:])
	for i := len(p.Clauses) - 1; i >= 0; i-- {
		r.light[i] = p.Clauses[i].Light
		for _, m := range p.Clauses[i].Any {
			for _, s := range m.Slots {
				for _, f := range s.Forms {
					r.wanted[f.Word] = i
					h := maybeBit([]byte(f.Word))
					r.maybe[h>>6] |= 1 << (h & 63)
				}
			}
		}
	}
}

// snippet cuts from a stored page the passage that shows most of the query, as plain text on one
// line, and returns the positions of the words in it; "" when the page has no text. The caller has
// checked that the page permits snippets.
//
// If the plan names a section of the page, the passage is in that section if it has any of the
// words, and the section is returned as well.
func (r *snipper) snippet(p *pages.Page, plan *Plan) (string, [][2]int, *crawl.Section) {
	if p.Directives&crawl.NoSnippet != 0 {
		return "", nil, nil
	}
	page, err := p.Readable(r.body, r.content)
	if err != nil {
		return "", nil, nil
	}
	if p.Encoding != crawl.EncodingNone {
		r.body = page.Body
	}
	r.prepare(plan)
	limit := snippetBytes
	if p.MaxSnippet > 0 { // the number of bytes is never less than the number of characters
		limit = min(limit, max(p.MaxSnippet-ellipses, 1))
	}
	enough, known := plan.Near[string(p.URL)]
	if !known {
		enough = r.heavy
	}
	most := firstLook
	switch far := plan.NearAt[string(p.URL)] * bytesAWord; {
	case far > firstLook*moreLooks && enough > 1:
		enough-- // a second look would also accept one less
	case far > firstLook:
		most *= moreLooks
	}
	nth := plan.Section[string(p.URL)]
	if p.MaxSnippet > 0 {
		nth = 0 // the title of a section is text of the page, too
	}
	var named *crawl.Section
	var text []byte
	var spans []pagetext.Span
	var from, to int
	for all := false; !all; most *= moreLooks {
		var read pagetext.Reading
		read, all = r.extract.ReadBeginning(page.ContentType, page.Charset, page.Body, most)
		text, spans = read.Quotable() // from here on, text marked data-nosnippet is excluded
		if len(text) >= snippetText {
			text, all = text[:snippetText], true
		}
		var distinct int
		marks, main := r.look(text, spans, p.Title)
		if nth > 0 {
			h, begin, end := sectionAt(&read, nth)
			if all = all || h != nil; !all {
				continue // it is further down
			}
			if h != nil && len(text) == len(read.Body) {
				marks, _ = within(marks, func(m mark) bool { return m.start < begin || m.end > end })
			}
			if named = sectionOf(p, h, read.Body); h != nil && read.Quiet(*h) {
				named = nil
			}
		}
		from, to, distinct = r.bestWindow(marks, limit)
		// If the text is cut here, another word may follow that belongs to the passage.
		all = all || (main || enough == 0) && distinct >= enough && to+limit < len(text)
		// In a very long page a passage of the beginning that has one word less is accepted,
		// because reading further costs more than everything else in a query.
		if enough > 1 {
			enough--
		}
	}
	text, from, to = r.clip(text, spans, from, to)
	start, end := edges(text, from, to, limit)
	switch {
	case p.MaxSnippet == 0:
	case len(text) <= snippetBytes && utf8.RuneCount(text) <= p.MaxSnippet:
		start, end = 0, len(text)
	default:
		end = fit(text, start, end, p.MaxSnippet)
	}
	if len(bytes.Trim(text[start:end], "… \n")) == 0 {
		return "", nil, named // it contains only the sign for omitted text
	}
	line, marked := render(text, start, end, r.marks)
	return line, marked, named
}

// sectionAt finds a section by the number of its heading, from 1, and where its text is. It is nil
// if the text that was read does not reach it.
func sectionAt(read *pagetext.Reading, nth uint32) (heading *pagetext.Span, begin, end int) {
	end = len(read.Body)
	for i := range read.Spans {
		s := &read.Spans[i]
		if s.Kind != pagetext.Heading {
			continue
		}
		if heading != nil {
			return heading, begin, s.From
		}
		if nth--; nth == 0 {
			heading, begin = s, s.To
		}
	}
	return heading, begin, end
}

// sectionOf names a section. It is nil if no link can lead there, or if its title must not be
// shown.
func sectionOf(p *pages.Page, heading *pagetext.Span, body []byte) *crawl.Section {
	if heading == nil || len(heading.Anchor) == 0 {
		return nil
	}
	title, _ := render(body, heading.From, heading.To, nil)
	title = strings.Trim(title, "… ")
	if title == "" || title == p.Title {
		return nil
	}
	to := url.URL{Fragment: heading.ID()}
	return &crawl.Section{Title: title, URL: string(p.URL) + to.String()}
}

// clip cuts off page furniture before and after from..to, such as navigation and cookie notices,
// and the text beyond it. Without marks a passage of the main text is left.
func (r *snipper) clip(text []byte, spans []pagetext.Span, from, to int) ([]byte, int, int) {
	if from == to {
		return mainStretch(text, spans), 0, 0
	}
	first, last := 0, len(text)
	for _, s := range spans {
		switch {
		case s.Kind != pagetext.Boilerplate || s.To > len(text):
		case s.To <= from:
			first = max(first, s.To)
		case s.From >= to:
			last = min(last, s.From)
		case s.From <= from && to <= s.To:
			return text, from, to // only the page furniture has the words
		}
	}
	if first >= last || from > last {
		return text, 0, 0
	}
	for i := range r.marks {
		r.marks[i].start -= first
		r.marks[i].end -= first
	}
	return text[first:last], from - first, to - first
}

// mainStretch is the first part of a text between page furniture that is long enough to describe
// the page: a page may begin with the name of its site, which is not marked as furniture. If no
// part is long enough, it is the longest one; without any, it is the whole text.
func mainStretch(text []byte, spans []pagetext.Span) []byte {
	const enough = snippetBytes / 3
	longest, most, at := text, 0, 0
	for i := 0; i <= len(spans) && most < enough; i++ {
		from, to := len(text), len(text)
		if i < len(spans) {
			if spans[i].Kind != pagetext.Boilerplate || spans[i].To > len(text) {
				continue
			}
			from, to = spans[i].From, spans[i].To
		}
		if from > at {
			if n := len(bytes.Trim(text[at:from], " \n")); n > most {
				longest, most = text[at:from], n
			}
		}
		at = max(at, to)
	}
	return longest
}

// look finds the marks of a text, and returns those that a snippet should show: marks in the main
// text that are not in a repetition of the title. Others are returned, with main false, only when
// there are none of these.
func (r *snipper) look(text []byte, spans []pagetext.Span, title string) (marks []mark, main bool) {
	r.marks = r.marks[:0]
	r.tokens.Tokens(text, func(t analysis.Token) bool {
		if h := maybeBit(t.Word); r.maybe[h>>6]>>(h&63)&1 != 0 {
			if i, ok := r.wanted[string(t.Word)]; ok {
				r.marks = append(r.marks, mark{i, t.Start, t.End})
			}
		}
		return len(r.marks) < 10_000
	})
	i := 0
	marks, main = within(r.marks, func(m mark) bool { // marks and spans are in order
		for i < len(spans) && (spans[i].Kind != pagetext.Boilerplate || spans[i].To <= m.start) {
			i++
		}
		return i < len(spans) && spans[i].From <= m.start
	})
	marks, beyond := beyondTitle(marks, text, title)
	return marks, main && beyond
}

// maybeBit is a number below 1,024 in which most words differ.
func maybeBit(word []byte) uint32 {
	if len(word) == 0 {
		return 0
	}
	return (uint32(word[0])*31 + uint32(word[len(word)/2])*7 + uint32(word[len(word)-1])*131 + uint32(len(word))) & 1023
}

// within removes the marks for which drop returns true, unless there are no others, which it
// reports.
func within(marks []mark, drop func(mark) bool) (left []mark, others bool) {
	kept := slices.DeleteFunc(slices.Clone(marks), drop)
	if len(kept) == 0 {
		return marks, false
	}
	return kept, true
}

// beyondTitle removes marks where the text only repeats the title, which is shown above the snippet
// anyway, unless there are no others, which it reports.
func beyondTitle(marks []mark, text []byte, title string) (left []mark, others bool) {
	at := bytes.Index(text[:min(len(text), titleWithin)], []byte(title))
	if title == "" || at < 0 {
		return marks, len(marks) > 0
	}
	kept := slices.DeleteFunc(slices.Clone(marks), func(m mark) bool { return m.start >= at && m.end <= at+len(title) })
	if len(kept) == 0 {
		return marks, false
	}
	return kept, true
}

// bestWindow returns the passage from mark to mark, at most limit bytes long, with the most
// different clauses, and how many of these have weight; if equal, the one with most marks, then the
// first one.
func (r *snipper) bestWindow(marks []mark, limit int) (from, to, heavy int) {
	counts := make([]int, len(r.light))
	worth := func(clause int) int {
		if r.light[clause] {
			return 50
		}
		return 1000
	}
	distinct, best, first := 0, -1, 0
	for last, m := range marks {
		if counts[m.clause]++; counts[m.clause] == 1 {
			distinct += worth(m.clause)
		}
		for marks[last].end-marks[first].start > limit && first < last {
			if counts[marks[first].clause]--; counts[marks[first].clause] == 0 {
				distinct -= worth(marks[first].clause)
			}
			first++
		}
		if score := distinct + min(last-first, 20); score > best {
			best, from, to = score, marks[first].start, m.end
		}
	}
	return from, to, max(best, 0) / 1000
}

// edges widens from..to to about limit bytes, cut at spaces.
func edges(text []byte, from, to, limit int) (start, end int) {
	left := max(0, limit-(to-from))
	start = max(0, from-left/3)
	end = min(len(text), start+limit)
	end = max(end, min(len(text), to))
	start = max(0, min(start, end-limit))
	// Begin after a space and end before one, unless none is near, because some scripts have no
	// spaces.
	if start > 0 {
		if n := strings.IndexAny(string(text[start:min(start+40, max(from, start))]), " \n"); n >= 0 {
			start += n + 1
		}
	}
	if end < len(text) {
		if n := strings.LastIndexAny(string(text[max(to, end-40, start):end]), " \n"); n >= 0 {
			end = max(to, end-40, start) + n
		}
	}
	for start < end && !utf8.RuneStart(text[start]) {
		start++
	}
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	for start < end && (text[start] == ' ' || text[start] == '\n') {
		start++
	}
	for end > start && (text[end-1] == ' ' || text[end-1] == '\n') {
		end--
	}
	return start, end
}

// fit returns where text[start:end] must end so that render makes at most limit characters of it.
// The text is cut after a word, or between the characters of a script without spaces; if the first
// word is too long, nothing is left.
func fit(text []byte, start, end, limit int) int {
	if start > 0 {
		limit -= 2
	}
	n := utf8.RuneCount(text[start:end])
	if end < len(text) && n+2 <= limit || end == len(text) && n <= limit {
		return end
	}
	for limit -= 2; end > start; {
		r, size := utf8.DecodeLastRune(text[start:end])
		next, _ := utf8.DecodeRune(text[end:])
		if n <= limit && !unicode.IsMark(next) && (!analysis.WordRune(r) || !analysis.WordRune(next) || analysis.Unspaced(r) || analysis.Unspaced(next)) {
			break
		}
		n, end = n-1, end-size
	}
	for end > start && (text[end-1] == ' ' || text[end-1] == '\n') {
		end--
	}
	return end
}

// render converts a passage of text to a line, with ellipses where it was cut and without signs
// that link to a heading, and returns the positions of the marks in it. Marks that touch or overlap
// become one.
func render(text []byte, start, end int, marks []mark) (string, [][2]int) {
	if start >= end {
		return "", nil
	}
	const more = "…"
	var b strings.Builder
	if start > 0 {
		b.WriteString(more + " ")
	}
	shift := b.Len() - start
	var out [][2]int
	write := func(to int) { // writes the text up to `to`, and the marks in it
		for ; len(marks) > 0 && marks[0].start < to; marks = marks[1:] {
			m := marks[0]
			if m.start < start || m.end > to {
				continue
			}
			if n := len(out); n > 0 && m.start+shift <= out[n-1][1] {
				out[n-1][1] = max(out[n-1][1], m.end+shift)
				continue
			}
			out = append(out, [2]int{m.start + shift, m.end + shift})
		}
		b.WriteString(strings.ReplaceAll(string(text[start:to]), "\n", " "))
	}
	for {
		from, to := permalink(text, start, end)
		if from < 0 {
			break
		}
		write(from)
		shift -= to - from
		start = to
	}
	write(end)
	if end < len(text) {
		b.WriteString(" " + more)
	}
	return b.String(), out
}

// permalinks are the signs by which pages link to a heading, at its end. Those that also end names,
// such as C#, must follow a space.
var permalinks = [][]byte{[]byte("¶"), []byte("🔗"), []byte("⚓"), []byte(" #"), []byte(" §")}

// permalink finds such a sign at the end of a line of text[start:end]; from is -1 if there is none.
func permalink(text []byte, start, end int) (from, to int) {
	for from = start; from < end; {
		line := bytes.IndexByte(text[from:], '\n')
		if line < 0 {
			line = len(text) - from
		}
		to = from + line
		for _, sign := range permalinks {
			if at := to - len(sign); at >= start && to <= end && bytes.HasSuffix(text[from:to], sign) {
				if at > start && text[at-1] == ' ' {
					at--
				}
				return at, to
			}
		}
		from = to + 1
	}
	return -1, 0
}
