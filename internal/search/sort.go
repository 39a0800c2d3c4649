package search

import (
	"cmp"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

// An answer that is sorted by a field has the pages with the lowest values first, or those with the
// highest. Pages with equal values follow one another as in the first stage, and pages without the
// field are last. All of this is the same on any number of shards, so that pages of the answer
// follow one another without gaps.

// sortKey is what a page is sorted by.
type sortKey struct {
	Has    bool    `json:"has,omitempty"` // the page has the field
	Number float64 `json:"number,omitempty"`
	Text   string  `json:"text,omitempty"` // of types without an order of numbers
}

// compareKeys orders two pages.
func compareKeys(s *query.Sort, a, b sortKey) int {
	if a.Has != b.Has {
		if a.Has {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
	if s.Down {
		return -c
	}
	return c
}

// sorter makes the keys of the pages of one part after another.
type sorter struct {
	by   *query.Sort
	p    *part
	name uint32
	some bool
	buf  []uint32
}

// key is the key of page i of a part. If it has several values, the one that comes first counts.
func (s *sorter) key(p *part, i uint32) (key sortKey) {
	if s.by.Name == "" {
		d := p.Date(i)
		return sortKey{Has: d != 0, Number: float64(d)}
	}
	if p != s.p {
		s.p = p
		s.name, s.some = nameIn(p, s.by.Name)
	}
	if !s.some {
		return key
	}
	s.buf = p.PagesProperties(s.buf[:0], i)
	for _, n := range s.buf {
		if p.NameOfProperty(n) != s.name {
			continue
		}
		text := p.TextOfProperty(n)
		k := sortKey{Has: true}
		if s.by.Type == crawl.FieldNumber || s.by.Type == crawl.FieldDate {
			k.Number, k.Has = query.FieldNumber(s.by.Type, text)
		} else {
			k.Text = query.Fold(text)
		}
		if compareKeys(s.by, k, key) < 0 {
			key = k
		}
	}
	return key
}

// order is the order of an answer: the one that the request asks for, otherwise that of sort: in
// the query. One of the query that is not possible is noted in the answer, and is no error.
func order(requested string, q query.Query, answer *crawl.SearchAnswer) (*query.Sort, error) {
	if requested != "" {
		return q.Schema().Sort(requested)
	}
	by, err := q.Schema().Sort(q.Sort)
	if err != nil {
		answer.Notes = append(slices.Clip(answer.Notes), err.Error())
	}
	return by, nil
}
