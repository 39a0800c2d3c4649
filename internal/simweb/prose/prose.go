// Package prose has the words of the simulated web: English-looking text, the same for the same
// seed.
package prose

import "strings"

// The vocabulary: common enough that a language detector recognises English and a stemmer has work
// to do.
var (
	adjectives = strings.Fields(`quiet copper narrow ancient bright careful distant early faithful gentle hidden idle jolly
		keen lively modest northern open patient quick restless silver tender useful vivid wooden young broken coastal dusty
		eager foggy golden humble inner joint kindly local mellow noble orderly plain rough simple tidy urban weary`)
	nouns = strings.Fields(`harbor lantern garden river bridge market kitchen library mountain meadow workshop letter station
		orchard village teacher sailor baker painter window ladder engine compass map basket candle forest island journey
		kettle lesson mirror needle ocean pocket quarry road school table umbrella valley wagon yard archive bell castle
		doctor evening festival grain hill ink jacket keeper lake morning notebook owner piano question recipe season tower`)
	verbs = strings.Fields(`follows carries watches repairs remembers crosses opens measures paints gathers describes visits
		guards collects borrows answers builds chooses draws enters finds greets helps imagines joins keeps learns mends
		names offers plants reaches shares teaches understands wins`)
	closings = []string{
		"before the rain begins", "when the evening comes", "without any hurry", "as it has done for years",
		"and nobody asks why", "at the end of the season", "on the first day of the week", "with great care",
		"because there is time enough", "until the work is finished", "in the shade of the old wall", "just as we had hoped",
	}
	openings = []string{"The", "Every", "Our", "That", "Another", "This", "Her", "His", "One", "Some"}
)

// Rand is splitmix64: a stream of numbers, or with Mix a hash of a few numbers. It belongs to one
// goroutine.
type Rand uint64

// Next returns the next number.
func (r *Rand) Next() uint64 {
	*r += 0x9e3779b97f4a7c15
	z := uint64(*r)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Intn returns a number below n.
func (r *Rand) Intn(n int) int { return int(r.Next() >> 1 % uint64(n)) }

// Adjective returns an adjective of the vocabulary.
func (r *Rand) Adjective() string { return r.word(adjectives) }

// Noun returns a noun of the vocabulary.
func (r *Rand) Noun() string { return r.word(nouns) }

func (r *Rand) word(list []string) string { return list[r.Intn(len(list))] }

// Mix seeds a stream with a few numbers, so that anything can be drawn again without the draws
// before it.
func Mix(parts ...uint64) Rand {
	var r Rand
	for _, p := range parts {
		r ^= Rand(p)
		r = Rand(r.Next())
	}
	return r
}

// Pool is how many passages there are.
const Pool = 512 // small enough for a processor's second-level cache

// Passages makes the pool from which all pages of a web are assembled, two or three sentences each:
// copying is much cheaper than composing.
func Passages(seed int64) []string {
	r := Mix(uint64(seed), 'w')
	pool := make([]string, Pool)
	for i := range pool {
		var b strings.Builder
		for range 2 + i%2 {
			sentence(&b, &r)
		}
		pool[i] = b.String()
	}
	return pool
}

func sentence(b *strings.Builder, r *Rand) {
	b.WriteString(r.word(openings))
	for _, part := range []string{r.word(adjectives), r.word(nouns), r.word(verbs), "the", r.word(adjectives), r.word(nouns)} {
		b.WriteByte(' ')
		b.WriteString(part)
	}
	if r.Intn(2) == 0 {
		b.WriteString(" and the ")
		b.WriteString(r.word(nouns))
	}
	b.WriteByte(' ')
	b.WriteString(r.word(closings))
	b.WriteString(". ")
}

// RareWord makes a word that occurs nowhere else: it can be pronounced, but is not English.
func RareWord(seed int64, host int) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	r := Mix(uint64(seed), 'r', uint64(host))
	w := []byte("qu")
	for range 3 {
		w = append(w, vowels[r.Intn(len(vowels))], consonants[r.Intn(len(consonants))])
	}
	// the host spelled in consonants and a, so that no two words are equal
	for n := host; ; n /= len(consonants) {
		w = append(w, 'a', consonants[n%len(consonants)])
		if n < len(consonants) {
			return string(w)
		}
	}
}

// FirstWords cuts a passage that is longer than left after a word, but keeps some words in any
// case.
func FirstWords(passage string, left int) string {
	if len(passage) <= left {
		return passage
	}
	i := max(left, 40)
	for i < len(passage) && passage[i] != ' ' {
		i++
	}
	return passage[:i]
}
