package search

import (
	"maps"
	"slices"

	"github.com/blevesearch/snowballstem"
)

// queryKeyer computes the keys of the words of queries. The language of a query is unknown, so a
// word has a key in each.
type queryKeyer struct {
	*keyer
	langs []string
}

func newQueryKeyer() *queryKeyer {
	return &queryKeyer{&keyer{env: snowballstem.NewEnv(""), slots: make([]keySlot, 1)}, slices.Sorted(maps.Keys(stemmers))}
}

func (k *queryKeyer) plain(word string) string { return plain(word) }

// langsOf are the languages of which any part has keys.
func (k *queryKeyer) langsOf(v *view) (langs []string) {
	for _, lang := range k.langs {
		if slices.ContainsFunc(v.parts, func(p *part) bool { return p.HasKeys([]byte(lang + ":")) }) {
			langs = append(langs, lang)
		}
	}
	return langs
}

// keysOf are the keys of a word in these languages.
func (k *queryKeyer) keysOf(word string) (keys [][]byte) {
	for _, lang := range k.langs {
		if key := k.stem(nil, lang, word); len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}
