package pages

import (
	"bytes"
	"slices"
)

// What is boilerplate is told by how a page is built, since a tree and a look at the page as it is
// shown would cost too much:
//
//   - hard marks: nav, header, footer, aside, the roles for these, and elements whose class or id
//     has such a word in it. A header with an h1 is the page's own, and so is one in an article
//   - soft marks: tables of contents, and lists and divisions that are mostly links
//   - where main, article or role=main hold most of the text, all that is outside of them
//
// Never everything is boilerplate. When less than a fifth of the text would be left, the soft marks
// do not count: the page is a list. When less than a fifth is left even so, nothing is boilerplate.

// mark is what an open element looks like.
type mark uint8

const (
	plain mark = iota
	soft
	hard
	hardHeader // hard unless an h1 is in it
)

// part is Body[from:to].
type part struct{ from, to int }

// markOf tells from an element's name, role, class and id what it is likely to hold.
func markOf(e element, attrs []byte, inMain bool) (m mark, main bool) {
	switch e {
	case elementNav, elementFooter:
		m = hard
	case elementAside:
		if !inMain { // else it is a note
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
	for name, val, rest := nextAttr(attrs); name != nil; name, val, rest = nextAttr(rest) {
		switch {
		case is(name, "role"):
			switch {
			case hasWord(val, "main"):
				return plain, true
			case hasWord(val, "navigation", "search", "contentinfo"):
				m = hard
			case hasWord(val, "banner") && !inMain:
				m = max(m, hardHeader)
			case hasWord(val, "complementary") && !inMain:
				m = hard
			}
		case is(name, "class") || is(name, "id"):
			m, of := markOfWords(val)
			named, own = max(named, m), own || of
		}
	}
	if own {
		return m, false
	}
	return max(m, named), false
}

// maxClass is how much of a class or id is looked at, in bytes.
const maxClass = 256

// markOfWords reads the words that a class or id is made of: page-header, mobileNav, sphinxsidebar.
// own says that the element holds text of its own, whatever else its name speaks of: has-sidebar
// holds what is beside the sidebar, entry-header the title, and class="section" id="related-work" a
// chapter.
func markOfWords(val []byte) (m mark, own bool) {
	val = val[:min(len(val), maxClass)]
	var word [16]byte
	for i := 0; i < len(val); {
		if !isLetter(val[i]) {
			i++
			continue
		}
		n := 0
		for from := i; i < len(val) && isLetter(val[i]); i++ {
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

// judge looks at an element that has ended.
func (r *walk) judge(o frame) {
	from, to := r.trim(o.from, len(r.x.body), len(r.x.body))
	if from >= to {
		return
	}
	if o.main {
		if r.mains == 0 {
			r.main = addPart(r.main, part{from, to})
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

// dense reports whether an element is mostly links. One with a heading is a chapter.
func (r *walk) dense(o frame, size int) bool {
	return len(r.anchors)-o.anchors >= 3 && len(r.spans) == o.headings && 4*(r.anchored-o.anchored) >= 3*size
}

// addPart adds a part that ended later than all that are there. Those within it are dropped.
func addPart(parts []part, p part) []part {
	for len(parts) > 0 && parts[len(parts)-1].from >= p.from {
		parts = parts[:len(parts)-1]
	}
	if len(parts) >= maxSpans {
		return parts
	}
	return append(parts, p)
}

// boilerplate decides what of a text of some length is boilerplate.
func (r *walk) boilerplate(size int) []Span {
	most := 4 * size / 5
	if r.part {
		most = size // a page may well begin with much of it
	}
	r.union(size, r.hard, nil)
	if covered(r.around) > most {
		r.around = r.around[:0]
		return nil
	}
	inMain := 0
	for _, p := range r.main {
		inMain += p.to - p.from
	}
	if 2*inMain > size-covered(r.around) {
		last := 0
		for _, p := range r.main {
			if p.from > last {
				r.hard = append(r.hard, part{last, p.from})
			}
			last = p.to
		}
		if last < size {
			r.hard = append(r.hard, part{last, size})
		}
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

// union makes spans of parts: in order, what overlaps or touches is one.
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
	for i := range out { // a part may begin or end with the blank beside it
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
