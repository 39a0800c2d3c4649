package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/search/segment"
)

const (
	// MaxWord is the maximum length of a word in bytes. That is a SHA-256 in hex, and longer than
	// any real word; longer runs are data.
	MaxWord = 64
	// maxParts is the maximum number of parts of a name that is also indexed as a whole.
	maxParts = 12
)

// Token is one word of a text, with its position.
type Token struct {
	Word       []byte // in lower case; valid until emit returns
	Start, End int    // bytes of the text
	// A name that consists of words (pg_stat_activity, os.path.join, C++) is also emitted as a
	// whole, before its parts. It has no position of its own: the part that follows has the same.
	Whole bool
}

// Tokenizer divides text into words. The zero value is ready to use. It must not be used
// concurrently.
type Tokenizer struct {
	terms   terms
	lowered [128]byte
	slots   []lowSlot
	parts   [maxParts]span
}

type span struct {
	start, end int
	dotted     bool // joined to the part before by a dot or by colons
	humps      bool
}

// lowSlot caches the lower-case form of a word with letters beyond ASCII.
type lowSlot struct {
	word, low       [30]byte
	wordLen, lowLen uint8
}

// Classes of bytes: 0 separates words, letters and digits form them, others must be decoded.
const (
	classSep = iota
	classLower
	classUpper
	classDigit
	classMulti
	classSign // separates words, and may have a meaning beside one
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
	for _, s := range []byte("<>=!@#%^&|*+-~:?/._") {
		c[s] = classSign
	}
	return c
}()

// Tokens calls emit for each word of text in order, until emit returns false.
func (z *Tokenizer) Tokens(text []byte, emit func(Token) bool) {
	for i := 0; i < len(text); {
		if class[text[i]] == classSep {
			i++
			continue
		}
		next, ok := z.step(text, i, emit)
		if !ok {
			return
		}
		i = next
	}
}

// step emits the word that begins at text[i], or the words if it is a name, and returns where they
// end. The character there is not one that only separates words.
//
// name defines what a word is. Nearly all words are plain: ASCII letters and digits to which
// nothing is joined. They need no more than plain and plainEnd.
func (z *Tokenizer) step(text []byte, i int, emit func(Token) bool) (next int, ok bool) {
	if c := class[text[i]]; c == classSign || c == classMulti {
		return z.special(text, i, emit)
	}
	word, end := z.plain(text, i)
	if word == nil || !plainEnd(text, i, end) {
		return z.name(text, i, i, emit)
	}
	return end, emit(Token{Word: word, Start: i, End: end})
}

// plain reads ASCII letters and digits from text[i] on, of which only the first, or only the first
// ones, are capitals: otherwise it may be a name such as getElementById. word is nil if it is one,
// or is longer than MaxWord.
func (z *Tokenizer) plain(text []byte, i int) (word []byte, end int) {
	first := text[i]
	for end = i + 1; end < len(text) && small[text[end]]; end++ {
		if end > i+MaxWord {
			return nil, 0
		}
	}
	switch {
	case end < len(text) && class[text[end]] == classUpper:
		return z.capitals(text, i)
	case end-i > MaxWord:
		return nil, 0
	case class[first] != classUpper:
		return text[i:end], end
	}
	copy(z.lowered[:], text[i:end])
	z.lowered[0] = first | capitalBit
	return z.lowered[:end-i], end
}

// capitalBit is the bit that a letter has in lower case only, and that digits have.
const capitalBit = 0x20

// small are the letters and digits that are their own lower-case form.
var small = func() (s [256]bool) {
	for c := range s {
		s[c] = class[c] == classLower || class[c] == classDigit
	}
	return s
}()

// capitals is plain for words with capitals beside the first letter.
func (z *Tokenizer) capitals(text []byte, i int) (word []byte, end int) {
	after := false // a small letter or a digit
	for end = i; end < len(text) && end-i <= MaxWord; end++ {
		c := text[end]
		switch class[c] {
		case classLower, classDigit:
			after = true
		case classUpper:
			if after {
				return nil, 0
			}
			c |= capitalBit
		default:
			return z.lowered[:end-i], end
		}
		z.lowered[end-i] = c
	}
	if end-i > MaxWord {
		return nil, 0
	}
	return z.lowered[:end-i], end
}

// special reads signs, or a word that begins with a character beyond ASCII, and returns where it
// ends. A word directly after signs that do not belong to it is left for the next step.
func (z *Tokenizer) special(text []byte, i int, emit func(Token) bool) (next int, ok bool) {
	if class[text[i]] == classMulti {
		return z.name(text, i, i, emit)
	}
	end := i + 1
	for end < len(text) && class[text[end]] == classSign {
		end++
	}
	if !free(text, i) {
		return end, true
	}
	signs := text[i:end]
	if end < len(text) && class[text[end]] != classSep {
		// A word follows: `-Wall`, `.htaccess`, `__init__`; or a joiner after spaces.
		if isPrefix(signs) {
			return z.name(text, i, end, emit)
		}
		return end, true
	}
	if isOperator(signs) {
		return end, emit(Token{Word: signs, Start: i, End: end, Whole: true})
	}
	return end, true
}

