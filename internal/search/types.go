package search

import (
	"cmp"
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// Types counts the pages of the index by their kind, with the words of --types. It reads four bytes
// of each page, so it should not be called very often.
func (x *Index) Types() (counts map[string]int64, err error) {
	return x.valueCounts(segment.Type, typeWord)
}

// Langs counts the pages of the index by language, as Types does by type.
func (x *Index) Langs() (counts map[string]int64, err error) {
	return x.valueCounts(segment.Lang, func(lang string) string { return cmp.Or(lang, crawl.PageLangNone) })
}

// valueCounts counts the pages of the index by one of their values, under the names that name
// returns.
func (x *Index) valueCounts(which int, name func(string) string) (counts map[string]int64, err error) {
	defer x.edge(&err)()
	counts = map[string]int64{}
	err = x.view(func(v *view) error {
		for _, p := range v.parts {
			n := make([]int64, p.Values())
			for i := range p.Len() {
				if !p.deleted(i) {
					n[p.Narrow(i, which)]++
				}
			}
			for value, pages := range n {
				if pages > 0 {
					counts[name(p.Value(uint32(value)))] += pages
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return counts, nil
}

func typeWord(mediaType string) string {
	if names := crawl.TypeOf(mediaType).Names(); len(names) > 0 {
		return names[0]
	}
	return crawl.PageTypeOther
}
