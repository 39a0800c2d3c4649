package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/search/analysis"
)

// minSpelled is the minimum length in bytes of a word that is replaced by another spelling.
const minSpelled = 4

// Similar are the words of a shard that are spelled like another.
type Similar struct {
	Word  string    `json:"word"`
	Found []Spelled `json:"found"`
}

// Spelled is a word, and the number of letters in which it differs; 0 means that it begins with the
// word.
type Spelled struct {
	Word string `json:"word"`
	Off  int    `json:"off"`
	// Same says that it has the same letters: two are swapped, or one is doubled.
	Same  bool   `json:"same,omitempty"`
	Pages uint64 `json:"pages"`
}

// maxSimilar is the maximum number of words that a shard returns for each.
const maxSimilar = 64

// Similar finds words that are spelled like others: that differ in one letter, or in two if they
// are longer, and have the same first letter.
func (x *Index) Similar(ctx context.Context, words []string) (all []Similar, err error) {
	defer x.edge(&err)()
	if x.empty() {
		return nil, x.broken
	}
	err = x.view(func(v *view) error {
		for _, w := range words {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(w) > analysis.MaxWord || len(w) < minSpelled {
				continue
			}
			all = append(all, Similar{w, v.similar(w)})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return all, nil
}

func (v *view) similar(word string) []Spelled {
	most := mayDiffer(word)
	want := spelling(word)
	letters := lettersOf(want)
	found := map[string]Spelled{}
	var d distance
	var have []rune
	for _, p := range v.parts {
		for w, unread := range p.Beginning([]byte(word[:firstLetter(word)])) {
			off, same := 0, false
			if !bytes.HasPrefix(w, []byte(word)) {
				if len(w) > len(word)+2*most || len(w)+2*most < len(word) {
					continue
				}
				var ok bool
				if have, ok = spelled(have, w); !ok || !mayBeNear(letters, lettersOf(have), most) {
					continue
				}
				if off = d.between(want, have, most); off > most {
					continue
				}
				same = off == 1 && sameLetters(want, have)
			}
			f, e := found[string(w)], unread.Entry()
			found[string(w)] = Spelled{string(w), off, same, f.Pages + p.having(&e)}
		}
	}
	var all []Spelled
	for _, f := range found {
		if f.Pages > 0 {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, Spelled.compare)
	return all[:min(len(all), maxSimilar)]
}

// spelling is the form of a word in which it is compared with others.
func spelling(word string) []rune {
	return []rune(strings.ReplaceAll(analysis.Plain(word), "ß", "ss"))
}

// spelled is the spelling of a word of the index, in a buffer that is reused; ok is false if it has
// characters other than letters.
func spelled(buffer []rune, word []byte) (s []rune, ok bool) {
	s = buffer[:0]
	for _, c := range word {
		switch {
		case 'a' <= c && c <= 'z':
			s = append(s, rune(c))
		case c >= utf8.RuneSelf:
			return spelling(string(word)), analysis.IsAlphabetic(string(word))
		default:
			return s, false
		}
	}
	return s, true
}

// lettersOf has a bit for each letter of a word; some letters share one.
func lettersOf(word []rune) (set uint64) {
	for _, r := range word {
		set |= 1 << (r & 63)
	}
	return set
}

// mayBeNear reports whether words with these letters may differ in at most `most` letters: each
// different letter adds at most one that the other word does not have. This excludes most words
// without a comparison.
func mayBeNear(a, b uint64, most int) bool {
	return bits.OnesCount64(a&^b) <= most && bits.OnesCount64(b&^a) <= most
}

// sameLetters reports whether two words that differ in one letter have two letters swapped, or a
// letter doubled. These are the most frequent typing errors, whatever word results.
func sameLetters(a, b []rune) bool {
	if len(a) == len(b) {
		a, b = slices.Clone(a), slices.Clone(b)
		slices.Sort(a)
		slices.Sort(b)
		return slices.Equal(a, b)
	}
	return slices.Equal(slices.Compact(slices.Clone(a)), slices.Compact(slices.Clone(b)))
}

func firstLetter(word string) int {
	for i := range word {
		if i > 0 {
			return i
		}
	}
	return len(word)
}

// mayDiffer is the number of letters in which another spelling of a word may differ.
func mayDiffer(word string) int {
	if len(word) < 7 {
		return 1
	}
	return 2
}

func (a Spelled) compare(b Spelled) int {
	same := 0
	if a.Same != b.Same {
		same = 1
		if a.Same {
			same = -1
		}
	}
	return cmp.Or(cmp.Compare(a.Off, b.Off), same, cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Word, b.Word))
}

// addSimilar adds up the results of the shards for each word, nearest first.
func addSimilar(all []Similar) map[string][]Spelled {
	sums, out := map[string]map[string]Spelled{}, map[string][]Spelled{}
	for _, s := range all {
		if sums[s.Word] == nil {
			sums[s.Word] = map[string]Spelled{}
		}
		for _, f := range s.Found {
			f.Pages += sums[s.Word][f.Word].Pages
			sums[s.Word][f.Word] = f
		}
	}
	for w, found := range sums {
		out[w] = slices.SortedFunc(maps.Values(found), Spelled.compare)
	}
	return out
}

// distance counts the letters in which words differ: omitted, inserted, replaced, or two swapped.
type distance struct{ rows [3][]int }

// between is the distance of two words, or any number greater than most when it is greater.
func (d *distance) between(a, b []rune, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most {
		return most + 1
	}
	for i := range d.rows {
		d.rows[i] = slices.Grow(d.rows[i][:0], len(b)+1)[:len(b)+1]
	}
	before, last, row := d.rows[0], d.rows[1], d.rows[2]
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > most {
			return most + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
