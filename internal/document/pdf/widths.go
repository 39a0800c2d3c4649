package pdf

import "strings"

// Widths of the standard fonts, which files need not contain (ISO 32000-2 §9.6.2.2): from space to
// tilde, in thousandths. They are also used for the bold and italic variants, which differ little.
var (
	timesWidths = [95]float64{250, 333, 408, 500, 500, 833, 778, 180, 333, 333, 500, 564, 250, 333, 250, 278,
		500, 500, 500, 500, 500, 500, 500, 500, 500, 500, 278, 278, 564, 564, 564, 444,
		921, 722, 667, 667, 722, 611, 556, 722, 722, 333, 389, 722, 611, 889, 722, 722,
		556, 722, 667, 556, 611, 722, 722, 944, 722, 722, 611, 333, 278, 333, 469, 500,
		333, 444, 500, 444, 500, 444, 333, 500, 500, 278, 278, 500, 278, 778, 500, 500,
		500, 500, 333, 389, 278, 500, 500, 722, 500, 500, 444, 480, 200, 480, 541}
	helveticaWidths = [95]float64{278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
		556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
		1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
		667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
		333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
		556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584}
)

// assume gives a font without widths those of the most similar standard font.
func (f *font) assume(base string) {
	letters := &helveticaWidths
	switch {
	case strings.Contains(base, "Courier"):
		for i := range f.widths {
			f.widths[i] = 600
		}
		return
	case strings.Contains(base, "Times"):
		letters = &timesWidths
	}
	for i := range f.widths {
		f.widths[i] = 500
		if i >= ' ' && i <= '~' {
			f.widths[i] = letters[i-' ']
		}
	}
}
