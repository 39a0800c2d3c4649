package page

import (
	"sync"

	"github.com/curtsy/curtsy/internal/fetcher/resources"
	"github.com/curtsy/curtsy/internal/render"
	"github.com/curtsy/curtsy/pkg/canon"
)

// renderers are the pages that may be rendered at the same time, and what their visits share.
//
// Nobody waits for a slot here. A page that is being rendered may need something of another host,
// and a visit that waited for a slot would keep that host from being visited: the page and the visit
// would wait for each other. So a visit without a slot is returned to its frontier. The hosts whose
// pages need scripts are known after their first page, so their visits ask for a slot before they
// send anything.
type renderers struct {
	renderer render.Renderer // nil: nothing can be rendered
	cache    *resources.Cache
	slots    chan struct{}

	mu    sync.Mutex
	hosts map[canon.Host]int // how many more pages are expected to need scripts
}

const (
	// expected is after how many pages in a row that need no scripts a host is no longer expected to
	// need them.
	expected = 20
	// mostExpected is how many hosts are remembered.
	mostExpected = 8192
	// resourceCache is how many bytes of what pages have requested are kept for other pages.
	resourceCache = 64 << 20
)

func newRenderers(r render.Renderer, slots int) *renderers {
	if slots <= 0 {
		slots = 1
	}
	return &renderers{renderer: r, cache: resources.New(resourceCache), slots: make(chan struct{}, slots), hosts: map[canon.Host]int{}}
}

// try takes a slot if one is free. It is returned by leave.
func (r *renderers) try() bool {
	select {
	case r.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (r *renderers) leave() { <-r.slots }

// expects reports whether pages of a host are expected to need scripts.
func (r *renderers) expects(h canon.Host) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hosts[h] > 0
}

// learn notes whether a page of a host needed scripts.
func (r *renderers) learn(h canon.Host, needed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch n, known := r.hosts[h]; {
	case needed:
		if len(r.hosts) >= mostExpected && !known {
			clear(r.hosts) // they are learnt again
		}
		r.hosts[h] = expected
	case n > 1:
		r.hosts[h] = n - 1
	case known:
		delete(r.hosts, h)
	}
}
