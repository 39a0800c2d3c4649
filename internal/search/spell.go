package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
)

// minSpelled is how long a word must be, in bytes, to be taken for another.
const minSpelled = 4

// Similar are the words of a shard that are spelled like one that no page has.
type Similar struct {
	Word  string    `json:"word"`
	Found []Spelled `json:"found"`
}

// Spelled is a word, and by how many letters it differs; 0: it begins with the word.
type Spelled struct {
	Word  string `json:"word"`
	Off   int    `json:"off"`
	Pages uint64 `json:"pages"`
}

// maxSimilar is how many words a shard names for each.
const maxSimilar = 64

// Similar finds words that are spelled like others: that differ by one letter, or by two in longer
// words, the first letter being the same.
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
			if len(w) > maxWord || len(w) < minSpelled {
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
	want := []rune(plain(word))
	found := map[string]Spelled{}
	var d distance
	for _, p := range v.parts {
		for w, e := range p.Beginning([]byte(word[:firstLetter(word)])) {
			off := 0
			if !bytes.HasPrefix(w, []byte(word)) {
				if len(w) > len(word)+2*most || len(w)+2*most < len(word) || !letters(string(w)) {
					continue
				}
				if off = d.between(want, []rune(plain(string(w))), most); off > most {
					continue
				}
			}
			f := found[string(w)]
			found[string(w)] = Spelled{string(w), off, f.Pages + p.having(&e)}
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

func firstLetter(word string) int {
	for i := range word {
		if i > 0 {
			return i
		}
	}
	return len(word)
}

// mayDiffer is by how many letters another spelling of a word may differ.
func mayDiffer(word string) int {
	if len(word) < 7 {
		return 1
	}
	return 2
}

func (a Spelled) compare(b Spelled) int {
	return cmp.Or(cmp.Compare(a.Off, b.Off), cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Word, b.Word))
}

// nearest are the words that each is taken for: the nearest that any page has, of all shards.
func nearest(words []string, all []Similar) map[string][]Form {
	sums := map[string]map[string]Spelled{}
	for _, s := range all {
		if sums[s.Word] == nil {
			sums[s.Word] = map[string]Spelled{}
		}
		for _, f := range s.Found {
			f.Pages += sums[s.Word][f.Word].Pages
			sums[s.Word][f.Word] = f
		}
	}
	best := map[string][]Form{}
	for _, w := range words {
		var found []Spelled
		for _, f := range sums[w] {
			found = append(found, f)
		}
		slices.SortFunc(found, Spelled.compare)
		for i, f := range found {
			if f.Off > found[0].Off || f.Off > 0 && i == 3 || i == maxForms {
				break
			}
			weight := weightBegins
			if f.Off > 0 {
				weight = weightSpelled
			}
			best[w] = append(best[w], Form{f.Word, weight, f.Pages})
		}
	}
	return best
}

// distance counts by how many letters words differ: left out, put in, replaced, or two swapped.
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
