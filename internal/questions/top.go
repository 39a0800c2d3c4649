package questions

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A list may be too long to be sorted or stored as a whole. Each shard therefore offers its rows to
// a Top, and sends what the Top has kept. The asker offers those rows to a Merger. Neither keeps
// more rows than are wanted.

// Key is the position of a row in a list: by N, then by Text, then by ID. No two rows have the same
// ID.
type Key struct {
	N    float64 `json:"n,omitempty"`
	Text string  `json:"t,omitempty"`
	ID   string  `json:"i"`
}

// compare orders keys. IDs are compared in ascending order in both directions.
func (k *Key) compare(o *Key, descending bool) int {
	c := cmp.Or(cmp.Compare(k.N, o.N), strings.Compare(k.Text, o.Text))
	if descending {
		c = -c
	}
	return cmp.Or(c, strings.Compare(k.ID, o.ID))
}

// valid returns k as it is read from JSON, which has no invalid UTF-8. Otherwise the key of a row
// and the same key in a cursor would be two positions.
func (k Key) valid() Key {
	for _, s := range []*string{&k.Text, &k.ID} {
		if !utf8.ValidString(*s) {
			*s = string([]rune(*s)) // as JSON: U+FFFD for each invalid byte
		}
	}
	return k
}

// Item is a row and its position.
type Item[T any] struct {
	Key Key `json:"key"`
	Row T   `json:"row"`
}

// Sort is one order of a list.
type Sort[T any] struct {
	Word string           // by which people choose it
	Key  func(row *T) Key // the position of a row in this order
}

// Sorts are the orders of a list. The first is the default.
type Sorts[T any] []Sort[T]

// Words are the words of all orders.
func (s Sorts[T]) Words() []string {
	words := make([]string, len(s))
	for i := range s {
		words[i] = s[i].Word
	}
	return words
}

// Top keeps the first rows of those it is offered. It may be used by one goroutine.
type Top[T any] struct {
	paging crawl.Paging
	key    func(*T) Key
	after  *Key      // rows up to this one are not wanted
	most   int       // rows to keep: one more than wanted, which shows whether others follow
	items  []Item[T] // becomes a heap, the last in order first, once it has most items
	// The IDs of the items; nil where no row is offered twice.
	ids map[string]bool
}

// cursor is the contents of Paged.Next: a position in a list in one order.
type cursor struct {
	Sort       string `json:"s"`
	Descending bool   `json:"d,omitempty"`
	Key        Key    `json:"k"`
}

// maxCursor limits how much of a cursor is read, in bytes: cursors come from outside.
const maxCursor = 8 << 10

// NewTop makes a Top for the rows that p asks for. Its error states what would be valid.
func NewTop[T any](p crawl.Paging, sorts Sorts[T]) (*Top[T], error) {
	p.Sort = cmp.Or(p.Sort, sorts[0].Word)
	p.Limit = cmp.Or(p.Limit, crawl.DefaultLimit)
	chosen := slices.IndexFunc(sorts, func(s Sort[T]) bool { return s.Word == p.Sort })
	switch {
	case chosen < 0:
		return nil, fmt.Errorf("cannot sort by %q: use %s", p.Sort, strings.Join(sorts.Words(), ", "))
	case p.Limit < 1 || p.Limit > crawl.MaxLimit:
		return nil, fmt.Errorf("limit %d is not possible: use 1 to %d", p.Limit, crawl.MaxLimit)
	case p.Offset < 0 || p.Offset > crawl.MaxOffset:
		return nil, fmt.Errorf("offset %d is not possible: use 0 to %d, and beyond that the cursor from the previous answer", p.Offset, crawl.MaxOffset)
	}
	t := &Top[T]{paging: p, key: sorts[chosen].Key, most: p.Offset + p.Limit + 1}
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

// Add offers a row and reports whether it is kept for now.
func (t *Top[T]) Add(row T) bool { return t.add(Item[T]{t.key(&row).valid(), row}) }

func (t *Top[T]) add(item Item[T]) bool {
	id := item.Key.ID
	if t.ids[id] || !t.wants(&item.Key) {
		return false
	}
	if t.ids != nil {
		if len(t.items) == t.most {
			delete(t.ids, t.items[0].Key.ID)
		}
		t.ids[id] = true
	}
	if len(t.items) < t.most {
		if t.items = append(t.items, item); len(t.items) == t.most {
			for i := len(t.items)/2 - 1; i >= 0; i-- {
				t.sink(i)
			}
		}
		return true
	}
	t.items[0] = item
	t.sink(0)
	return true
}

// wants reports whether a row at that position belongs to the first ones offered so far.
func (t *Top[T]) wants(k *Key) bool {
	if t.after != nil && k.compare(t.after, t.paging.Descending) <= 0 {
		return false
	}
	return len(t.items) < t.most || k.compare(&t.items[0].Key, t.paging.Descending) < 0
}

// sink moves the i-th item of the heap down to its position.
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

// last reports whether the i-th item comes after the j-th in the list.
func (t *Top[T]) last(i, j int) bool {
	return t.items[i].Key.compare(&t.items[j].Key, t.paging.Descending) > 0
}

// take returns the kept rows in order. Afterwards t is empty.
func (t *Top[T]) take() []Item[T] {
	items := t.items
	t.items = nil
	slices.SortFunc(items, func(a, b Item[T]) int { return a.Key.compare(&b.Key, t.paging.Descending) })
	return items
}

// page makes the answer from the kept rows.
func (t *Top[T]) page() (rows []T, next string) {
	items := t.take()
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
