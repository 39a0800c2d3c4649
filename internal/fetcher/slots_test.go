package fetcher

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// busy takes slots of a part and keeps each for a while, until ctx ends. It counts how many it had.
func busy(ctx context.Context, wg *sync.WaitGroup, s *part, visits int, count *atomic.Int64) {
	for range visits {
		wg.Go(func() {
			for {
				h := s.take(ctx)
				if h == nil {
					return
				}
				time.Sleep(10 * time.Second)
				count.Add(1)
				s.put(h)
			}
		})
	}
}

// Crawls that need more slots than there are get them by weight. What one crawl does not need the
// others get, and it gets its share again soon after it needs it.
func TestHandsAreDividedByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(12)
		a, b, idle := p.join(2), p.join(1), p.join(3)
		if a.size() != 4 || b.size() != 2 || idle.size() != 6 {
			t.Errorf("sizes %d, %d, %d of 12", a.size(), b.size(), idle.size())
		}
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		var a1, b1, i1 atomic.Int64
		busy(ctx, &wg, a, 20, &a1)
		busy(ctx, &wg, b, 20, &b1)
		time.Sleep(1001 * time.Second)
		na, nb := a1.Load(), b1.Load()
		if all := na + nb; all != 1200 || na < 780 || na > 820 {
			t.Errorf("visits of two crawls, 2 to 1: %d and %d", na, nb)
		}
		busy(ctx, &wg, idle, 20, &i1)
		time.Sleep(30 * time.Second) // its share comes back within a visit or two
		for _, n := range []*atomic.Int64{&a1, &b1, &i1} {
			n.Store(0)
		}
		time.Sleep(1000 * time.Second)
		na, nb = a1.Load(), b1.Load()
		ni := i1.Load()
		if all := na + nb + ni; all < 1188 || ni < 580 || ni > 620 || nb < 180 || nb > 220 {
			t.Errorf("visits of three crawls, 2 to 1 to 3: %d, %d and %d", na, nb, ni)
		}
		idle.leave()
		if a.size() != 8 {
			t.Errorf("%d of 12 hands when the third is gone", a.size())
		}
		cancel()
		wg.Wait()
		if len(p.free) != 12 || a.held != 0 || b.held != 0 || idle.held != 0 {
			t.Errorf("in the end %d are free; %d, %d, %d held", len(p.free), a.held, b.held, idle.held)
		}
	})
}

// A slot that comes when its waiter gives up is not lost.
func TestHandsOfWaitersThatGiveUp(t *testing.T) {
	p := newPool(1)
	s := p.join(1)
	var wg sync.WaitGroup
	for range 200 {
		h := s.take(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		wg.Go(func() {
			if h := s.take(ctx); h != nil {
				s.put(h)
			}
		})
		wg.Go(cancel)
		s.put(h)
		wg.Wait()
		cancel()
		if len(p.free) != 1 || s.held != 0 || len(s.waiting) != 0 {
			t.Fatalf("%d free, %d held, %d waiting", len(p.free), s.held, len(s.waiting))
		}
	}
}
