package fetcher

import (
	"context"
	"slices"
	"sync"

	"github.com/curtsy/curtsy/internal/fetcher/visit"
)

// pool has the slots of a process. They are divided among the crawls that it serves: a slot that
// becomes free goes to the waiting crawl that has the fewest slots for its weight. No crawl owns
// slots, so others use what a crawl does not need. A visit lasts about ten seconds, so a crawl that
// needs its share again gets it after about that time.
type pool struct {
	mu     sync.Mutex // guards the fields below, and the parts
	free   []*visit.Scratch
	parts  []*part
	slots  int // in all
	weight int // of all parts
}

// part is the share of one crawl in a pool. Its methods may be called concurrently.
type part struct {
	p       *pool
	weight  int
	held    int
	waiting []chan *visit.Scratch // oldest first; each receives one slot without blocking
}

func newPool(slots int) *pool {
	p := &pool{slots: slots}
	for range slots {
		p.free = append(p.free, new(visit.Scratch))
	}
	return p
}

// join makes a part for one more crawl. leave removes it.
func (p *pool) join(weight int) *part {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := &part{p: p, weight: max(weight, 1)}
	p.parts = append(p.parts, s)
	p.weight += s.weight
	return s
}

func (s *part) leave() {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if i := slices.Index(s.p.parts, s); i >= 0 {
		s.p.parts = slices.Delete(s.p.parts, i, i+1)
		s.p.weight -= s.weight
	}
}

// size returns how many slots the crawl has if all crawls need some; at least one.
func (s *part) size() int {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return max(s.p.slots*s.weight/max(s.p.weight, s.weight), 1)
}

// take waits for a slot. It returns nil when ctx ends.
func (s *part) take(ctx context.Context) *visit.Scratch {
	if ctx.Err() != nil {
		return nil
	}
	if h := s.try(); h != nil {
		return h
	}
	s.p.mu.Lock()
	if h := s.pop(); h != nil { // it became free meanwhile
		s.p.mu.Unlock()
		return h
	}
	turn := make(chan *visit.Scratch, 1)
	s.waiting = append(s.waiting, turn)
	s.p.mu.Unlock()
	select {
	case h := <-turn:
		return h
	case <-ctx.Done():
	}
	s.p.mu.Lock()
	i := slices.Index(s.waiting, turn)
	if i >= 0 {
		s.waiting = slices.Delete(s.waiting, i, i+1)
	}
	s.p.mu.Unlock()
	if i < 0 { // it came at the same moment
		s.put(<-turn)
	}
	return nil
}

// try returns a slot if one is free. Then nobody waits for it.
func (s *part) try() *visit.Scratch {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.pop()
}

func (s *part) pop() *visit.Scratch {
	n := len(s.p.free)
	if n == 0 {
		return nil
	}
	h := s.p.free[n-1]
	s.p.free = s.p.free[:n-1]
	s.held++
	return h
}

// put returns a slot, or another scratch in its place.
func (s *part) put(h *visit.Scratch) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.held--
	var next *part
	for _, o := range s.p.parts {
		if len(o.waiting) > 0 && (next == nil || o.held*next.weight < next.held*o.weight) {
			next = o
		}
	}
	if next == nil {
		s.p.free = append(s.p.free, h)
		return
	}
	turn := next.waiting[0]
	next.waiting = next.waiting[1:]
	next.held++
	turn <- h
}
