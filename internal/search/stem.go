package search

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

// A key is what words have in common that mean the same to whoever looks for one of them: the stem
// in a language, and the spelling without accents. Keys name the language, since the same stem may
// belong to different words in two languages.

// keyer makes keys of words. It is for one goroutine.
type keyer struct {
	env   *snowballstem.Env
	slots []keySlot // words met before; most words of a page are on the next page too
}

// keySlot holds a word and its stem in one cache line. Another word that falls into the slot
// overwrites it, so memory is bounded and nothing ever needs clearing.
type keySlot struct {
	word, stem       [30]byte
	wordLen, stemLen uint8
	lang             [2]byte
}

func newKeyer() *keyer { return &keyer{env: snowballstem.NewEnv(""), slots: make([]keySlot, 1<<14)} }

// stem appends the key of a word in a language, nothing when the language has no stemmer or the
// word is no word: with digits or signs in it.
func (k *keyer) stem(dst []byte, lang, word string) []byte {
	stem := stemmers[lang]
	if stem == nil || !letters(word) {
		return dst
	}
	h := hashOf([]byte(word)) ^ uint32(lang[0])<<7 ^ uint32(lang[1])
	slot := &k.slots[(h^h>>15)&uint32(len(k.slots)-1)]
	dst = append(append(dst, lang...), ':')
	if string(slot.word[:slot.wordLen]) == word && string(slot.lang[:]) == lang {
		return append(dst, slot.stem[:slot.stemLen]...)
	}
	k.env.SetCurrent(word)
	stem(k.env)
	s := k.env.Current()
	if s == "" {
		s = word
	}
	s = plain(s)
	if lang == "de" {
		s = umlauts.Replace(s)
	}
	if len(word) <= len(slot.word) && len(s) <= len(slot.stem) {
		slot.wordLen, slot.stemLen = uint8(copy(slot.word[:], word)), uint8(copy(slot.stem[:], s))
		copy(slot.lang[:], lang)
	}
	return append(dst, s...)
}

// accents appends the key of a word without its accents.
func (k *keyer) accents(dst []byte, word string) []byte {
	return append(append(dst, ':'), plain(word)...)
}

// umlauts, where they are written out: Spuelmaschine. Both spellings lose the e.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u", "ß", "ss")

func letters(word string) bool {
	for i := range len(word) {
		if c := class[word[i]]; c != classLower && c != classMulti {
			return false
		}
	}
	return true
}

func ascii(word []byte) bool {
	for _, c := range word {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

// lower lower-cases a text in which compatibility forms (full-width letters, ligatures) are
// written out.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}

// plain removes the accents that people leave out when they type.
func plain(s string) string {
	i := 0
	for i < len(s) && s[i] < 0x80 {
		i++
	}
	if i == len(s) {
		return s
	}
	out := strings.Map(func(r rune) rune {
		if r >= 0x0300 && r <= 0x036F || r >= 0x064B && r <= 0x0652 {
			return -1
		}
		return r
	}, norm.NFD.String(s))
	if out == "" {
		return s // an accent by itself
	}
	return norm.NFC.String(out)
}
