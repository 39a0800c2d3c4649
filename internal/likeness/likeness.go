// Package likeness tells whether two pages say nearly the same, from a hash of 64 bits each. That
// is all that two fetchers need to tell one another to compare a page with its copy on a mirror.
//
// It is a similarity hash (Charikar 2002) over every three words in a row.
package likeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"

	"github.com/cespare/xxhash/v2"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	shingle  = 3       // words
	minWords = 24      // of less text nothing is said
	maxBytes = 1 << 20 // of a page are looked at
	// maxDiffer is the number of bits in which the hashes of two texts may differ if the texts
	// count as alike: about one word in a hundred differs then.
	maxDiffer = 9
)

// OfHTML is the hash of a page's text; 0 when there is too little of it to say anything. Markup,
// scripts and styles do not count, nor do case and punctuation. The page is read as UTF-8 whatever
// it is in: pages of one site share their encoding.
func OfHTML(page []byte) uint64 {
	var s sum
	visible(page[:min(len(page), maxBytes)], s.add)
	return s.hash()
}

// visible hands over the texts of a page that a reader sees.
func visible(page []byte, add func(text []byte)) {
	z := html.NewTokenizer(bytes.NewReader(page))
	skip := atom.Atom(0)
	for {
		switch z.Next() {
		case html.ErrorToken:
			return
		case html.StartTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Script || a == atom.Style || a == atom.Template {
				skip = a
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if atom.Lookup(name) == skip {
				skip = 0
			}
		case html.TextToken:
			if skip == 0 {
				add(z.Text())
			}
		}
	}
}

// SameHTML tells the visible text of a whole page from any other text, however like; 0 when it has
// none. White space counts once, wherever it is.
func SameHTML(page []byte) uint64 {
	var w digest
	visible(page, w.add)
	return w.hash()
}

// SameText is the same of plain text.
func SameText(text []byte) uint64 {
	var w digest
	w.add(text)
	return w.hash()
}

// digest hashes the words of a text, each with a blank behind.
type digest struct{ h hash.Hash }

func (w *digest) add(text []byte) {
	for word := range bytes.FieldsSeq(text) {
		if w.h == nil {
			w.h = sha256.New()
		}
		w.h.Write(word)
		w.h.Write([]byte{' '})
	}
}

func (w *digest) hash() uint64 {
	if w.h == nil {
		return 0
	}
	return binary.BigEndian.Uint64(w.h.Sum(nil))
}

// OfText is the hash of plain text.
func OfText(text []byte) uint64 {
	var s sum
	s.add(text[:min(len(text), maxBytes)])
	return s.hash()
}

// Alike reports whether two texts with these hashes say nearly the same. 0 is like no hash,
// not even another 0.
func Alike(a, b uint64) bool {
	return a != 0 && b != 0 && bits.OnesCount64(a^b) <= maxDiffer
}

// sum counts for each bit the shingles that have it set, less those that do not.
type sum struct {
	votes [64]int32
	last  [shingle]uint64 // hashes of the last words
	words int
}

func (s *sum) add(text []byte) {
	for word := range bytes.FieldsFuncSeq(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7f)
	}) {
		copy(s.last[:], s.last[1:])
		s.last[shingle-1] = xxhash.Sum64(bytes.ToLower(word))
		if s.words++; s.words < shingle {
			continue
		}
		h := uint64(0)
		for _, w := range s.last {
			h = (h ^ w) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
		for i := range s.votes {
			s.votes[i] += int32(h>>i&1)*2 - 1
		}
	}
}

func (s *sum) hash() uint64 {
	if s.words < minWords {
		return 0
	}
	h := uint64(0)
	for i, v := range s.votes {
		if v > 0 {
			h |= 1 << i
		}
	}
	return max(h, 1)
}