// plainEnd reports whether what follows a word of ASCII letters and digits, text[start:end], cannot
// belong to it. If that takes more than a look at two characters, it returns false.
func plainEnd(text []byte, start, end int) bool {
	if end == len(text) {
		return true
	}
	c, next := text[end], uint8(classSep)
	switch class[c] {
	case classSep:
		return true
	case classMulti:
		return false
	}
	if end+1 < len(text) {
		next = class[text[end+1]]
	}
	switch next {
	case classSep: // the sign ends a sentence, usually
		return c != '_' && c != '+' && c != '#' && (end-start != len(operatorWord) || !bytes.Equal(text[start:end], operatorWord))
	case classSign:
		return false
	}
	return c != '_' && c != '.' // the signs that join words; `::` has two
}

var operatorWord = []byte("operator")

// free reports whether the characters directly before text[i] cannot belong to it.
func free(text []byte, i int) bool {
	return i == 0 || class[text[i-1]] == classSep && text[i-1] != ')' && text[i-1] != ']'
}

// isPrefix reports whether signs belong to the word after them.
func isPrefix(signs []byte) bool {
	switch string(signs) {
	case "-", "--", ".", "_", "__", "@", "#":
		return true
	}
	return false
}

// isOperator distinguishes signs that are searched by themselves from rulers and ornaments.
func isOperator(signs []byte) bool {
	if len(signs) < 2 || len(signs) > 4 {
		return false
	}
	for _, c := range signs {
		if c != signs[0] {
			return string(signs) != "..." && signs[0] != '.' && signs[len(signs)-1] != '.'
		}
	}
	switch string(signs) {
	case "<<", ">>", "&&", "||", "==", "**", "//", "@@", "!!", "::", "++", "##":
		return true
	}
	return false
}

// name emits the word that begins at text[i], with the words joined to it, and returns where it
// ends. from is where it begins with the signs before it.
func (z *Tokenizer) name(text []byte, from, i int, emit func(Token) bool) (next int, ok bool) {
	n, dots := 0, 0
	start := i
	for {
		end, humps := wordEnd(text, i)
		if end == i { // a letter that begins no word of this kind
			if n > 0 {
				break
			}
			return z.other(text, i, emit)
		}
		if n == maxParts {
			n, dots, start, from = 0, 0, i, i // too long for a name: another begins here
		}
		z.parts[n] = span{i, end, n > 0 && text[i-1] != '_', humps}
		if z.parts[n].dotted {
			dots++
		}
		n++
		i = end
		j := joiner(text, i)
		if j == i || n == maxParts {
			if n == maxParts && j > i {
				if !z.emitName(text, from, start, i, n, dots, emit) {
					return i, false
				}
				n, dots, start, from = 0, 0, j, j
				i = j
				continue
			}
			break
		}
		i = j
	}
	end := z.suffix(text, from, start, i)
	return end, z.emitName(text, from, start, end, n, dots, emit)
}

// emitName emits the parts of a name, and before them the name and names within it.
func (z *Tokenizer) emitName(text []byte, from, start, end, n, dots int, emit func(Token) bool) bool {
	last := z.parts[n-1].end
	if (n > 1 || from < start || last < end) && !z.whole(text, from, end, emit) {
		return false
	}
	for k := 0; k < n; k++ {
		p := z.parts[k]
		// os.path_join: path_join is a name within a name
		if (k == 0 || p.dotted) && (dots > 0 || from < start || last < end) {
			m := k + 1
			for m < n && !z.parts[m].dotted {
				m++
			}
			if m > k+1 && !z.whole(text, p.start, z.parts[m-1].end, emit) {
				return false
			}
		}
		if !z.part(text, p, emit) {
			return false
		}
	}
	return true
}

// part emits a word, and the words that it is composed of.
func (z *Tokenizer) part(text []byte, p span, emit func(Token) bool) bool {
	if p.end-p.start > MaxWord {
		return true
	}
	word := text[p.start:p.end]
	var humps [][2]int
	if p.humps {
		humps = humpsOf(word)
	}
	if !emit(Token{Word: z.lower(word), Start: p.start, End: p.end, Whole: len(humps) > 0}) {
		return false
	}
	for _, h := range humps {
		if !emit(Token{Word: z.lower(word[h[0]:h[1]]), Start: p.start + h[0], End: p.start + h[1]}) {
			return false
		}
	}
	return true
}

func (z *Tokenizer) whole(text []byte, start, end int, emit func(Token) bool) bool {
	if end-start > MaxWord {
		return true
	}
	return emit(Token{Word: z.lower(text[start:end]), Start: start, End: end, Whole: true})
}

