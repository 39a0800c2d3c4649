package pagetext

import (
	"bytes"
	"slices"

	"github.com/curtsy/curtsy/internal/html"
)

// Boilerplate is recognised by the structure of a page. A tree, or a look at the rendered page,
// would cost too much. The signs are:
//
//   - hard marks: nav, header, footer, aside, their roles, and elements with such a word in their
//     class or id. A header with an h1 belongs to the page itself, and so does one in an article
//   - soft marks: tables of contents, and lists and divisions that consist mostly of links
//   - if main, article or role=main contain most of the text: everything outside them. If main or
//     role=main contain a paragraph, that is enough, because a page says by them what it is about
//
// A page is never all boilerplate. If the marks leave less than a fifth of the text, the soft marks
// do not count: the page is a list. If less than a fifth is left even then, nothing is boilerplate.

// mark is what an open element is likely to contain, by its name and attributes.
type mark uint8

const (
	plain mark = iota
	soft
	hard
	hardHeader // hard, unless it contains an h1
)

// part is Body[from:to].
type part struct{ from, to int }

// markOf decides by the name, role, class and id of an element what it is likely to contain.
func markOf(e element, attrs []byte, inMain bool) (m mark, main bool) {
	switch e {
	case elementNav, elementFooter:
		m = hard
	case elementAside:
		if !inMain { // in the main text it is a note
			m = hard
		}
	case elementHeader:
		if !inMain {
			m = hardHeader
		}
	case elementMain, elementArticle:
		return plain, true
	}
	named, own := plain, e == elementSection
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		switch {
		case html.Is(name, "role"):
			switch {
			case html.HasWord(val, "main"):
				return plain, true
			case html.HasWord(val, "navigation", "search", "contentinfo"):
				m = hard
			case html.HasWord(val, "banner") && !inMain:
				m = max(m, hardHeader)
			case html.HasWord(val, "complementary") && !inMain:
				m = hard
			}
		case html.Is(name, "class") || html.Is(name, "id"):
			m, of := markOfWords(val)
			named, own = max(named, m), own || of
		}
	}
	if own {
		return m, false
	}
	return max(m, named), false
}

// maxClass is how many bytes of a class or id are read.
const maxClass = 256

// markOfWords reads the words of a class or id, such as page-header, mobileNav or sphinxsidebar.
// own means that the element contains main text, whatever else its name mentions: has-sidebar
// contains the text beside the sidebar, entry-header contains the title, and class="section"
// id="related-work" is a chapter.
func markOfWords(val []byte) (m mark, own bool) {
	val = val[:min(len(val), maxClass)]
	var word [16]byte
	for i := 0; i < len(val); {
		if !html.IsLetter(val[i]) {
			i++
			continue
		}
		n := 0
		for from := i; i < len(val) && html.IsLetter(val[i]); i++ {
			if i > from && val[i] < 'a' && val[i-1] >= 'a' {
				break // camelCase
			}
			if n < len(word) {
				word[n] = val[i] | 0x20
			}
			n++
		}
		if n > len(word) {
			continue
		}
		switch string(word[:n]) {
		case "nav", "navbar", "navigation", "navheader", "navfooter", "navi", "menu", "mainmenu", "submenu", "topnav", "sidenav", "sidebar", "sphinxsidebar",
			"sidemenu", "footer", "breadcrumb", "breadcrumbs", "related", "searchbox", "searchbar", "searchmenu", "pagination",
			"pager", "cookie", "cookies", "skiplink", "copyright", "mobileonly", "colophon":
			m = max(m, hard)
		case "header", "masthead", "banner":
			m = max(m, hardHeader)
		case "toc", "tableofcontents", "localtoc":
			m = max(m, soft)
		case "has", "with", "no", "without", "content", "contents", "body", "article", "post", "entry", "section", "main", "layout", "container":
			own = true
		}
	}
	return m, own
}

