// Package likeness decides whether two pages have nearly the same text, from a hash of 64 bits for
// each. Two fetchers need to exchange nothing else to compare a page with its copy on a mirror.
//
// The hash is a similarity hash (Charikar 2002) over every three consecutive words.
package likeness

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/curtsy/curtsy/internal/html"
)

const (
	shingle  = 3       // words
	minWords = 24      // a shorter text has no hash
	maxBytes = 1 << 20 // of a page are read
	// maxDiffer is in how many bits the hashes of two texts may differ if the texts count as alike.
	// About one word in a hundred then differs.
	maxDiffer = 9
)

// OfHTML returns the hash of a page's text, 0 if there is too little text. Markup, scripts, styles,
// case and punctuation do not count. The page is read as UTF-8 whatever its charset is, because
// pages of one site share their charset.
func OfHTML(page []byte) uint64 {
	var s sum
	visible(page[:min(len(page), maxBytes)], s.add)
	return s.hash()
}

// visible calls add for each visible text of a page.
func visible(page []byte, add func(text []byte)) {
	r := html.Reader{Page: page, Scripts: true}
	hidden := false // within a template
	for {
		kind, val, _ := r.Next()
		switch kind {
		case html.End:
			return
		case html.Text:
			if !hidden {
				add(html.Unescape(val))
			}
		case html.StartTag:
			switch string(val) {
			case "script", "style":
			case "template":
				hidden = true
			case "title", "textarea":
				if text := r.Raw(); !hidden {
					add(html.Unescape(text))
				}
			default:
				if text := r.Raw(); !hidden {
					add(text)
				}
			}
		case html.EndTag:
			if string(val) == "template" {
				hidden = false
			}
		}
	}
}

// SameHTML returns a hash of the visible text of a whole page. It is different for any other text,
// however similar; it is 0 if there is no text. Every run of white space counts as one blank.
func SameHTML(page []byte) uint64 {
	var w digest
	visible(page, w.add)
	return w.hash()
}

// SameText returns the same for plain text.
func SameText(text []byte) uint64 {
	var w digest
	w.add(text)
	return w.hash()
}

// digest hashes the words of a text, each with a blank after it.
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

// OfText returns the hash of plain text, as OfHTML does.
func OfText(text []byte) uint64 {
	var s sum
	s.add(text[:min(len(text), maxBytes)])
	return s.hash()
}

// Alike reports whether two texts with these hashes are nearly the same. 0 is not like any hash,
// not even like another 0.
func Alike(a, b uint64) bool {
	return a != 0 && b != 0 && bits.OnesCount64(a^b) <= maxDiffer
}

// sum counts, for each bit, the shingles that have it set minus those that do not.
type sum struct {
	votes [64]int32
	last  [shingle]uint64 // the hashes of the last words
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