// joiner returns where the word begins that text[i:] joins to the one before; i if there is none.
func joiner(text []byte, i int) int {
	j := i
	switch {
	case i >= len(text):
	case text[i] == '_':
		for j < len(text) && text[j] == '_' {
			j++
		}
	case text[i] == '.':
		j++
	case text[i] == ':' && i+1 < len(text) && text[i+1] == ':':
		j += 2
	}
	if j == i || j >= len(text) {
		return i
	}
	if c := class[text[j]]; c == classSep || c == classSign {
		return i
	}
	if class[text[j]] == classMulti {
		if r, _ := utf8.DecodeRune(text[j:]); Unspaced(r) || !WordRune(r) {
			return i
		}
	}
	return j
}

// suffix returns where a name ends with the signs that belong to it: `C++`, `C#`, `operator<<`,
// `__init__`.
func (z *Tokenizer) suffix(text []byte, from, start, i int) int {
	end := i
	for end < len(text) && end-i < 4 && class[text[end]] == classSign {
		end++
	}
	if end == i || end < len(text) && class[text[end]] != classSep {
		return i
	}
	switch s := string(text[i:end]); s {
	case "++", "#":
		return end
	case "__", "_":
		if from < start {
			return end
		}
	case ".", "?", "!", ":", "-", "/", "..", "...":
	default:
		if bytes.Equal(text[start:i], operatorWord) {
			return end
		}
	}
	for _, c := range text[i:end] { // `C++.` at the end of a sentence
		if c != '+' && c != '#' {
			if n := end - 1; n > i && c == text[n] && (string(text[i:n]) == "++" || string(text[i:n]) == "#") {
				return n
			}
			break
		}
	}
	return i
}

// wordEnd returns where the letters and digits that begin at i end, and whether a capital follows a
// small letter among them.
func wordEnd(text []byte, i int) (end int, humps bool) {
	for prev := uint8(classSep); i < len(text); {
		c, n := class[text[i]], 1
		if c == classMulti {
			var r rune
			if r, n = utf8.DecodeRune(text[i:]); Unspaced(r) || !WordRune(r) {
				break
			}
		} else if c == classSep || c == classSign {
			break
		}
		humps = humps || c == classUpper && prev == classLower
		prev = c
		i += n
	}
	return i, humps
}

// other emits text that begins no word of letters: pairs of a script without spaces, or nothing.
func (z *Tokenizer) other(text []byte, i int, emit func(Token) bool) (next int, ok bool) {
	r, n := utf8.DecodeRune(text[i:])
	if !Unspaced(r) {
		return i + n, true
	}
	end := i
	for end < len(text) {
		r, n := utf8.DecodeRune(text[end:])
		if !Unspaced(r) {
			break
		}
		end += n
	}
	return end, z.pairs(text, i, end, emit)
}

// pairs emits overlapping pairs of letters, so that any word of two or more letters is a phrase of
// pairs. A single letter is emitted alone.
func (z *Tokenizer) pairs(text []byte, start, end int, emit func(Token) bool) bool {
	_, n := utf8.DecodeRune(text[start:end])
	if start+n == end {
		return emit(Token{Word: z.lower(text[start:end]), Start: start, End: end})
	}
	for i := start; i+n < end; {
		_, m := utf8.DecodeRune(text[i+n : end])
		if !emit(Token{Word: z.lower(text[i : i+n+m]), Start: i, End: i + n + m}) {
			return false
		}
		i, n = i+n, m
	}
	return true
}

// lower returns a word in lower case, with compatibility forms decomposed. It is valid until the
// next call.
func (z *Tokenizer) lower(word []byte) []byte {
	low := z.lowered[:0]
	for _, c := range word {
		if c >= 0x80 {
			return z.lowerMulti(word)
		}
		if class[c] == classUpper {
			c |= 0x20
		}
		if len(low) < len(z.lowered) {
			low = append(low, c)
		}
	}
	return low
}

func (z *Tokenizer) lowerMulti(word []byte) []byte {
	if z.slots == nil {
		z.slots = make([]lowSlot, 1<<12)
	}
	hash := segment.HashOf(word)
	s := &z.slots[(hash^hash>>15)&uint32(len(z.slots)-1)]
	if string(s.word[:s.wordLen]) == string(word) {
		return s.low[:s.lowLen]
	}
	low := []byte(Lower(string(word)))
	if len(word) <= len(s.word) && len(low) <= len(s.low) {
		s.wordLen, s.lowLen = uint8(copy(s.word[:], word)), uint8(copy(s.low[:], low))
	}
	return low
}

// WordRune reports whether r is a character of words.
func WordRune(r rune) bool {
	// dashes, quotes and dots: by far the most frequent signs beyond ASCII
	if r >= 0x2000 && r <= 0x206F {
		return false
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// Unspaced reports whether r belongs to a script that writes words without spaces between them.
func Unspaced(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	if r == '\u30FC' || r == '\uFF70' { // the long-vowel sign, in katakana
		return true
	}
	return WordRune(r) && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao,
		unicode.Khmer, unicode.Myanmar)
}

// humpsOf divides an identifier such as getElementById or ThreadPoolExecutor at its capitals. Two
// joined words are often a name (GitHub, JavaScript) whose parts nobody searches, so those stay
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
		if c == classMulti {
			return nil
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
