package page

import (
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/fetcher/resources"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/canon"
)

// renderers are the pages that may be rendered at the same time, and what their visits share.
//
// Nobody waits for a slot here. A page that is being rendered may need something of another host,
// and a visit that waited for a slot would keep that host from being visited: the page and the
// visit would wait for each other. So a visit without a slot is returned to its frontier. The hosts
// whose pages need scripts are known after their first page, so their visits ask for a slot before
// they send anything.
type renderers struct {
	renderer render.Renderer // nil: nothing can be rendered
	cache    *resources.Cache
	slots    *fair.Queue // a unit for each page; its costs are seconds
	most     int         // slots

	mu       sync.Mutex               // guards the fields below
	expected map[canon.Host]int       // how many more pages are expected to need scripts
	refused  map[canon.Host]time.Time // when no slot was free
	putBack  map[canon.URL]int        // how often a page was put back because of other hosts
	down     time.Time                // until then nothing can be rendered
}

const (
	// expectedPages is after how many pages in a row that need no scripts a host is no longer
	// expected to need them.
	expectedPages = 20
	// mostRemembered is how many hosts, and pages, are remembered for each purpose.
	mostRemembered = 8192
	// resourceCache is how many bytes of what pages have requested are kept for other pages.
	resourceCache = 64 << 20
	// mostPutBack is how often a page is put back because of other hosts. Then that counts as a
	// failed attempt.
	mostPutBack = 20

	// noSlot is how long a host is not visited if its pages need a renderer and none is free. With
	// many such hosts it is longer, up to mostNoSlot, because each of them costs a visit each time.
	noSlot     = 2 * time.Second
	mostNoSlot = time.Minute
	// noRenderer is the same if no renderer can be reached at all.
	noRenderer = 30 * time.Second
)

func newRenderers(r render.Renderer, slots int) *renderers {
	slots = max(slots, 1)
	return &renderers{
		renderer: r, cache: resources.New(resourceCache), slots: fair.NewQueue(fair.Options{Capacity: int64(slots)}), most: slots,
		expected: map[canon.Host]int{}, refused: map[canon.Host]time.Time{}, putBack: map[canon.URL]int{},
	}
}

// try takes a slot for a host. Without one it returns how long the host is better left alone.
func (r *renderers) try(h canon.Host, now time.Time) (slot *fair.Claim, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if left := r.down.Sub(now); left > 0 {
		return nil, left
	}
	slot, ok := r.slots.Try(1, fair.DomainOf(h))
	if ok {
		delete(r.refused, h)
		return slot, 0
	}
	for at, when := range r.refused {
		if now.Sub(when) > 2*mostNoSlot || len(r.refused) >= mostRemembered {
			delete(r.refused, at)
		}
	}
	r.refused[h] = now
	return nil, min(noSlot*time.Duration(1+len(r.refused)/(4*r.most)), mostNoSlot)
}

// unavailable notes that nothing can be rendered now.
func (r *renderers) unavailable(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = now.Add(noRenderer)
}

// expects reports whether pages of a host are expected to need scripts.
func (r *renderers) expects(h canon.Host) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.expected[h] > 0
}

// learn notes whether a page of a host needed scripts.
func (r *renderers) learn(h canon.Host, needed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n, known := r.expected[h]; {
	case needed:
		if len(r.expected) >= mostRemembered && !known {
			clear(r.expected) // they are learnt again
		}
		r.expected[h] = expectedPages
	case n > 1:
		r.expected[h] = n - 1
	case known:
		delete(r.expected, h)
	}
}

// mayPutBack reports whether a page may be put back once more because of other hosts.
func (r *renderers) mayPutBack(u canon.URL) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.putBack) >= mostRemembered {
		clear(r.putBack)
	}
	r.putBack[u]++
	if r.putBack[u] < mostPutBack {
		return true
	}
	delete(r.putBack, u)
	return false
}

// rendered forgets how often a page was put back.
func (r *renderers) rendered(u canon.URL) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.putBack, u)
}
