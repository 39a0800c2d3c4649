package questions

import (
	"maps"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Part is an object of an answer to a question for a list. The first part of a shard contains the
// number of its rows, and each part contains some of the wanted rows.
type Part[T any] struct {
	Shard int       `json:"shard"`
	Sum   *Sum      `json:"sum,omitempty"`
	Items []Item[T] `json:"items"`
}

// Sum is the number of rows of a shard. The fields are those of crawl.Paged.
type Sum struct {
	Epoch   uint64           `json:"epoch"` // of the shard's owner
	Total   int64            `json:"total"`
	Matched int64            `json:"matched"`
	Counts  map[string]int64 `json:"counts,omitempty"`
}

// perPart is the number of rows in one object of an answer. It keeps the object well below the
// limit of a message.
const perPart = 64

// Send sends a shard's answer: its sum and the rows that t has kept. Afterwards t is empty.
func (t *Top[T]) Send(shard int, sum Sum, send func(Part[T]) error) error {
	part := Part[T]{Shard: shard, Sum: &sum}
	for items := t.take(); ; {
		n := min(len(items), perPart)
		part.Items, items = items[:n:n], items[n:]
		if err := send(part); err != nil || len(items) == 0 {
			return err
		}
		part = Part[T]{Shard: shard}
	}
}

// Merger makes one answer from the parts of all shards.
type Merger[T any] struct {
	top  *Top[T]
	sums map[int]*Sum
}

// NewMerger makes a Merger for the rows that p asks for. Its error is that of New.
func NewMerger[T any](p crawl.Paging, sorts Sorts[T]) (*Merger[T], error) {
	top, err := NewTop(p, sorts)
	if err != nil {
		return nil, err
	}
	top.ids = map[string]bool{} // a shard that moves during the answer may answer twice
	return &Merger[T]{top, map[int]*Sum{}}, nil
}

// Add adds a part.
func (m *Merger[T]) Add(p Part[T]) {
	// A shard that moves during the answer may send two sums. The later owner's sum is used.
	if was := m.sums[p.Shard]; p.Sum != nil && (was == nil || p.Sum.Epoch >= was.Epoch) {
		m.sums[p.Shard] = p.Sum
	}
	for _, i := range p.Items {
		m.top.add(i)
	}
}

// Page is the answer from all parts so far.
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
