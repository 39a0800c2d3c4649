package search

import (
	"strconv"
	"time"

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
