package search

import (
	"unicode"
	"unicode/utf8"
)

const (
	// maxWord is the longest word indexed, in bytes. That is a SHA-256 in hex, and longer than any
	// word; longer runs are data.
	maxWord = 64
	// maxTerms bounds the words of one text; 200,000 is a book.
	maxTerms = 200_000
)

// token is one term of a text and where it was found.
type token struct {
	term       []byte // valid until emit returns
	start, end int    // bytes of the text
	part       bool   // a part of an identifier; the whole came before
}

// analyzer turns text into terms. It is for one goroutine.
type analyzer struct {
	slots int
	langs map[string]*words
}

// newAnalyzer makes an analyzer that remembers about 2^bits words per language.
func newAnalyzer(bits int) *analyzer {
	return &analyzer{slots: 1 << bits, langs: make(map[string]*words)}
}

// appendTerms appends the terms of text, each followed by a space, as FTS5 takes them, and
// returns how many they are.
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

// tokens calls emit for each term of text in order, until emit returns false.
func (a *analyzer) tokens(lang string, text []byte, emit func(token) bool) {
	w := a.words(lang)
	for i := 0; i < len(text); {
		c := class[text[i]]
		if c == classSep {
			i++
			continue
		}
		start, humps, stem, ascii, hash := i, false, true, true, uint32(hashStart)
		for prev := uint8(classSep); i < len(text); {
			c, n := class[text[i]], 1
			if c == classMulti {
				var r rune
				if r, n = utf8.DecodeRune(text[i:]); unspaced(r) || !wordRune(r) {
					break
				}
				ascii = false
			} else if c == classSep {
				break
			} else if c == classDigit {
				stem = false // numbers, versions, hashes
			}
			humps = humps || c == classUpper && prev == classLower
			for ; n > 0; n-- {
				hash = (hash ^ uint32(text[i])) * hashStep
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
		if !emit(token{term: w.term(word, hash, stem), start: start, end: i}) {
			return
		}
		if humps && ascii {
			for _, p := range humpsOf(word) {
				part := word[p[0]:p[1]]
				if !emit(token{w.term(part, hashOf(part), true), start + p[0], start + p[1], true}) {
					return
				}
			}
		}
	}
}

func wordRune(r rune) bool {
	// dashes, quotes and dots: the most frequent signs beyond ASCII by far
	if r >= 0x2000 && r <= 0x206F {
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

// pairs emits overlapping pairs of letters, so that any word of two letters or more is a phrase of
// pairs. A single letter is emitted alone.
func pairs(text []byte, start, end int, emit func(token) bool) bool {
	_, n := utf8.DecodeRune(text[start:end])
	if start+n == end {
		return emit(token{term: []byte(lower(string(text[start:end]))), start: start, end: end})
	}
	for i := start; i+n < end; {
		_, m := utf8.DecodeRune(text[i+n : end])
		if !emit(token{term: []byte(lower(string(text[i : i+n+m]))), start: i, end: i + n + m}) {
			return false
		}
		i, n = i+n, m
	}
	return true
}

// humpsOf cuts an identifier such as getElementById or ThreadPoolExecutor at its capitals. Two
// joined words are often a name (GitHub, JavaScript) whose parts nobody looks for, so those stay
// whole unless they begin in lower case. A word with many capitals is data and stays whole as well.
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
