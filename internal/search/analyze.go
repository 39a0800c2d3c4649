package search

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"golang.org/x/text/unicode/norm"
)

const (
	// maxWord is the longest word indexed, in bytes: a SHA-256 in hex, and longer than any word. Longer runs are data.
	maxWord = 64
	// maxTerms bounds the words of one text; 200,000 is a book.
	maxTerms = 200_000
)

// token is one term of a text and where it was found.
type token struct {
	term       string
	start, end int  // bytes of the text
	part       bool // a part of an identifier whose whole came before
}

// analyzer turns text into terms. It is for one goroutine.
type analyzer struct {
	slots int
	langs map[string]*words
}

// words remembers the terms of one language's words: a page has a few hundred different ones and the next page the
// same. Slots are overwritten when two words meet in one, so memory is bounded and nothing ever needs clearing.
type words struct {
	stem  func(*snowballstem.Env) bool // nil: as it is
	env   *snowballstem.Env
	seed  maphash.Seed
	slots []slot
}

type slot struct{ word, term string }

// newAnalyzer makes an analyzer that remembers about 2^bits words per language.
func newAnalyzer(bits int) *analyzer {
	return &analyzer{slots: 1 << bits, langs: make(map[string]*words)}
}

func (a *analyzer) words(lang string) *words {
	if stemmers[lang] == nil {
		lang = "" // languages without a stemmer share one table
	}
	w := a.langs[lang]
	if w == nil {
		w = &words{stem: stemmers[lang], env: snowballstem.NewEnv(""), seed: maphash.MakeSeed(), slots: make([]slot, a.slots)}
		a.langs[lang] = w
	}
	return w
}

// appendTerms appends the terms of text, each followed by a space, as FTS5 takes them, and returns how many they are.
func (a *analyzer) appendTerms(dst []byte, lang string, text []byte) (terms []byte, n int64) {
	a.tokens(lang, text, func(t token) bool {
		dst = append(dst, t.term...)
		dst = append(dst, ' ')
		n++
		return n < maxTerms
	})
	return dst, n
}

// byte classes: 0 separates words, letters and digits make them, others need decoding.
const (
	classSep = iota
	classLower
	classUpper
	classDigit
	classMulti
)

var class = func() (c [256]uint8) {
	for i := range c {
		switch {
		case i >= 'a' && i <= 'z':
			c[i] = classLower
		case i >= 'A' && i <= 'Z':
			c[i] = classUpper
		case i >= '0' && i <= '9':
			c[i] = classDigit
		case i >= 0x80:
			c[i] = classMulti
		}
	}
	return c
}()

// tokens calls emit for each term of text in order, until it returns false.
func (a *analyzer) tokens(lang string, text []byte, emit func(token) bool) {
	w := a.words(lang)
	for i := 0; i < len(text); {
		c := class[text[i]]
		if c == classSep {
			i++
			continue
		}
		start, humps, digits, simple := i, false, false, true
		for prev := uint8(classSep); i < len(text); {
			c := class[text[i]]
			if c == classMulti {
				r, n := utf8.DecodeRune(text[i:])
				if unspaced(r) || !wordRune(r) {
					break
				}
				simple = false
				i += n
			} else if c == classSep {
				break
			} else {
				humps = humps || c == classUpper && prev == classLower
				digits = digits || c == classDigit
				i++
			}
			prev = c
		}
		if i == start { // a letter that begins no word of this kind
			r, n := utf8.DecodeRune(text[i:])
			if !unspaced(r) {
				i += n
				continue
			}
			end := i
			for end < len(text) {
				r, n := utf8.DecodeRune(text[end:])
				if !unspaced(r) {
					break
				}
				end += n
			}
			if !pairs(text, i, end, emit) {
				return
			}
			i = end
			continue
		}
		if i-start > maxWord {
			continue
		}
		word := text[start:i]
		if !emit(token{term: w.term(word, !digits), start: start, end: i}) {
			return
		}
		if humps && simple {
			for _, p := range humpsOf(word) {
				if !emit(token{w.term(word[p[0]:p[1]], true), start + p[0], start + p[1], true}) {
					return
				}
			}
		}
	}
}

// term returns what a word is indexed as.
func (w *words) term(word []byte, stem bool) string {
	if !stem { // numbers, versions, hashes: many, and each seldom
		return plain(lower(string(word)))
	}
	s := &w.slots[maphash.Bytes(w.seed, word)&uint64(len(w.slots)-1)]
	if s.word == string(word) {
		return s.term
	}
	raw := string(word)
	t := lower(raw)
	if w.stem != nil {
		w.env.SetCurrent(t)
		w.stem(w.env)
		if stemmed := w.env.Current(); stemmed != "" {
			t = stemmed
		}
	}
	if t = plain(t); t == raw {
		t = raw // one string instead of two
	}
	*s = slot{raw, t}
	return t
}

// lower is ToLower after the compatibility forms (full-width letters, ligatures) are written out.
func lower(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return strings.ToLower(norm.NFKC.String(s))
		}
	}
	return strings.ToLower(s)
}

// plain takes off the accents that people leave out when they type, and drops what FTS5 would take for the end of a
// word: nothing but letters and digits, and whatever lies beyond ASCII, may reach it.
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

func wordRune(r rune) bool {
	if r >= 0x2000 && r <= 0x206F { // dashes, quotes and dots: the most frequent signs beyond ASCII by far
		return false
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unspaced reports whether r belongs to a script that writes words without spaces between them.
func unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	if r == '\u30FC' || r == '\uFF70' { // the long-vowel sign, in katakana
		return true
	}
	return wordRune(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// pairs emits overlapping pairs of letters: any word of two letters or more is then a phrase of pairs. A letter alone
// is emitted alone.
func pairs(text []byte, start, end int, emit func(token) bool) bool {
	_, n := utf8.DecodeRune(text[start:end])
	if start+n == end {
		return emit(token{term: lower(string(text[start:end])), start: start, end: end})
	}
	for i := start; i+n < end; {
		_, m := utf8.DecodeRune(text[i+n : end])
		if !emit(token{term: lower(string(text[i : i+n+m])), start: i, end: i + n + m}) {
			return false
		}
		i, n = i+n, m
	}
	return true
}

// humpsOf cuts an identifier such as getElementById or ThreadPoolExecutor at its capitals. Two words joined are often a
// name of their own (GitHub, JavaScript) whose parts nobody looks for, so those stay whole unless they begin in lower
// case; what has many capitals is data.
func humpsOf(word []byte) [][2]int {
	var parts [][2]int
	from := 0
	for i := 1; i < len(word); i++ {
		c, prev := class[word[i]], class[word[i-1]]
		next := uint8(classSep)
		if i+1 < len(word) {
			next = class[word[i+1]]
		}
		if c == classUpper && (prev != classUpper || next == classLower) {
			parts = append(parts, [2]int{from, i})
			from = i
		}
	}
	parts = append(parts, [2]int{from, len(word)})
	first := parts[0]
	if len(parts) < 2 || len(parts) > 8 || class[word[0]] == classDigit || first[1]-first[0] < 2 || len(parts) == 2 && class[word[0]] == classUpper {
		return nil
	}
	return parts
}
