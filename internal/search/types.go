package search

import (
	"fmt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// otherType is what Types calls pages of a media type that this version does not keep.
const otherType = "other"

// Types counts the pages of the index by what they are: by the words of --types. It looks at four
// bytes of each page, so it is not for every moment.
func (x *Index) Types() (counts map[string]int64, err error) {
	defer x.edge(&err)()
	counts = map[string]int64{}
	err = x.view(func(v *view) error {
		for _, p := range v.parts {
			n := make([]int64, p.Values())
			for i := range p.Len() {
				if !p.deleted(i) {
					n[p.Narrow(i, segment.Type)]++
				}
			}
			for value, pages := range n {
				if pages > 0 {
					counts[typeWord(p.Value(uint32(value)))] += pages
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
	return otherType
}
