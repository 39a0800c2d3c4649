package pdf

import (
	"bytes"
	"math"
)

// matrix is [a b c d e f], as in PDF.
type matrix [6]float64

var identity = matrix{1, 0, 0, 1, 0, 0}

// mul applies a, then b.
func (a matrix) mul(b matrix) matrix {
	return matrix{
		a[0]*b[0] + a[1]*b[2], a[0]*b[1] + a[1]*b[3],
		a[2]*b[0] + a[3]*b[2], a[2]*b[1] + a[3]*b[3],
		a[4]*b[0] + a[5]*b[2] + b[4], a[4]*b[1] + a[5]*b[3] + b[5],
	}
}

func (a matrix) at(x, y float64) (float64, float64) {
	return x*a[0] + y*a[2] + a[4], x*a[1] + y*a[3] + a[5]
}

// state is the graphics state that q saves and Q restores.
type state struct {
	ctm                                     matrix
	font                                    *font
	size, charSp, wordSp, scale, lead, rise float64
}

// painter interprets the content of pages.
type painter struct {
	d     *document
	out   *layout
	fonts map[any]*font // by reference, or by name if the page itself contains them
	words int           // tokens so far

	operators map[op]func(*painter, operands)

	state
	stack    []state
	tm, tlm  matrix
	actual   []span2 // open marked content
	silenced int     // how many of these have their own text
}

// span2 is marked content. If it has its own text, that is shown once instead of its glyphs.
type span2 struct {
	has  bool
	text string
}

// maxFonts is how many fonts are kept.
const maxFonts = 256

// run interprets one content stream.
func (p *painter) run(content []byte, resources dict, depth int) {
	l := lexer{b: content}
	var args []any
	for p.words < maxTokens && !p.out.cut && !p.d.tooMuch {
		p.words++
		v := l.next(0)
		if _, end := v.(eof); end {
			return
		}
		o, is := v.(op)
		if !is {
			if len(args) < 64 {
				args = append(args, v)
			}
			continue
		}
		if o == "BI" {
			skipImage(&l)
		} else if do := p.operators[o]; do != nil {
			do(p, operands{args, resources, depth})
		}
		args = args[:0]
	}
}

// skipImage skips an image in the content.
func skipImage(l *lexer) {
	for i := l.i; ; {
		n := bytes.Index(l.b[i:], []byte("EI"))
		if n < 0 {
			l.i = len(l.b)
			return
		}
		i += n + 2
		if isSpace(l.b[i-3]) && (i >= len(l.b) || isSpace(l.b[i])) {
			l.i = i
			return
		}
	}
}

