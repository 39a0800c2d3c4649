package analysis

import (
	"strings"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// Keyer computes keys of words. A key is common to words with the same meaning for a search: the
// stem in a language, or the spelling without accents. Keys contain the language, because words of
// two languages may have the same stem. A Keyer must not be used concurrently.
type Keyer struct {
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

// NewKeyer makes a Keyer for many words: its cache takes a megabyte.
func NewKeyer() *Keyer { return &Keyer{env: snowballstem.NewEnv(""), slots: make([]keySlot, 1<<14)} }

// Stem appends the key of a word in a language. It appends nothing when the language has no stemmer
// or the word has digits or other signs.
func (k *Keyer) Stem(dst []byte, lang, word string) []byte {
	stem := stemmers[lang]
	if stem == nil || !IsAlphabetic(word) {
		return dst
	}
	h := segment.HashOf([]byte(word)) ^ uint32(lang[0])<<7 ^ uint32(lang[1])
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
	s = Plain(s)
	if lang == "de" {
		s = umlauts.Replace(s)
	}
	if len(word) <= len(slot.word) && len(s) <= len(slot.stem) {
		slot.wordLen, slot.stemLen = uint8(copy(slot.word[:], word)), uint8(copy(slot.stem[:], s))
		copy(slot.lang[:], lang)
	}
	return append(dst, s...)
}

// Accents appends the key of a word without its accents.
func (k *Keyer) Accents(dst []byte, word string) []byte {
	return append(append(dst, ':'), Plain(word)...)
}

// QueryKeyer computes the keys of the words of a query. The language of a query is unknown, so a
// word has a key in each. It must not be used concurrently.
type QueryKeyer struct {
	Keyer
	langs []string
}

// NewQueryKeyer makes a QueryKeyer for these languages.
func NewQueryKeyer(langs []string) *QueryKeyer {
	return &QueryKeyer{Keyer{env: snowballstem.NewEnv(""), slots: make([]keySlot, 1)}, langs}
}

// Stems returns the keys of a word in all languages.
func (k *QueryKeyer) Stems(word string) (keys [][]byte) {
	for _, lang := range k.langs {
		if key := k.Stem(nil, lang, word); len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

// StemPrefix returns the beginning that the keys of all stems of a language have in common.
func StemPrefix(lang string) []byte { return []byte(lang + ":") }

// umlauts that are written with an e, as in Spuelmaschine. Both spellings lose the e.
var umlauts = strings.NewReplacer("ae", "a", "oe", "o", "ue", "u", "ß", "ss")

// IsAlphabetic reports whether a word in lower case has only letters.
func IsAlphabetic(word string) bool {
	for i := range len(word) {
		if c := class[word[i]]; c != classLower && c != classMulti {
			return false
		}
	}
	return true
}

// Lower converts a text to lower case, with compatibility forms (full-width letters, ligatures)
// decomposed.
func Lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}

// Plain removes the accents that people omit when they type.
func Plain(s string) string {
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
