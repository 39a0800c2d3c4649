package analysis

import (
	"encoding/binary"
	"math/bits"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// termsAtOnce is how many words Terms passes at a time.
const termsAtOnce = 256

// terms are words that are not passed yet.
type terms struct {
	list [termsAtOnce]segment.Term
	n    int
	long []byte // see segment.Term.At
	emit func(list []segment.Term, long []byte) bool
}

// Terms passes the words of Tokens to emit, many at a time, until it returns false. emit must not
// keep what it gets.
//
// It is for indexing, where each instruction for a word counts: Terms reads eight bytes at a time,
// and recognises words of up to 15 letters without looking at each. All other words are left to
// step.
func (z *Tokenizer) Terms(text []byte, emit func(list []segment.Term, long []byte) bool) {
	t := &z.terms
	t.n, t.long, t.emit = 0, t.long[:0], emit
	add := z.terms.add
	for i := 0; i < len(text); {
		if class[text[i]] == classSep {
			i++
			continue
		}
		if t.n == termsAtOnce && !t.flush() {
			return
		}
		if end := shortTerm(&t.list[t.n], text, i); end > i {
			t.n++
			i = end
			continue
		}
		next, ok := z.step(text, i, add)
		if !ok {
			return
		}
		i = next
	}
	t.flush()
}

// shortTerm reads the word that begins at text[i] and returns where it ends, if it is a plain word
// of less than 16 letters of which only the first may be a capital. Otherwise it returns 0.
func shortTerm(word *segment.Term, text []byte, i int) (end int) {
	if i+16 > len(text) || class[text[i]] > classDigit {
		return 0
	}
	head := binary.LittleEndian.Uint64(text[i:]) | capitalBit
	word.At, word.Whole = 0, false
	if others := notSmall(head); others != 0 {
		n := bits.TrailingZeros64(others) &^ 7 // in bits
		end = i + n/8
		word.Head, word.Tail, word.N = head&(1<<(n&63)-1), 0, uint16(n/8)
	} else {
		others := notSmall(binary.LittleEndian.Uint64(text[i+8:]))
		if others == 0 {
			return 0
		}
		n := bits.TrailingZeros64(others) / 8
		end = i + 8 + n
		word.Head, word.Tail, word.N = head, 0, uint16(8+n)
		if n > 0 {
			word.Tail = binary.LittleEndian.Uint64(text[end-8:])
		}
	}
	if text[end] != ' ' && (class[text[end]] == classUpper || !plainEnd(text, i, end)) {
		return 0
	}
	return end
}

// notSmall marks, with the high bit of each of eight bytes, those that are neither small letters
// nor digits. Additions do not overflow into the next byte, because the high bits of what is added
// to are removed first.
func notSmall(eight uint64) uint64 {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	ascii := eight &^ high
	return (eight | ^((ascii+(0x80-'a')*ones)&^(ascii+(0x7F-'z')*ones) | (ascii+(0x80-'0')*ones)&^(ascii+(0x7F-'9')*ones))) & high
}

// add adds a word of Tokens.
func (t *terms) add(word Token) bool {
	if t.n == termsAtOnce && !t.flush() {
		return false
	}
	term := &t.list[t.n]
	t.long = term.Set(word.Word, t.long)
	term.Whole = word.Whole
	t.n++
	return true
}

func (t *terms) flush() bool {
	n := t.n
	t.n = 0
	ok := n == 0 || t.emit(t.list[:n], t.long)
	t.long = t.long[:0]
	return ok
}
