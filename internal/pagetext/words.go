package pagetext

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/html"
)

// What can begin with a byte of text.
const (
	ofWord      uint8 = iota
	ofBlank           // a blank by itself
	ofReference       // &
	ofNoBreak         // the first byte of a no-break space, and of about a hundred letters
)

var textBytes = func() (t [256]uint8) {
	for c, yes := range maybeBlank {
		if yes {
			t[c] = ofBlank
		}
	}
	t['&'], t[0xC2] = ofReference, ofNoBreak
	return t
}()

// words appends text with character references to the body. Each run of blanks within a block
// becomes one space.
func (x *Extractor) words(val []byte) {
	for i := 0; i < len(val); {
		switch textBytes[val[i]] {
		case ofBlank:
			x.space()
			for i++; i < len(val) && textBytes[val[i]] == ofBlank; i++ {
			}
		case ofReference:
			r, n := html.Reference(val[i:])
			switch {
			case n == 0: // an unusual reference, which takes longer
				var s string
				s, n = html.LongReference(val[i:])
				x.fold(s)
			case r == '\u00A0':
				x.space()
			default:
				x.word(nil)
				x.body = utf8.AppendRune(x.body, r)
			}
			i += n
		default:
			n := wordsEnd(val, i)
			if n == i {
				x.space()
				i += 2
				continue
			}
			x.word(val[i:n])
			i = n
		}
	}
}

// wordsEnd returns the end of the text that can be copied unchanged: words with single spaces
// between them. It returns i itself for a no-break space.
func wordsEnd(val []byte, i int) int {
	for {
		i = eights(val, i)
		if i == len(val) {
			return i
		}
		switch textBytes[val[i]] {
		case ofWord:
			i++
		case ofNoBreak:
			if i+1 < len(val) && val[i+1] == 0xA0 {
				return i
			}
			i++
		case ofBlank:
			if val[i] != ' ' || i+1 == len(val) || textBytes[val[i+1]] != ofWord {
				return i
			}
			i += 2
		default:
			return i
		}
	}
}

// eights skips the text at from as long as each eight bytes contain only words and single spaces.
// Half of a page is text. Testing one byte after another would take a quarter of the time of Read
// (m).
func eights(val []byte, from int) int {
	i := from
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(val) {
		w := binary.LittleEndian.Uint64(val[i:])
		// In each of these words, the high bit of a byte is set if the byte matches, or if it
		// follows a byte that matches. The first match is therefore always right, and a wrong one
		// only costs a second look.
		control := (w - ones*0x20) &^ w
		ampersand := w ^ ones*'&'
		ampersand = (ampersand - ones) &^ ampersand
		noBreak := w ^ ones*0xC2
		noBreak = (noBreak - ones) &^ noBreak
		space := w ^ ones*' '
		space = (space - ones) &^ space & high
		if odd := (control | ampersand | noBreak | space&(space>>8)) & high; odd != 0 {
			if i += bits.TrailingZeros64(odd) / 8; i > from && val[i-1] == ' ' {
				i-- // a space must be seen together with what follows it
			}
			return i
		}
		i += 8
		if space>>63 != 0 {
			i--
		}
	}
	return i
}

// word appends text that begins with a word, after the separator.
func (x *Extractor) word(val []byte) {
	if x.gap != 0 {
		if len(x.body) > 0 {
			x.body = append(x.body, x.gap)
		}
		x.gap = 0
	}
	x.body = append(x.body, val...)
}
