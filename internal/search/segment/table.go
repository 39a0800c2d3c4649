package segment

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
)

// FNV-1a, which a loop over a word's letters can compute as it goes.
const (
	HashStart = 2166136261
	HashStep  = 16777619
)

// HashOf is the hash that Builder requires for a word.
func HashOf(word []byte) uint32 {
	h := uint32(HashStart)
	for _, c := range word {
		h = (h ^ uint32(c)) * HashStep
	}
	return h
}

// table numbers words: some ten thousand of them, which are all removed at once.
type table struct {
	slots   []uint32 // number of an entry + 1; open addressing
	entries []entry
	text    []byte
}

// entry is a word. Two entries share a cache line, and short words are compared without their text.
type entry struct {
	head  uint64 // headOf the word
	from  uint32
	n     uint32
	hash  uint32
	langs uint32 // bits
	stamp uint32 // of the page to which local belongs
	local uint32 // number of the word within the page
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

func (t *table) word(i uint32) []byte {
	e := &t.entries[i]
	return t.text[e.from:][:e.n]
}

// number returns the number of a word, and adds it if it is new.
func (t *table) number(word []byte, hash uint32, lang uint8) uint32 {
	if 2*len(t.entries) >= len(t.slots) {
		t.grow()
	}
	head := headOf(word)
	mask := uint32(len(t.slots) - 1)
	for at := (hash ^ hash>>15) & mask; ; at = (at + 1) & mask {
		i := t.slots[at]
		if i == 0 {
			t.entries = append(t.entries, entry{head: head, from: uint32(len(t.text)), n: uint32(len(word)), hash: hash, langs: 1 << lang})
			t.text = append(t.text, word...)
			t.slots[at] = uint32(len(t.entries))
			return uint32(len(t.entries) - 1)
		}
		e := &t.entries[i-1]
		if e.head == head && e.n == uint32(len(word)) && (len(word) <= 8 || string(t.text[e.from:][:e.n]) == string(word)) {
			e.langs |= 1 << lang
			return i - 1
		}
	}
}

func (t *table) grow() {
	t.slots = make([]uint32, max(1<<12, 2*len(t.slots)))
	mask := uint32(len(t.slots) - 1)
	for i := range t.entries {
		h := t.entries[i].hash
		at := (h ^ h>>15) & mask
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
