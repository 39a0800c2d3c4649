package simweb

import (
	"strconv"
	"sync"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// buffer is a pooled page under construction, with a buffer for the list of its links.
type buffer struct {
	b    []byte
	refs []ref
}

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 32<<10)} }}

func getBuffer() *buffer {
	buf := buffers.Get().(*buffer)
	buf.b, buf.refs = buf.b[:0], buf.refs[:0]
	return buf
}

func putBuffer(buf *buffer) {
	if cap(buf.b) <= 1<<20 {
		buffers.Put(buf)
	}
}

// appendTitle appends the title of a numbered page, which is unique in the web.
func (s *site) appendTitle(b []byte, page int) []byte {
	r := prose.Mix(uint64(s.web.cfg.Seed), 't', uint64(s.index), uint64(page))
	b = append(append(b, "The "...), r.Adjective()...)
	b = append(append(b, ' '), r.Noun()...)
	b = append(append(b, " and the "...), r.Adjective()...)
	b = append(append(b, ' '), r.Noun()...)
	b = strconv.AppendInt(append(b, ", page "...), int64(page), 10)
	return append(append(b, " of "...), s.name...)
}

// size is the intended length of a numbered page.
func (s *site) size(page int) int {
	n, spread := s.web.cfg.PageBytes, int(float64(s.web.cfg.PageBytes)*s.web.cfg.PageSpread)
	if spread == 0 {
		return n
	}
	r := prose.Mix(uint64(s.web.cfg.Seed), 's', uint64(s.index), uint64(page))
	return n - spread + r.Intn(2*spread+1)
}

// renderPage writes a numbered page: headings, paragraphs with links in them, and text up to the
// page's size.
func (s *site) renderPage(buf *buffer, page int) {
	buf.refs = s.refs(buf.refs, page)
	refs, size := buf.refs, s.size(page)
	r := prose.Mix(uint64(s.web.cfg.Seed), 'p', uint64(s.index), uint64(page))
	b := append(buf.b, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>"...)
	b = s.appendTitle(b, page)
	b = append(b, "</title>\n</head><body>\n<h1>"...)
	b = s.appendTitle(b, page)
	b = append(b, "</h1>\n"...)
	if page == 0 {
		b = appendAnchors(b, s.entries)
	}
	for _, p := range s.rarePages {
		if p == page {
			b = append(append(append(b, "<p>The word of the house is "...), s.rare...), ".</p>\n"...)
			break
		}
	}
	next := 0
	for par := 0; next < len(refs) || len(b) < size-16; par++ {
		if par%6 == 5 {
			b = append(append(append(b, "<h2>The "...), r.Adjective()...), ' ')
			b = append(append(b, r.Noun()...), "</h2>\n"...)
		}
		b = append(b, "<p>"...)
		for range 2 {
			if next < len(refs) {
				b = s.appendLink(b, page, refs[next], &r)
				next++
			}
			if left := size - 16 - len(b); left > 0 || next < len(refs) {
				b = append(b, prose.FirstWords(s.web.text[r.Next()%prose.Pool], left)...)
			}
		}
		b = append(b, "</p>\n"...)
	}
	buf.b = append(b, "</body></html>\n"...)
}

// appendLink writes a link in one of the spellings that real pages use; all of them mean the same
// URL.
func (s *site) appendLink(b []byte, from int, to ref, r *prose.Rand) []byte {
	b = append(b, `<a href="`...)
	style, away := r.Intn(10), to.site != s
	switch {
	case away && style == 0:
		b = append(append(b, "HTTP://"...), to.site.upper...)
	case away && style == 1:
		b = append(append(b, "//"...), to.site.name...)
	case away || style == 0:
		b = append(append(b, "http://"...), to.site.name...)
	case style == 1 && from == 0:
		b = append(b, '.')
	case style == 1 && (to.page == 0 || section(from) != section(to.page)):
		b = append(b, ".."...)
	}
	start := len(b)
	b = appendPath(b, to.page)
	// the name alone is sufficient
	if !away && style == 1 && from != 0 && to.page != 0 && section(from) == section(to.page) {
		b = append(b[:start], b[start+len(section(to.page))+2:]...)
	}
	if hasQuery(to.page) {
		b = append(b[:len(b)-len(pageQuery)], "?lang=en&amp;view=full"...)
	}
	if !away && style == 2 {
		b = append(b, "#part-2"...)
	}
	b = append(append(append(b, `">`...), r.Adjective()...), ' ')
	return append(append(b, r.Noun()...), "</a> "...)
}
