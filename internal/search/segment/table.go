package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// FNV-1a, which a loop over a word's letters can compute as it goes.
const (
	HashStart = 2166136261
	HashStep  = 16777619
)

// HashOf is a hash of a word that is part of what segments store: see Facts.Text and Facts.Sim.
func HashOf(word []byte) uint32 {
	h := uint32(HashStart)
	for _, c := range word {
		h = (h ^ uint32(c)) * HashStep
	}
	return h
}

// Term is a word in the form in which a Builder takes it. A word of up to 16 bytes is in Head and
// Tail, so that a comparison needs no other memory.
type Term struct {
	Head uint64 // the first eight bytes, filled up with zeros
	// Tail has the last eight bytes of a word of 9 to 16. Of a longer word it is a hash of what
	// follows Head. It is 0 for a shorter one.
	Tail  uint64
	At    uint32 // where a word of more than 16 bytes is in the bytes that are passed with the Term
	N     uint16 // length in bytes; longer words are not in segments, and it is the maximum
	Whole bool   // the word has the same position as the one that follows: see analysis.Token
}

// inTerm is the length of a word up to which its Term has all of it.
const inTerm = 16

// Set makes t the Term of a word. It appends the bytes of a longer word to long. t is filled in
// place: copying what was just written in parts makes a processor wait.
func (t *Term) Set(word, long []byte) (with []byte) {
	t.Head, t.Tail, t.At, t.N, t.Whole = headOf(word), 0, 0, uint16(min(len(word), math.MaxUint16)), false
	switch {
	case len(word) > inTerm:
		t.At, t.Tail = uint32(len(long)), uint64(len(word))
		long = append(long, word...)
		rest := word[8:]
		for ; len(rest) > 8; rest = rest[8:] {
			t.Tail = fold(t.Tail, binary.LittleEndian.Uint64(rest))
		}
		t.Tail = fold(t.Tail, binary.LittleEndian.Uint64(word[len(word)-8:]))
	case len(word) > 8:
		t.Tail = binary.LittleEndian.Uint64(word[len(word)-8:])
	}
	return long
}

// word returns the bytes of a Term. buf is where they are if the Term itself has them.
func (t *Term) word(long []byte, buf *[inTerm]byte) []byte {
	if t.N > inTerm {
		return long[t.At:][:t.N]
	}
	binary.LittleEndian.PutUint64(buf[:], t.Head)
	if t.N > 8 {
		binary.LittleEndian.PutUint64(buf[t.N-8:], t.Tail)
	}
	return buf[:t.N]
}

// spread is a number for a position in a table of words.
func (t *Term) spread() uint32 { return uint32(fold(t.Head, t.Tail)) }

// seeds are different in each process, so that nobody can write a page whose words all have one
// place in a table. They have no effect on segments.
var seeds = [2]uint64{rand.Uint64(), rand.Uint64()}

// fold makes one number of two, which depends on all their bits.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^seeds[0], b^seeds[1])
	return hi ^ lo
}

// headOf is the first eight bytes of a word, filled up with zeros.
func headOf(word []byte) uint64 {
	switch {
	case len(word) >= 8:
		return binary.LittleEndian.Uint64(word)
	case cap(word) >= 8: // the bytes after the word are masked out
		return binary.LittleEndian.Uint64(word[:8]) & (1<<(8*len(word)) - 1)
	}
	var b [8]byte
	copy(b[:], word)
	return binary.LittleEndian.Uint64(b[:])
}

// table numbers words: some ten thousand of them, which are all removed at once.
type table struct {
	slots   []uint32 // number of an entry + 1; open addressing
	entries []entry
	text    []byte
}

// entry is a word. Two entries share a cache line, and only long words are compared with their
// text.
type entry struct {
	head, tail uint64 // of its Term
	from, n    uint32
	hash       uint32 // HashOf
	langs      uint32 // bits
}

func (t *table) word(i uint32) []byte {
	e := &t.entries[i]
	return t.text[e.from:][:e.n]
}

// number returns the number of a word, and adds it if it is new.
func (t *table) number(word []byte, of *Term, lang uint8) uint32 {
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
	}
	mask := uint32(len(t.slots) - 1)
	for at := of.spread() & mask; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i == 0 {
			t.entries = append(t.entries, entry{head: of.Head, tail: of.Tail, from: uint32(len(t.text)), n: uint32(len(word)), hash: HashOf(word), langs: 1 << lang})
			t.text = append(t.text, word...)
			t.slots[at] = uint32(len(t.entries))
			return uint32(len(t.entries) - 1)
		}
		e := &t.entries[i-1]
		if e.head == of.Head && e.tail == of.Tail && e.n == uint32(len(word)) && (e.n <= inTerm || string(t.text[e.from:][:e.n]) == string(word)) {
			e.langs |= 1 << lang
			return i - 1
		}
	}
}

func (t *table) grow() {
	t.slots = make([]uint32, max(1<<12, 2*len(t.slots)))
	mask := uint32(len(t.slots) - 1)
	for i := range t.entries {
		at := uint32(fold(t.entries[i].head, t.entries[i].tail)) & mask
		for t.slots[at] != 0 {
			at = (at + 1) & mask
		}
		t.slots[at] = uint32(i + 1)
	}
}

func (t *table) reset() {
	clear(t.slots)
	t.entries, t.text = t.entries[:0], t.text[:0]
}

// ranked is a word for sorting: most are ordered by head alone.
type ranked struct {
	head uint64 // the first letter is in the highest byte
	word uint32
}

// sorted appends the numbers of all words, in the order of their bytes.
func (t *table) sorted(dst []ranked) []ranked {
	for i := range t.entries {
		dst = append(dst, ranked{bits.ReverseBytes64(t.entries[i].head), uint32(i)})
	}
	slices.SortFunc(dst, func(a, b ranked) int {
		if a.head != b.head {
			return cmp.Compare(a.head, b.head)
		}
		return bytes.Compare(t.word(a.word), t.word(b.word))
	})
	return dst
}
