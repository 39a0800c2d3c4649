package pdf

import (
	"bytes"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// font converts strings into text and widths.
type font struct {
	simple  [256]string  // the texts of the codes of a simple font
	widths  [256]float64 // in thousandths
	unicode *cmap        // ToUnicode
	wide    bool         // a composite font
	codes   *cmap        // of a composite font; nil: two bytes each, which are the CID
	units   bool         // of a composite font: codes are UTF-16
	charset encoding.Encoding
	jis     bool // codes are those of JIS X 0208, in seven bits
	cidW    map[int]float64
	defW    float64
	scale   float64 // of widths: 0.001, or that of a Type 3 font
}

// glyph is one code of a string.
type glyph struct {
	text  string
	width float64 // for a font of size 1
	space bool    // it is the one-byte code 32, which word spacing widens
}

func (d *document) font(f dict) *font {
	out := &font{scale: 0.001}
	if s, ok := d.resolve(f["ToUnicode"]).(*stream); ok {
		out.unicode = readCMap(d.decode(s))
	}
	if d.resolve(f["Subtype"]) == name("Type0") {
		d.composite(f, out)
		return out
	}
	d.encoding(f, out)
	descriptor, _ := d.resolve(f["FontDescriptor"]).(dict)
	base, _ := d.resolve(f["BaseFont"]).(name)
	if f["Widths"] == nil {
		out.assume(string(base))
	} else {
		missing, _ := d.float(descriptor["MissingWidth"])
		for i := range out.widths {
			out.widths[i] = missing
		}
	}
	first, _ := d.resolve(f["FirstChar"]).(int)
	widths, _ := d.resolve(f["Widths"]).(array)
	for i, w := range widths {
		if n := first + i; n >= 0 && n < 256 {
			out.widths[n], _ = d.float(w)
		}
	}
	if d.resolve(f["Subtype"]) == name("Type3") {
		if m, ok := d.resolve(f["FontMatrix"]).(array); ok && len(m) == 6 {
			if out.scale, _ = d.float(m[0]); out.scale < 0 {
				out.scale = -out.scale
			}
		}
	}
	return out
}

// encoding determines the texts of a simple font's codes, by names of glyphs.
func (d *document) encoding(f dict, out *font) {
	base, _ := d.resolve(f["BaseFont"]).(name)
	if i := strings.IndexByte(string(base), '+'); i == 6 {
		base = base[7:]
	}
	descriptor, _ := d.resolve(f["FontDescriptor"]).(dict)
	flags, _ := d.resolve(descriptor["Flags"]).(int)
	out.simple = standard
	if d.resolve(f["Subtype"]) == name("TrueType") {
		out.simple = winAnsi
	}
	if base == "Symbol" || strings.HasPrefix(string(base), "Symbol,") {
		out.simple = symbol
	}
	e := d.resolve(f["Encoding"])
	if ed, ok := e.(dict); ok {
		if b := d.resolve(ed["BaseEncoding"]); b != nil {
			e = b
		} else if flags&4 != 0 || descriptor["FontFile"] != nil {
			e = nil // the font's own encoding
		} else {
			e = name("StandardEncoding")
		}
	}
	switch e {
	case name("WinAnsiEncoding"):
		out.simple = winAnsi
	case name("MacRomanEncoding"):
		out.simple = macRoman
	case name("StandardEncoding"):
		if base != "Symbol" {
			out.simple = standard
		}
	default:
		if s, ok := d.resolve(descriptor["FontFile"]).(*stream); ok {
			d.builtIn(s, out)
		}
	}
	ed, _ := d.resolve(f["Encoding"]).(dict)
	diffs, _ := d.resolve(ed["Differences"]).(array)
	at := 0
	for _, v := range diffs {
		switch v := d.resolve(v).(type) {
		case int:
			at = v
		case name:
			if at >= 0 && at < 256 {
				if out.simple[at] = glyphText(string(v)); out.simple[at] == "" {
					out.simple[at] = numbered(string(v), at)
				}
			}
			at++
		}
	}
}

// builtIn reads the encoding inside a Type 1 font: "dup 65 /A put" in its clear text.
func (d *document) builtIn(s *stream, out *font) {
	b := d.decode(s)
	if i := bytes.Index(b, []byte("eexec")); i >= 0 {
		b = b[:i]
	}
	i := bytes.Index(b, []byte("/Encoding"))
	if i < 0 {
		return
	}
	l := lexer{b: b, i: i + len("/Encoding")}
	if l.next(0) == op("StandardEncoding") {
		return
	}
	out.simple = [256]string{}
	var last [2]any
	for range 4096 {
		v := l.next(0)
		switch v {
		case eof{}, op("def"), op("readonly"):
			if v != op("def") || last[1] != op("for") {
				return
			}
		case op("put"):
			code, ok1 := last[0].(int)
			n, ok2 := last[1].(name)
			if ok1 && ok2 && code >= 0 && code < 256 {
				out.simple[code] = glyphText(string(n))
			}
		}
		switch v.(type) {
		case array, dict, str:
			v = nil // not comparable
		}
		last[0], last[1] = last[1], v
	}
}

// composite reads a font whose codes have several bytes.
func (d *document) composite(f dict, out *font) {
	out.wide, out.defW, out.cidW = true, 1000, map[int]float64{}
	kids, _ := d.resolve(f["DescendantFonts"]).(array)
	if len(kids) == 0 {
		return
	}
	kid, _ := d.resolve(kids[0]).(dict)
	if w, ok := d.float(kid["DW"]); ok {
		out.defW = w
	}
	d.cidWidths(kid, out)
	switch e := d.resolve(f["Encoding"]).(type) {
	case *stream:
		out.codes = readCMap(d.decode(e))
	case name:
		out.charset = named[e]
		out.jis = e == "H" || e == "V"
		out.units = strings.Contains(string(e), "UCS2") || strings.Contains(string(e), "UTF16")
	}
}

func (d *document) cidWidths(kid dict, out *font) {
	w, _ := d.resolve(kid["W"]).(array)
	for i := 0; i+1 < len(w) && len(out.cidW) < 1<<16; {
		first, ok := d.resolve(w[i]).(int)
		if !ok {
			return
		}
		switch v := d.resolve(w[i+1]).(type) {
		case array:
			for j, e := range v {
				out.cidW[first+j], _ = d.float(e)
			}
			i += 2
		case int:
			if i+2 >= len(w) {
				return
			}
			width, _ := d.float(w[i+2])
			for c := first; c <= v && c-first < 1<<16; c++ {
				out.cidW[c] = width
			}
			i += 3
		default:
			return
		}
	}
}

// glyphs divides a string into its codes.
func (f *font) glyphs(s str, each func(glyph)) {
	if !f.wide {
		for _, c := range s {
			g := glyph{text: f.simple[c], width: f.widths[c] * f.scale, space: c == ' '}
			if f.unicode != nil {
				if t, ok := f.unicode.text(uint32(c)); ok {
					g.text = t
				}
			}
			each(g)
		}
		return
	}
	for len(s) > 0 {
		code, n := uint32(0), min(2, len(s))
		switch {
		case f.codes != nil:
			code, n = f.codes.next(s)
		case f.charset != nil && s[0] < 0x80:
			code, n = uint32(s[0]), 1
		default:
			for _, c := range s[:n] {
				code = code<<8 | uint32(c)
			}
		}
		n = max(n, 1)
		cid := int(code)
		if f.codes != nil && len(f.codes.cids) > 0 {
			cid = f.codes.cid(code)
		}
		w, ok := f.cidW[cid]
		if !ok {
			w = f.defW
		}
		g := glyph{width: w * f.scale, space: n == 1 && code == ' '}
		if t, ok := f.text(code); ok {
			g.text = t
		} else if f.units {
			g.text = string(utf16.Decode([]uint16{uint16(code)}))
		} else if f.jis && n == 2 {
			t, _ := japanese.EUCJP.NewDecoder().Bytes([]byte{s[0] | 0x80, s[1] | 0x80})
			g.text = string(t)
		} else if f.charset != nil {
			t, _ := f.charset.NewDecoder().Bytes(s[:n])
			g.text = string(t)
		}
		each(g)
		s = s[n:]
	}
}

func (f *font) text(code uint32) (string, bool) {
	if f.unicode == nil {
		return "", false
	}
	return f.unicode.text(code)
}

func (d *document) float(v any) (float64, bool) {
	switch v := d.resolve(v).(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
