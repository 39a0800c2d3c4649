package pdf

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// layout combines glyphs into words, lines and paragraphs. It processes them in the order in which
// they are written, and compares the position of each only with that of the previous one, in the
// direction of writing.
type layout struct {
	paras []Paragraph
	left  int // bytes that may still be added
	cut   bool
	page  int

	line   []byte // of the current paragraph
	size   float64
	dx, dy float64 // direction of the writing
	x, y   float64 // the end of the last glyph
	lines  int
	gap    float64 // between the baselines of the last two lines
	any    bool

	spread  []soft // of the current line
	letters int    // of the current line, and its glyphs
	glyphs  int
}

// put adds a glyph that begins at x, y and ends at x2, y2, of a font of that size.
func (l *layout) put(text string, x, y, x2, y2, size float64) {
	if l.cut {
		return
	}
	dx, dy := x2-x, y2-y
	if n := math.Hypot(dx, dy); n > 1e-9 {
		dx, dy = dx/n, dy/n
	} else {
		dx, dy = l.dx, l.dy
	}
	back := false // it is drawn over the last one
	if l.any && size > 0 {
		along := (x-l.x)*l.dx + (y-l.y)*l.dy
		across := -(x-l.x)*l.dy + (y-l.y)*l.dx
		big := math.Max(size, l.size)
		back = along < -0.2*size && along > -size && math.Abs(across) < 0.4*size
		turned := dx*l.dx+dy*l.dy < 0.9
		switch {
		case turned || math.Abs(across) > 3*big || across > 1.5*big:
			l.end()
		case math.Abs(across) > 0.5*math.Min(big, math.Max(size, 0.8*l.size)) && along < 0 || math.Abs(across) > 0.7*big:
			// Another line. It belongs to the paragraph if it is as near as the previous one.
			if d := math.Abs(across); d > 1.9*size || size > 1.15*l.size || size < 0.85*l.size || l.lines > 1 && d > 1.25*l.gap {
				l.end()
			} else {
				l.newLine(text)
				l.gap = d
			}
		case back && l.accented(text):
			l.x, l.y = x2, y2
			return
		case along > 0.14*big && along < widest*big:
			l.soft(along / big)
		case along > 0.14*big, along < -0.5*big:
			l.blank()
		}
	}
	if !l.any || len(l.line) == 0 {
		l.size = size
	}
	l.any, l.x, l.y, l.dx, l.dy = true, x2, y2, dx, dy
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			l.blank()
			l.hard()
		case r == '\u00ad', r < ' ', r == utf8.RuneError, r >= 0xE000 && r <= 0xF8FF, unicode.Is(unicode.Cf, r):
		default:
			if l.glyphs++; unicode.IsLetter(r) {
				l.letters++
			}
			l.rune(r)
		}
	}
	if len(l.line) > l.left {
		l.cut = true
	}
}

// spacing are accents that are drawn as separate glyphs over a letter.
var spacing = map[rune]string{'´': "\u0301", '`': "\u0300", '¨': "\u0308", 'ˆ': "\u0302", '˜': "\u0303", 'ˇ': "\u030C", '¸': "\u0327",
	'˚': "\u030A", '˝': "\u030B", '¯': "\u0304", '˘': "\u0306", '˙': "\u0307", '˛': "\u0328"}

// accented combines a letter with an accent that is drawn over it, in either order. It reports
// whether the two glyphs are such a pair.
func (l *layout) accented(text string) bool {
	r, n := utf8.DecodeRuneInString(text)
	last, m := utf8.DecodeLastRune(l.line)
	switch {
	case n != len(text):
		return false
	case spacing[r] != "" && unicode.IsLetter(last):
		r, last = last, r
	case spacing[last] == "" || !unicode.IsLetter(r):
		return false
	}
	if r == 'ı' {
		r = 'i'
	}
	l.line = append(l.line[:len(l.line)-m], norm.NFC.String(string(r)+spacing[last])...)
	return true
}

// rune appends a character. It replaces ligatures by their letters.
func (l *layout) rune(r rune) {
	if r >= 0xFB00 && r <= 0xFB06 {
		l.line = append(l.line, [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[r-0xFB00]...)
		return
	}
	l.line = utf8.AppendRune(l.line, r)
}

func (l *layout) blank() {
	if n := len(l.line); n > 0 && l.line[n-1] != ' ' {
		l.line = append(l.line, ' ')
	}
}

// newLine continues in the next line, and joins a word that was divided.
func (l *layout) newLine(next string) {
	l.respace()
	l.lines++
	r, _ := utf8.DecodeRuneInString(next)
	n := len(l.line)
	if n > 1 && l.line[n-1] == '-' && unicode.IsLower(r) {
		if before, _ := utf8.DecodeLastRune(l.line[:n-1]); unicode.IsLetter(before) {
			l.line = l.line[:n-1]
			return
		}
	}
	l.blank()
}

// end ends a paragraph.
func (l *layout) end() {
	l.respace()
	if s := strings.TrimSpace(string(l.line)); s != "" {
		if len(s) > l.left {
			l.cut = true
			s = strings.ToValidUTF8(s[:l.left], "")
		}
		l.left -= len(s)
		l.paras = append(l.paras, Paragraph{Text: s, Size: l.size, Page: l.page})
	}
	l.line, l.any, l.lines, l.gap = l.line[:0], false, 0, 0
}
