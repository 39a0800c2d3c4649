package search

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// Facets have the names of the filters that restrict a search to them, except for the year, which
// has two filters.
var facetNames = [segment.Narrows]string{segment.Host: "site", segment.Lang: "lang", segment.Type: "type"}

const facetYear = "year"

// facets counts pages by their values, one part after another, in arrays.
type facets struct {
	out    map[string]Facet
	p      *part
	counts [segment.Narrows][]int64
	days   map[int32]int64
	names  []string // of the fields that are counted
	fields *fieldCounts
	day    int32 // of the page counted last, and how often it occurred in a row
	inARow int64
}

func newFacets(out map[string]Facet, fields []string) *facets {
	return &facets{out: out, days: map[int32]int64{}, names: fields}
}

// part says that the following pages are in another part.
func (f *facets) part(p *part) {
	f.flush()
	f.p = p
	for k := range f.counts {
		f.counts[k] = make([]int64, p.Values())
	}
	f.fields = newFieldCounts(p, f.names)
}

// count counts page i of a part. All pages of one part follow one another.
func (f *facets) count(p *part, i uint32) {
	if p != f.p {
		f.part(p)
	}
	for k := range f.counts {
		f.counts[k][f.p.Narrow(i, k)]++
	}
	f.fields.count(i)
	if d := f.p.Date(i); d == f.day {
		f.inARow++
	} else {
		f.endRow()
		f.day, f.inARow = d, 1
	}
}

func (f *facets) endRow() {
	if f.day != 0 {
		f.days[f.day] += f.inARow
	}
}

func (f *facets) flush() {
	if f.p == nil {
		return
	}
	for k, counts := range f.counts {
		for n, c := range counts {
			if c > 0 {
				f.add(facetNames[k], f.p.Value(uint32(n)), c)
			}
		}
	}
	f.fields.flush(f.add)
}

func (f *facets) add(name, value string, n int64) {
	if value == "" {
		return
	}
	if f.out[name] == nil {
		f.out[name] = Facet{}
	}
	f.out[name][value] += n
}

func (f *facets) done() {
	f.flush()
	f.endRow()
	for d, n := range f.days {
		f.add(facetYear, strconv.Itoa(time.Unix(int64(d)*24*3600, 0).UTC().Year()), n)
	}
	for _, name := range f.names {
		if len(f.out[name]) > fewValues {
			f.out[name] = Facet{}
		}
	}
}

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