// classify decides what an element was that has just ended.
func (r *walk) classify(o frame) {
	from, to := r.trim(o.from, len(r.x.body), len(r.x.body))
	if from >= to {
		return
	}
	if o.main {
		if r.mains == 0 {
			r.main = addPart(r.main, part{from, to})
		}
		if o.explicit {
			r.explicit = addPart(r.explicit, part{from, to})
		}
		return
	}
	switch {
	case o.mark >= hard:
		r.hard = addPart(r.hard, part{from, to})
	case o.mark == soft || r.mains == 0 && r.dense(o, to-from):
		r.soft = addPart(r.soft, part{from, to})
	}
}

// dense reports whether an element consists mostly of links. An element with a heading is a
// chapter, not a menu.
func (r *walk) dense(o frame, size int) bool {
	return len(r.anchors)-o.anchors >= 3 && len(r.spans) == o.headings && 4*(r.anchored-o.anchored) >= 3*size
}

// addPart appends a part that ends after all others. Parts within it are dropped.
func addPart(parts []part, p part) []part {
	for len(parts) > 0 && parts[len(parts)-1].from >= p.from {
		parts = parts[:len(parts)-1]
	}
	if len(parts) >= maxSpans {
		return parts
	}
	return append(parts, p)
}

// boilerplate returns the spans of boilerplate in a text of size bytes.
func (r *walk) boilerplate(size int) []Span {
	most := 4 * size / 5
	if r.part {
		most = size // the beginning of a page may consist mostly of boilerplate
	}
	if n := lengthOf(r.explicit); n >= leastMain && !r.part || n >= 4*leastMain {
		// The page itself says what is around its main text, however much that is. Marks within
		// the main text must leave a part of it.
		r.outside(r.explicit, size)
		most = size - n/5
	}
	r.union(size, r.hard, nil)
	if covered(r.around) > most {
		r.around = r.around[:0]
		return nil
	}
	if 2*lengthOf(r.main) > size-covered(r.around) {
		r.outside(r.main, size)
	}
	r.union(size, r.hard, r.soft)
	if covered(r.around) > most {
		r.union(size, r.hard, nil)
	}
	if covered(r.around) > most {
		r.around = r.around[:0]
	}
	return r.around
}

// leastMain is the length in bytes of a paragraph of main text.
const leastMain = 120

func lengthOf(parts []part) (n int) {
	for _, p := range parts {
		n += p.to - p.from
	}
	return n
}

// outside marks all text outside the parts as boilerplate.
func (r *walk) outside(parts []part, size int) {
	last := 0
	for _, p := range parts {
		if p.from > last {
			r.hard = append(r.hard, part{last, p.from})
		}
		last = p.to
	}
	if last < size {
		r.hard = append(r.hard, part{last, size})
	}
}

// union makes spans of parts, in order. Parts that overlap or touch become one span.
func (r *walk) union(size int, lists ...[]part) {
	r.around = r.around[:0]
	for _, list := range lists {
		for _, p := range list {
			r.around = append(r.around, Span{From: p.from, To: p.to, Kind: Boilerplate})
		}
	}
	slices.SortFunc(r.around, func(a, b Span) int { return a.From - b.From })
	out := r.around[:0]
	for _, s := range r.around {
		if n := len(out); n > 0 && s.From <= out[n-1].To+1 {
			out[n-1].To = max(out[n-1].To, s.To)
		} else {
			out = append(out, s)
		}
	}
	r.around = out
	for i := range out { // a part may begin or end with a blank
		s := &out[i]
		for s.From < s.To && bytes.IndexByte([]byte(" \n"), r.x.body[s.From]) >= 0 {
			s.From++
		}
		for s.From < s.To && bytes.IndexByte([]byte(" \n"), r.x.body[s.To-1]) >= 0 {
			s.To--
		}
	}
	r.around = slices.DeleteFunc(out, func(s Span) bool { return s.From >= s.To })
}

func covered(spans []Span) (n int) {
	for _, s := range spans {
		n += s.To - s.From
	}
	return n
}
