package search

import (
	"maps"
	"slices"
)

// queryKeyer makes the keys of the words of queries. What language a query is in is not known: a
// word has a key in each.
type queryKeyer struct {
	*keyer
	langs []string
}

func newQueryKeyer() *queryKeyer {
	return &queryKeyer{&keyer{env: newKeyer().env, slots: make([]keySlot, 1)}, slices.Sorted(maps.Keys(stemmers))}
}

func (k *queryKeyer) plain(word string) string { return plain(word) }

// keysOf are the keys of a word in all languages.
func (k *queryKeyer) keysOf(word string) (keys [][]byte) {
	for _, lang := range k.langs {
		if key := k.stem(nil, lang, word); len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}
