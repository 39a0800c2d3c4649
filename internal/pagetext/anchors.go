package pagetext

import (
	"bytes"

	"github.com/curtsy/curtsy/internal/html"
	"github.com/curtsy/curtsy/pkg/canon"
)

// anchor is a link as the page has it.
type anchor struct {
	href     []byte // as it is written in the page
	from, to int    // Body[from:to] is its text
	// If there are images in the link, walk.alts[altFrom:altTo] is its text with their alternative
	// texts; altTo is 0 otherwise. While the link is open, texted is how far the body was copied
	// there.
	altFrom, altTo, texted int
	noFollow               bool
	around                 bool // it is in Boilerplate
}

// startAnchor reads the start tag <a>.
func (r *walk) startAnchor(attrs []byte) {
	var href []byte
	noFollow := false
	for name, val, rest := html.NextAttr(attrs); name != nil; name, val, rest = html.NextAttr(rest) {
		switch {
		case href == nil && html.Is(name, "href"):
			if href = val; href == nil {
				href = []byte{}
			}
		case len(name) == 3 && html.Is(name, "rel"):
			noFollow = noFollow || html.HasWord(val, "nofollow", "ugc", "sponsored")
		}
	}
	if href == nil {
		return
	}
	r.inA, r.kept, r.aFrom, r.aDepth = true, false, len(r.x.body), len(r.open)
	if href = bytes.TrimSpace(href); len(href) > 0 && href[0] != '#' && len(r.anchors) < maxAnchors {
		r.kept = true
		r.anchors = append(r.anchors, anchor{href: href, noFollow: noFollow, texted: len(r.x.body)})
	}
}

// endAnchor ends a link at </a>, or at anything else that ends it.
func (r *walk) endAnchor() {
	if !r.inA {
		return
	}
	r.inA = false
	from, to := r.trim(r.aFrom, len(r.x.body), len(r.x.body))
	r.anchored += to - from
	if !r.kept {
		return
	}
	a := &r.anchors[len(r.anchors)-1]
	if a.altTo > 0 {
		r.alt(a, nil)
	}
	a.from, a.to = r.trim(r.aFrom, len(r.x.body), maxAnchor)
}

// image reads <img>. Within a link, its alternative text belongs to the text of the link.
func (r *walk) image(attrs []byte) {
	if !r.inA || !r.kept {
		return
	}
	val := html.Attr(attrs, "alt")
	if len(val) == 0 {
		return
	}
	a := &r.anchors[len(r.anchors)-1]
	if a.altTo == 0 {
		a.altFrom, a.altTo = len(r.alts), len(r.alts)
	}
	r.alt(a, val)
}

// alt appends to the text of an open link: first what was read since the last call, then the
// alternative text of an image.
func (r *walk) alt(a *anchor, val []byte) {
	// What this cuts off would not fit, however its references and blanks are written.
	val = html.Value(cut(val, 8*maxAnchor))
	for _, more := range [][]byte{r.x.body[a.texted:], val} {
		room := maxAnchor - (len(r.alts) - a.altFrom)
		if len(r.alts) > a.altFrom {
			room-- // the space between
		}
		if len(more) == 0 || room <= 0 {
			continue
		}
		r.ref = fold(r.ref[:0], more)
		if more = bytes.TrimRight(cut(r.ref, room), " "); len(more) == 0 {
			continue
		}
		if len(r.alts) > a.altFrom {
			r.alts = append(r.alts, ' ')
		}
		r.alts = append(r.alts, more...)
	}
	a.texted, a.altTo = len(r.x.body), len(r.alts)
}

// cut cuts a text at a limit in bytes, between two characters.
func cut(text []byte, limit int) []byte {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && text[limit]&0xC0 == 0x80 {
		limit--
	}
	return text[:limit]
}

// resolve makes links of the anchors. recoded means that the page was not in UTF-8. Characters
// beyond ASCII in a query would then have to be encoded in the charset of the page, so such links
// are left out.
func (r *walk) resolve(page canon.URL, around []Span, recoded bool) []Link {
	if len(r.anchors) == 0 {
		return nil
	}
	base := canon.NewBase(page)
	if r.base != nil {
		base, _ = base.Rebase(string(html.AppendValue(nil, r.base))) // an invalid one is ignored
	}
	n, inside := 0, 0
	for i := range r.anchors {
		a := &r.anchors[i]
		at := a.from
		if a.from == a.to && at > 0 {
			at-- // a link without text belongs to the text before it
		}
		for n < len(around) && around[n].To < at {
			n++
		}
		if a.around = n < len(around) && around[n].From <= at; !a.around {
			inside++
		}
	}
	room := max(0, MaxLinks-inside) // for links in boilerplate
	for i := range r.anchors {
		a := &r.anchors[i]
		if a.around {
			if room == 0 {
				continue
			}
			room--
		}
		if len(r.links) == MaxLinks {
			break
		}
		r.ref = html.AppendValue(r.ref[:0], a.href)
		if recoded && foreignQuery(r.ref) {
			continue
		}
		u, err := base.JoinBytes(r.ref)
		if err != nil || u == page {
			continue
		}
		l := Link{Href: u, From: a.from, To: a.to, Text: r.x.body[a.from:a.to], NoFollow: a.noFollow, Around: a.around}
		if a.altTo > 0 {
			l.Text = r.alts[a.altFrom:a.altTo]
		}
		r.links = append(r.links, l)
	}
	return r.links
}

// foreignQuery reports whether the query of a reference has characters beyond ASCII.
func foreignQuery(ref []byte) bool {
	i := bytes.IndexByte(ref, '?')
	for i >= 0 && i < len(ref) && ref[i] < 0x80 {
		i++
	}
	return i >= 0 && i < len(ref)
}
