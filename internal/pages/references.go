package pages

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"golang.org/x/net/html"
)

// What a byte of text can be the beginning of.
const (
	ofWord      uint8 = iota
	ofBlank           // a blank by itself
	ofReference       // &
	ofNoBreak         // the first byte of a no-break space, and of a hundred letters
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

// words appends text with character references to the body, its whitespace folded: inside a block
// every run of blanks is one space.
func (x *Extractor) words(val []byte) {
	for i := 0; i < len(val); {
		switch textBytes[val[i]] {
		case ofBlank:
			x.space()
			for i++; i < len(val) && textBytes[val[i]] == ofBlank; i++ {
			}
		case ofReference:
			r, n := reference(val[i:])
			switch {
			case n == 0: // an unusual one goes the slow way, once
				n = referenceEnd(val[i:])
				x.fold(html.UnescapeString(string(val[i : i+n])))
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

// wordsEnd returns where text that can be copied as it is ends: words with one space between each
// two. It returns i itself for a no-break space.
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

// eights goes on in val as long as eight bytes at a time are nothing but words and single spaces.
// Half of a page is text, so looking at one byte at a time is what Read would mostly do (m: a
// quarter of its time).
func eights(val []byte, from int) int {
	i := from
	const ones, high = 0x0101010101010101, 0x8080808080808080
	for i+8 <= len(val) {
		w := binary.LittleEndian.Uint64(val[i:])
		// In each of these the high bit of a byte says that it is one of these, or comes behind one
		// that is: the first is never a false alarm, and the others only cost a look.
		control := (w - ones*0x20) &^ w
		ampersand := w ^ ones*'&'
		ampersand = (ampersand - ones) &^ ampersand
		noBreak := w ^ ones*0xC2
		noBreak = (noBreak - ones) &^ noBreak
		space := w ^ ones*' '
		space = (space - ones) &^ space & high
		if odd := (control | ampersand | noBreak | space&(space>>8)) & high; odd != 0 {
			if i += bits.TrailingZeros64(odd) / 8; i > from && val[i-1] == ' ' {
				i-- // what follows a space has to be seen with it
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

// word appends text that begins with a word, after the gap that separates it from the last.
func (x *Extractor) word(val []byte) {
	if x.gap != 0 {
		if len(x.body) > 0 {
			x.body = append(x.body, x.gap)
		}
		x.gap = 0
	}
	x.body = append(x.body, val...)
}

// reference resolves a character reference that nearly all in use are like: one of five names, or a
// decimal number of a character that stands for itself. n is its length, 0 for any other.
func reference(val []byte) (r rune, n int) {
	switch {
	case len(val) >= 4 && val[2] == 't' && val[3] == ';' && val[1] == 'l':
		return '<', 4
	case len(val) >= 4 && val[2] == 't' && val[3] == ';' && val[1] == 'g':
		return '>', 4
	case len(val) >= 5 && string(val[:5]) == "&amp;":
		return '&', 5
	case len(val) >= 6 && string(val[:6]) == "&quot;":
		return '"', 6
	case len(val) >= 6 && string(val[:6]) == "&nbsp;":
		return '\u00A0', 6
	case len(val) >= 2 && (val[1] == ' ' || val[1] == '\n'):
		return '&', 1
	case len(val) < 5 || val[1] != '#':
		return 0, 0
	}
	for i := 2; i < len(val) && i < 8; i++ {
		c := val[i]
		if c == ';' && i > 2 && (r > ' ' && r < 0x7F || r >= 0xA0 && utf8.ValidRune(r)) {
			return r, i + 1
		}
		if c < '0' || c > '9' {
			break
		}
		r = 10*r + rune(c-'0')
	}
	return 0, 0
}

// referenceEnd returns how much of a text that begins with a reference has to be resolved together:
// up to its semicolon, or all of it.
func referenceEnd(val []byte) int {
	for i := 1; i < len(val) && i < longestReference && val[i] != '&'; i++ {
		if val[i] == ';' {
			return i + 1
		}
	}
	return len(val)
}
