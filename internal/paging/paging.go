// Package paging takes the first rows of a list by some order, of a list that is too long to be
// sorted or kept whole. Each shard offers its rows to a Top and sends what is left of them; the
// asker offers those to another. Neither keeps more rows than are wanted.
package paging

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Key is where a row stands in a list: by N, then by Text, then by ID, which no two rows share.
type Key struct {
	N    float64 `json:"n,omitempty"`
	Text string  `json:"t,omitempty"`
	ID   string  `json:"i"`
}

// compare orders keys; rows that differ in their IDs only stand in the order of those either way.
func (k *Key) compare(o *Key, descending bool) int {
	c := cmp.Or(cmp.Compare(k.N, o.N), strings.Compare(k.Text, o.Text))
	if descending {
		c = -c
	}
	return cmp.Or(c, strings.Compare(k.ID, o.ID))
}

// Item is a row and where it stands.
type Item[T any] struct {
	Key Key `json:"key"`
	Row T   `json:"row"`
}

// Top keeps the first rows of those it is offered. It is for one goroutine.
type Top[T any] struct {
	paging crawl.Paging
	after  *Key      // rows up to here are not wanted
	most   int       // rows kept: one more than wanted, which tells whether others follow
	items  []Item[T] // a heap, the last in order first, once there are so many
	// Of the items; nil where no row is offered twice.
	ids map[string]bool
}

// cursor is what Paged.Next holds: a place in a list that is ordered in one way.
type cursor struct {
	Sort       string `json:"s"`
	Descending bool   `json:"d,omitempty"`
	Key        Key    `json:"k"`
}

// maxCursor bounds what is read of a cursor, which may come from anywhere.
const maxCursor = 8 << 10

// New checks what is wanted. sorts are the words by which the list can be ordered, the first of
// them unless told otherwise. An error says what would be right.
func New[T any](p crawl.Paging, sorts ...string) (*Top[T], error) {
	p.Sort = cmp.Or(p.Sort, sorts[0])
	p.Limit = cmp.Or(p.Limit, crawl.DefaultLimit)
	switch {
	case !slices.Contains(sorts, p.Sort):
		return nil, fmt.Errorf("cannot sort by %q: use %s", p.Sort, strings.Join(sorts, ", "))
	case p.Limit < 1 || p.Limit > crawl.MaxLimit:
		return nil, fmt.Errorf("limit %d is not possible: use 1 to %d", p.Limit, crawl.MaxLimit)
	case p.Offset < 0 || p.Offset > crawl.MaxOffset:
		return nil, fmt.Errorf("offset %d is not possible: use 0 to %d, and beyond that the cursor from the previous answer", p.Offset, crawl.MaxOffset)
	}
	t := &Top[T]{paging: p, most: p.Offset + p.Limit + 1}
	if p.After != "" {
		var c cursor
		b, err := base64.RawURLEncoding.DecodeString(p.After[:min(len(p.After), maxCursor)])
		if err == nil {
			err = json.Unmarshal(b, &c)
		}
		if err != nil || c.Sort != p.Sort || c.Descending != p.Descending {
			return nil, fmt.Errorf("the cursor %.40q does not belong to this list in this order: start without a cursor", p.After)
		}
		t.after = &c.Key
	}
	return t, nil
}

// Sort is the word that rows are ordered by.
func (t *Top[T]) Sort() string { return t.paging.Sort }

// Wants reports whether a row with that key would be kept, as far as is known by now.
func (t *Top[T]) Wants(k *Key) bool {
	if t.after != nil && k.compare(t.after, t.paging.Descending) <= 0 {
		return false
	}
	return len(t.items) < t.most || k.compare(&t.items[0].Key, t.paging.Descending) < 0
}

// Add offers a row.
func (t *Top[T]) Add(k Key, row T) {
	if t.ids[k.ID] || !t.Wants(&k) {
		return
	}
	if t.ids != nil {
		if len(t.items) == t.most {
			delete(t.ids, t.items[0].Key.ID)
		}
		t.ids[k.ID] = true
	}
	if len(t.items) < t.most {
		if t.items = append(t.items, Item[T]{k, row}); len(t.items) == t.most {
			for i := len(t.items)/2 - 1; i >= 0; i-- {
				t.sink(i)
			}
		}
		return
	}
	t.items[0] = Item[T]{k, row}
	t.sink(0)
}

// sink puts the i-th item of the heap in its place.
func (t *Top[T]) sink(i int) {
	for {
		c := 2*i + 1
		if c >= len(t.items) {
			return
		}
		if c+1 < len(t.items) && t.last(c+1, c) {
			c++
		}
		if !t.last(c, i) {
			return
		}
		t.items[i], t.items[c] = t.items[c], t.items[i]
		i = c
	}
}

// last reports whether the i-th item stands behind the j-th in the list.
func (t *Top[T]) last(i, j int) bool {
	return t.items[i].Key.compare(&t.items[j].Key, t.paging.Descending) > 0
}

// Items are the rows kept, in order, and Top keeps none.
func (t *Top[T]) Items() []Item[T] {
	items := t.items
	t.items = nil
	slices.SortFunc(items, func(a, b Item[T]) int { return a.Key.compare(&b.Key, t.paging.Descending) })
	return items
}

// page makes the answer of the rows kept.
func (t *Top[T]) page() (rows []T, next string) {
	items := t.Items()
	items = items[min(t.paging.Offset, len(items)):]
	if len(items) > t.paging.Limit {
		items = items[:t.paging.Limit]
		b, err := json.Marshal(cursor{t.paging.Sort, t.paging.Descending, items[len(items)-1].Key})
		if err != nil {
			panic(err) // keys have no infinite numbers
		}
		next = base64.RawURLEncoding.EncodeToString(b)
	}
	rows = make([]T, len(items))
	for i := range items {
		rows[i] = items[i].Row
	}
	return rows, next
}
