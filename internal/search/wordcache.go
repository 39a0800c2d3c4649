package search

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

// words remembers the terms of one language's words: a page has a few hundred different ones, and
// most of them are on the next page too. A slot is overwritten when another word falls into it, so
// memory is bounded and nothing ever needs clearing.
type words struct {
	stem    func(*snowballstem.Env) bool // nil: as it is
	env     *snowballstem.Env
	slots   []slot
	scratch []byte
}

// slot holds a word and its term in one cache line, without a pointer to follow.
type slot struct {
	word, term       [31]byte
	wordLen, termLen uint8
}

// FNV-1a, which the loop over a word's letters computes on its way.
const (
	hashStart = 2166136261
	hashStep  = 16777619
)

func hashOf(word []byte) uint32 {
	h := uint32(hashStart)
	for _, c := range word {
		h = (h ^ uint32(c)) * hashStep
	}
	return h
}

// words returns the memory for a language.
func (a *analyzer) words(lang string) *words {
	if stemmers[lang] == nil {
		lang = "" // languages without a stemmer share one
	}
	w := a.langs[lang]
	if w == nil {
		w = &words{stem: stemmers[lang], env: snowballstem.NewEnv(""), slots: make([]slot, a.slots)}
		a.langs[lang] = w
	}
	return w
}

// term returns what a word is indexed as, valid until the next call. Words with digits are neither
// stemmed nor remembered: there are many, and each is rare.
func (w *words) term(word []byte, hash uint32, stem bool) []byte {
	if !stem {
		w.scratch = w.scratch[:0]
		for _, c := range word {
			if c >= 0x80 {
				return []byte(plain(lower(string(word))))
			}
			if class[c] == classUpper {
				c |= 0x20
			}
			w.scratch = append(w.scratch, c)
		}
		return w.scratch
	}
	s := &w.slots[(hash^hash>>15)&uint32(len(w.slots)-1)]
	if string(s.word[:s.wordLen]) == string(word) {
		return s.term[:s.termLen]
	}
	t := lower(string(word))
	if w.stem != nil {
		w.env.SetCurrent(t)
		w.stem(w.env)
		if stemmed := w.env.Current(); stemmed != "" {
			t = stemmed
		}
	}
	t = plain(t)
	if len(word) > len(s.word) || len(t) > len(s.term) {
		return []byte(t)
	}
	s.wordLen, s.termLen = uint8(copy(s.word[:], word)), uint8(copy(s.term[:], t))
	return s.term[:s.termLen]
}

// lower lower-cases a text in which compatibility forms (full-width letters,
// ligatures) are written out.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}

// plain removes the accents that people leave out when they type, and everything that FTS5 would
// take for the end of a word: only letters, digits and what lies beyond ASCII may reach it.
func plain(s string) string {
	i := 0
	for i < len(s) && s[i] < 0x80 && class[s[i]] != classSep {
		i++
	}
	if i == len(s) {
		return s
	}
	out := strings.Map(func(r rune) rune {
		accent := r >= 0x0300 && r <= 0x036F || r >= 0x064B && r <= 0x0652
		if accent || r < 0x80 && class[r] == classSep {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	if out == "" {
		return s // an accent by itself
	}
	return norm.NFC.String(out)
}
