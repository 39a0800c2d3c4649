package pdf

import "slices"

// A line may be letter-spaced: its characters are set apart, each at a position of its own or by
// numbers in TJ. Then a gap between characters is no gap between words. This is known only when the
// line is complete: most of its characters have a gap behind them, and the gaps are about equal.

// soft is a blank that stands for a gap, and not for a space that the document has.
type soft struct {
	at  int     // of the blank in the line
	gap float64 // in units of the font's size
}

const (
	widest     = 3.0    // the largest gap that may be of this kind
	tracking   = 0.65   // the largest typical gap of a letter-spaced line
	maxSpread  = 10_000 // blanks of a line that are remembered
	fewLetters = 4      // fewer gaps do not make a letter-spaced line
)

// soft adds a blank for a gap.
func (l *layout) soft(gap float64) {
	n := len(l.line)
	if l.blank(); len(l.line) > n && len(l.spread) < maxSpread {
		l.spread = append(l.spread, soft{n, gap})
	}
}

// hard keeps the last blank: the document has a space there.
func (l *layout) hard() {
	if n := len(l.spread); n > 0 && l.spread[n-1].at == len(l.line)-1 {
		l.spread = l.spread[:n-1]
	}
}

// respace ends a line: of a letter-spaced one it removes the blanks between characters.
func (l *layout) respace() {
	all := l.spread
	apart := len(all) >= fewLetters && 5*len(all) >= 3*(l.glyphs-1) && 2*l.letters > l.glyphs
	l.spread, l.letters, l.glyphs = l.spread[:0], 0, 0
	if !apart {
		return
	}
	gaps := make([]float64, len(all))
	for i, s := range all {
		gaps[i] = s.gap
	}
	slices.Sort(gaps)
	// Words have two letters and more, so among three gaps at least one is within a word.
	typical := gaps[len(gaps)/3]
	if typical > tracking {
		return
	}
	to := all[0].at
	for i, s := range all {
		end := len(l.line)
		if i+1 < len(all) {
			end = all[i+1].at
		}
		if s.gap > 1.6*typical {
			l.line[to] = ' '
			to++
		}
		to += copy(l.line[to:], l.line[s.at+1:end])
	}
	l.line = l.line[:to]
}