func num(args []any, i int) float64 {
	if i < 0 || i >= len(args) {
		return 0
	}
	switch v := args[i].(type) {
	case int:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

func matrixOf(args []any) matrix {
	var m matrix
	for i := range m {
		m[i] = num(args, i)
	}
	return m
}

// operands are what precedes an operator, and the resources to which names in it refer.
type operands struct {
	args  []any
	res   dict
	depth int // of forms that draw forms
}

// num returns a number, or 0 if there is none.
func (a operands) num(i int) float64 { return num(a.args, i) }

// last returns the last operand, or nil if there is none. Most operators have one, and extra
// operands before it have no effect.
func (a operands) last() any {
	if len(a.args) == 0 {
		return nil
	}
	return a.args[len(a.args)-1]
}

// operators returns those that change where and how text is shown (ISO 32000-2, annex A). Others
// have no effect. The painter keeps the table, because a package variable could not refer to form,
// which applies operators in turn.
func operators() map[op]func(*painter, operands) {
	return map[op]func(*painter, operands){
		"q":   (*painter).save,
		"Q":   (*painter).restore,
		"cm":  func(p *painter, a operands) { p.ctm = matrixOf(a.args).mul(p.ctm) },
		"BT":  func(p *painter, _ operands) { p.tm, p.tlm = identity, identity },
		"Td":  func(p *painter, a operands) { p.move(a.num(0), a.num(1)) },
		"TD":  func(p *painter, a operands) { p.lead = -a.num(1); p.move(a.num(0), a.num(1)) },
		"Tm":  func(p *painter, a operands) { p.tm = matrixOf(a.args); p.tlm = p.tm },
		"T*":  func(p *painter, _ operands) { p.nextLine() },
		"Tf":  (*painter).setFont,
		"Tc":  func(p *painter, a operands) { p.charSp = a.num(0) },
		"Tw":  func(p *painter, a operands) { p.wordSp = a.num(0) },
		"Tz":  func(p *painter, a operands) { p.scale = a.num(0) / 100 },
		"TL":  func(p *painter, a operands) { p.lead = a.num(0) },
		"Ts":  func(p *painter, a operands) { p.rise = a.num(0) },
		"Tj":  (*painter).show,
		"'":   func(p *painter, a operands) { p.nextLine(); p.show(a) },
		"\"":  func(p *painter, a operands) { p.wordSp, p.charSp = a.num(0), a.num(1); p.nextLine(); p.show(a) },
		"TJ":  (*painter).showSpaced,
		"Do":  (*painter).form,
		"gs":  (*painter).extended,
		"BMC": func(p *painter, _ operands) { p.begin(nil) },
		"BDC": (*painter).beginWith,
		"EMC": (*painter).endMarked,
	}
}

func (p *painter) save(operands) {
	if len(p.stack) < 512 {
		p.stack = append(p.stack, p.state)
	}
}

func (p *painter) restore(operands) {
	if n := len(p.stack); n > 0 {
		p.state, p.stack = p.stack[n-1], p.stack[:n-1]
	}
}

func (p *painter) setFont(a operands) {
	last := len(a.args) - 1
	p.size = a.num(last)
	if last >= 1 {
		n, _ := a.args[last-1].(name)
		p.font = p.fontOf(n, a.res)
	}
}

// showSpaced shows strings, with numbers between them that move the next one.
func (p *painter) showSpaced(a operands) {
	list, _ := a.last().(array)
	for _, e := range list {
		switch e := e.(type) {
		case str:
			p.text(e)
		case int, float64:
			x := -num([]any{e}, 0) / 1000 * p.size * p.scale
			p.tm = matrix{1, 0, 0, 1, x, 0}.mul(p.tm)
		}
	}
}

// beginWith begins marked content with properties, or with the name of properties.
func (p *painter) beginWith(a operands) {
	var props dict
	switch v := a.last().(type) {
	case dict:
		props = v
	case name:
		all, _ := p.d.resolve(a.res["Properties"]).(dict)
		props, _ = p.d.resolve(all[v]).(dict)
	}
	p.begin(props)
}

func (p *painter) endMarked(operands) {
	if n := len(p.actual); n > 0 {
		if p.actual[n-1].has {
			p.silenced--
		}
		p.actual = p.actual[:n-1]
	}
}

func (p *painter) begin(props dict) {
	s := span2{}
	if t, ok := p.d.resolve(props["ActualText"]).(str); ok {
		s = span2{true, textString(t)}
		p.silenced++
	}
	if len(p.actual) < 1024 {
		p.actual = append(p.actual, s)
	}
}

// extended sets the font of an extended graphics state.
func (p *painter) extended(a operands) {
	key, ok := a.last().(name)
	if !ok {
		return
	}
	all, _ := p.d.resolve(a.res["ExtGState"]).(dict)
	gs, _ := p.d.resolve(all[key]).(dict)
	if f, ok := p.d.resolve(gs["Font"]).(array); ok && len(f) == 2 {
		if fd, ok := p.d.resolve(f[0]).(dict); ok {
			p.font = p.made(f[0], fd)
			p.size, _ = p.d.float(f[1])
		}
	}
}

func (p *painter) move(x, y float64) {
	p.tlm = matrix{1, 0, 0, 1, x, y}.mul(p.tlm)
	p.tm = p.tlm
}

func (p *painter) nextLine() { p.move(0, -p.lead) }

func (p *painter) show(a operands) {
	if s, ok := a.last().(str); ok {
		p.text(s)
	}
}

// text shows a string.
func (p *painter) text(s str) {
	if p.font == nil {
		return
	}
	p.words += len(s) / 8
	p.font.glyphs(s, func(g glyph) {
		w := g.width*p.size + p.charSp
		if g.space {
			w += p.wordSp
		}
		m := p.tm.mul(p.ctm)
		x, y := m.at(0, p.rise)
		drawn := g.width * p.size * p.scale
		// The space that Tc puts behind each character is not a gap between words.
		if tracked := p.charSp * p.scale; tracked > 0 && p.charSp < math.Abs(p.size) && drawn > 0 {
			drawn += tracked
		}
		if drawn == 0 {
			drawn = 1e-6
		}
		x2, y2 := m.at(drawn, p.rise)
		text := g.text
		if p.silenced > 0 {
			text = p.instead()
		}
		size := math.Abs(p.size) * math.Hypot(m[2], m[3])
		if text != "" {
			p.out.put(text, x, y, x2, y2, size)
		}
		p.tm = matrix{1, 0, 0, 1, w * p.scale, 0}.mul(p.tm)
	})
}

// instead returns the text that replaces glyphs, at the first of them.
func (p *painter) instead() string {
	for i := range p.actual {
		if a := &p.actual[i]; a.has {
			t := a.text
			a.text = ""
			return t
		}
	}
	return ""
}

func (p *painter) fontOf(n name, res dict) *font {
	all, _ := p.d.resolve(res["Font"]).(dict)
	v := all[n]
	d, ok := p.d.resolve(v).(dict)
	if !ok {
		return nil
	}
	return p.made(v, d)
}

// made returns a font. It is made only once for each reference.
func (p *painter) made(v any, d dict) *font {
	key, ok := v.(ref)
	if ok {
		if f := p.fonts[key]; f != nil {
			return f
		}
	}
	f := p.d.font(d)
	if len(p.fonts) >= maxFonts {
		clear(p.fonts)
	}
	if ok {
		p.fonts[key] = f
	}
	return f
}

// form draws another stream.
func (p *painter) form(a operands) {
	n, ok := a.last().(name)
	if !ok {
		return
	}
	all, _ := p.d.resolve(a.res["XObject"]).(dict)
	s, ok := p.d.resolve(all[n]).(*stream)
	if !ok || a.depth >= maxForms || p.d.resolve(s.dict["Subtype"]) != name("Form") {
		return
	}
	p.words += 1000 // because forms may draw forms
	kept, stack := p.state, p.stack
	tm, tlm := p.tm, p.tlm
	p.stack = nil
	if m, ok := p.d.resolve(s.dict["Matrix"]).(array); ok {
		var args []any
		for _, v := range m {
			args = append(args, p.d.resolve(v))
		}
		p.ctm = matrixOf(args).mul(p.ctm)
	}
	inner, ok := p.d.resolve(s.dict["Resources"]).(dict)
	if !ok {
		inner = a.res
	}
	p.run(p.d.decode(s), inner, a.depth+1)
	p.state, p.stack = kept, stack
	p.tm, p.tlm = tm, tlm
}
