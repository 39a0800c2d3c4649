package simweb

import (
	"strconv"
	"strings"
	"sync"
)

// buffer is a pooled page under construction, with room for the list of its links.
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

// title names a numbered page; it is unique in the web.
func (s *site) appendTitle(b []byte, page int) []byte {
	r := mix(uint64(s.web.cfg.Seed), 't', uint64(s.index), uint64(page))
	b = append(append(b, "The "...), r.word(adjectives)...)
	b = append(append(b, ' '), r.word(nouns)...)
	b = append(append(b, " and the "...), r.word(adjectives)...)
	b = append(append(b, ' '), r.word(nouns)...)
	b = append(append(b, ", page "...), strconv.Itoa(page)...)
	return append(append(b, " of "...), s.name...)
}

// size is how long a numbered page is to become.
func (s *site) size(page int) int {
	n, spread := s.web.cfg.PageBytes, int(float64(s.web.cfg.PageBytes)*s.web.cfg.PageSpread)
	if spread == 0 {
		return n
	}
	r := mix(uint64(s.web.cfg.Seed), 's', uint64(s.index), uint64(page))
	return n - spread + r.intn(2*spread+1)
}

// renderPage writes a numbered page: headings, paragraphs with links in them, and text up to the page's size.
func (s *site) renderPage(buf *buffer, page int) {
	buf.refs = s.refs(buf.refs, page)
	refs, size := buf.refs, s.size(page)
	r := mix(uint64(s.web.cfg.Seed), 'p', uint64(s.index), uint64(page))
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
			b = append(append(append(b, "<h2>The "...), r.word(adjectives)...), ' ')
			b = append(append(b, r.word(nouns)...), "</h2>\n"...)
		}
		b = append(b, "<p>"...)
		for k := range 5 {
			if next < len(refs) && k%2 == 1 {
				b = s.appendLink(b, page, refs[next], &r)
				next++
			}
			if next == len(refs) && len(b) >= size-16 {
				break
			}
			b = append(b, s.web.text[r.next()%sentencePool]...)
		}
		b = append(b, "</p>\n"...)
	}
	buf.b = append(b, "</body></html>\n"...)
}

// appendLink writes a link in one of the spellings real pages use; all of them mean the same URL.
func (s *site) appendLink(b []byte, from int, to ref, r *rnd) []byte {
	b = append(b, `<a href="`...)
	style := r.intn(10)
	switch {
	case to.site != s && style == 0:
		b = append(append(append(b, "HTTP://"...), strings.ToUpper(to.site.name)...), pathPart(to)...)
	case to.site != s && style == 1:
		b = append(append(append(b, "//"...), to.site.name...), pathPart(to)...)
	case to.site != s || style == 0:
		b = append(append(b, "http://"...), to.site.name...)
		b = appendEscapedPath(b, to.page)
	case style == 1: // relative to the page's directory
		if from != 0 && to.page != 0 && section(from) == section(to.page) {
			p := pathPart(to)
			b = append(b, p[strings.LastIndexByte(p, '/')+1:]...)
		} else if from != 0 {
			b = append(append(b, ".."...), pathPart(to)...)
		} else {
			b = append(append(b, "./"...), pathPart(to)[1:]...)
		}
	case style == 2:
		b = append(appendEscapedPath(b, to.page), "#part-2"...)
	default:
		b = appendEscapedPath(b, to.page)
	}
	b = append(append(append(b, `">`...), r.word(adjectives)...), ' ')
	return append(append(b, r.word(nouns)...), "</a> "...)
}

func pathPart(to ref) string { return string(appendEscapedPath(nil, to.page)) }

func appendEscapedPath(b []byte, page int) []byte {
	if hasQuery(page) && page != 0 {
		b = appendPath(b, page)
		return append(b[:len(b)-len(pageQuery)], "?lang=en&amp;view=full"...)
	}
	return appendPath(b, page)
}
