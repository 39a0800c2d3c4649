package pdf

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
)

// Read reads a PDF. It accepts any input, and may be called concurrently.
func Read(b []byte, lim Limits) (Text, error) {
	d, err := open(b)
	if err != nil {
		return Text{}, err
	}
	lim.Pages, lim.Text, lim.Links = cmp.Or(lim.Pages, 2000), cmp.Or(lim.Text, 4<<20), cmp.Or(lim.Links, 10_000)
	root, _ := d.resolve(d.trailer["Root"]).(dict)
	info, _ := d.resolve(d.trailer["Info"]).(dict)
	title, _ := d.resolve(info["Title"]).(str)
	lang, _ := d.resolve(root["Lang"]).(str)
	out := Text{Title: strings.Join(strings.Fields(textString(title)), " "), Lang: textString(lang)}
	r := &reader{d: d, lim: lim, out: &out, seen: map[ref]bool{}, known: map[string]bool{}}
	r.lay = layout{left: lim.Text}
	r.paint = painter{d: d, out: &r.lay, fonts: map[any]*font{}, operators: operators()}
	r.tree(root["Pages"], inherited{}, 0)
	r.lay.end()
	out.Paragraphs, out.Cut = r.lay.paras, out.Cut || r.lay.cut || r.paint.words >= maxTokens
	switch {
	case d.tooMuch:
		return Text{}, ErrTooMuch
	case out.Pages == 0:
		return Text{}, fmt.Errorf("%w: it has no pages", ErrNotPDF)
	}
	return out, nil
}

// reader reads the pages.
type reader struct {
	d     *document
	lim   Limits
	out   *Text
	seen  map[ref]bool
	known map[string]bool // links
	lay   layout
	paint painter
	nodes int
}

// inherited are the attributes that pages inherit from nodes above them.
type inherited struct{ resources dict }

// tree reads a node of the tree of pages.
func (r *reader) tree(v any, up inherited, depth int) {
	if r.done() || depth > maxDepth {
		return
	}
	if at, ok := v.(ref); ok {
		if r.seen[at] {
			return
		}
		r.seen[at] = true
	}
	if r.nodes++; r.nodes > maxObjects {
		r.out.Cut = true
		return
	}
	node, ok := r.d.resolve(v).(dict)
	if !ok {
		return
	}
	if res, ok := r.d.resolve(node["Resources"]).(dict); ok {
		up.resources = res
	}
	kids, ok := r.d.resolve(node["Kids"]).(array)
	if !ok {
		r.page(node, up)
		return
	}
	for _, kid := range kids {
		r.tree(kid, up, depth+1)
		if r.done() {
			return
		}
	}
}

func (r *reader) done() bool {
	if r.out.Pages >= r.lim.Pages || !r.lim.Until.IsZero() && time.Now().After(r.lim.Until) {
		r.out.Cut = true
	}
	return r.out.Cut || r.lay.cut || r.d.tooMuch
}

func (r *reader) page(page dict, up inherited) {
	r.out.Pages++
	r.lay.page = r.out.Pages
	var content []byte
	switch c := r.d.resolve(page["Contents"]).(type) {
	case *stream:
		content = r.d.decode(c)
	case array:
		for _, part := range c {
			if s, ok := r.d.resolve(part).(*stream); ok {
				content = append(append(content, r.d.decode(s)...), '\n')
			}
			if len(content) > maxStream {
				break
			}
		}
	}
	p := &r.paint
	p.state, p.stack = state{ctm: identity, scale: 1}, p.stack[:0]
	p.tm, p.tlm, p.actual, p.silenced = identity, identity, nil, 0
	p.run(content, up.resources, 0)
	r.lay.end()
	r.links(page)
}

// links collects the addresses of a page's links.
func (r *reader) links(page dict) {
	annots, _ := r.d.resolve(page["Annots"]).(array)
	for _, v := range annots {
		a, _ := r.d.resolve(v).(dict)
		act, _ := r.d.resolve(a["A"]).(dict)
		if r.d.resolve(act["S"]) != name("URI") {
			continue
		}
		u, _ := r.d.resolve(act["URI"]).(str)
		if s := strings.TrimSpace(string(u)); s != "" && len(s) <= 4096 && !r.known[s] {
			if len(r.out.Links) >= r.lim.Links {
				r.out.Cut = true
				return
			}
			r.known[s] = true
			r.out.Links = append(r.out.Links, strings.ToValidUTF8(s, "\ufffd"))
		}
	}
}

// textString decodes a text string (ISO 32000-2 §7.9.2.2).
func textString(s str) string {
	switch {
	case len(s) >= 2 && s[0] == 0xfe && s[1] == 0xff:
		u := make([]uint16, 0, len(s)/2)
		for i := 2; i+1 < len(s); i += 2 {
			u = append(u, uint16(s[i])<<8|uint16(s[i+1]))
		}
		return string(utf16.Decode(u))
	case len(s) >= 2 && s[0] == 0xff && s[1] == 0xfe:
		u := make([]uint16, 0, len(s)/2)
		for i := 2; i+1 < len(s); i += 2 {
			u = append(u, uint16(s[i+1])<<8|uint16(s[i]))
		}
		return string(utf16.Decode(u))
	case len(s) >= 3 && s[0] == 0xef && s[1] == 0xbb && s[2] == 0xbf:
		return strings.ToValidUTF8(string(s[3:]), "")
	}
	var b strings.Builder
	for _, c := range s {
		b.WriteString(pdfDoc[c])
	}
	return b.String()
}

// pdfDoc is PDFDocEncoding (annex D.3).
var pdfDoc = over(over(latin1, 0x80, "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž"), 0xa0, "€")
