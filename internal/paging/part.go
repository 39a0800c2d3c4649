package paging

import (
	"maps"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Part is an object of an answer: the first of a shard says how many rows it has, and all say some
// of those that are wanted.
type Part[T any] struct {
	Shard int       `json:"shard"`
	Sum   *Sum      `json:"sum,omitempty"`
	Items []Item[T] `json:"items"`
}

// Sum is how many rows a shard has.
type Sum struct {
	Epoch   uint64           `json:"epoch"` // of the shard's owner
	Total   int64            `json:"total"`
	Matched int64            `json:"matched"`
	Counts  map[string]int64 `json:"counts,omitempty"`
}

// perPart is how many rows an object of an answer has, so that it stays well below what a message
// may hold.
const perPart = 64

// Send sends a shard's answer: its sum and the rows that t has kept.
func (t *Top[T]) Send(shard int, sum Sum, send func(any) error) error {
	part := Part[T]{Shard: shard, Sum: &sum}
	for items := t.Items(); ; {
		n := min(len(items), perPart)
		part.Items, items = items[:n:n], items[n:]
		if err := send(part); err != nil || len(items) == 0 {
			return err
		}
		part = Part[T]{Shard: shard}
	}
}

// Merger puts the parts of an answer together.
type Merger[T any] struct {
	top  *Top[T]
	sums map[int]*Sum
}

// NewMerger checks what is wanted, as New does.
func NewMerger[T any](p crawl.Paging, sorts ...string) (*Merger[T], error) {
	top, err := New[T](p, sorts...)
	if err != nil {
		return nil, err
	}
	top.ids = map[string]bool{} // a shard that moves meanwhile may answer twice
	return &Merger[T]{top, map[int]*Sum{}}, nil
}

// Add takes a part.
func (m *Merger[T]) Add(p Part[T]) {
	// Of a shard that moved meanwhile there may be two sums; the later owner's counts.
	if was := m.sums[p.Shard]; p.Sum != nil && (was == nil || p.Sum.Epoch >= was.Epoch) {
		m.sums[p.Shard] = p.Sum
	}
	for _, i := range p.Items {
		m.top.Add(i.Key, i.Row)
	}
}

// Page is what came.
func (m *Merger[T]) Page() (p crawl.Paged[T]) {
	for s := range maps.Values(m.sums) {
		p.Total += s.Total
		p.Matched += s.Matched
		for k, n := range s.Counts {
			if p.Counts == nil {
				p.Counts = map[string]int64{}
			}
			p.Counts[k] += n
		}
	}
	p.Rows, p.Next = m.top.page()
	return p
}
