package search

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

// A key is common to words with the same meaning for a search: the stem in a language, or the
// spelling without accents. Keys contain the language, because words of two languages may have the
// same stem.

// keyer computes keys of words. It must not be used concurrently.
type keyer struct {
	env   *snowballstem.Env
	slots []keySlot // a cache of words; most words of a page are on the next page too
}

// keySlot has a word and its stem in one cache line. Another word with the same slot replaces it,
// so memory is limited and the cache is never cleared.
type keySlot struct {
	word, stem       [30]byte
	wordLen, stemLen uint8
	lang             [2]byte
}

func newKeyer() *keyer { return &keyer{env: snowballstem.NewEnv(""), slots: make([]keySlot, 1<<14)} }

// stem appends the key of a word in a language. It appends nothing when the language has no stemmer
// or the word has digits or other signs.
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

// umlauts that are written with an e, as in Spuelmaschine. Both spellings lose the e.
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

// lower converts a text to lower case, with compatibility forms (full-width letters, ligatures)
// decomposed.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}

// plain removes the accents that people omit when they type.
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
		return s // the word is only an accent
	}
	return norm.NFC.String(out)
}
