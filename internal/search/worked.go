package search

import (
	"sync"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// worked is what queries worked out of the segments of a file as one transaction left them, kept
// for those that follow. It takes four bytes for each page and for each address that links of a
// segment lead to, and is thrown away as soon as anything is written. Many goroutines may use it:
// what two of them work out is the same.
type worked struct {
	tx int // number of the transaction

	once  sync.Once
	langs []string

	mu sync.Mutex // guards that led and links are made
	// led says by part and target which page has the address of a target that the part itself does
	// not have; links how many pages link to a page of the view. 0: not known yet.
	led   []atomic.Pointer[[]uint32]
	links atomic.Pointer[[]uint32]
}

// What led says of a target.
const (
	ledNowhere = 1
	ledPage    = 2 // the number of the page is that much less
)

// workshop keeps the newest.
type workshop struct {
	mu   sync.Mutex
	last *worked
}

// of is what was worked out of a view that a transaction sees.
func (s *workshop) of(tx int, v *view) *worked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.tx != tx {
		s.last = &worked{tx: tx, led: make([]atomic.Pointer[[]uint32], len(v.parts))}
	}
	return s.last
}

// made is a list, made with n elements if there is none yet.
func (w *worked) made(list *atomic.Pointer[[]uint32], n uint32) []uint32 {
	if l := list.Load(); l != nil {
		return *l
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if list.Load() == nil {
		l := make([]uint32, n)
		list.Store(&l)
	}
	return *list.Load()
}

// languages are those of which any part has keys.
func (v *view) languages(k *queryKeyer) []string {
	v.worked.once.Do(func() { v.worked.langs = k.langsOf(v) })
	return v.worked.langs
}

// ledTo returns the page that a target of a part leads to. A site's pages are mostly in one part,
// which knows its own.
func (v *view) ledTo(from *part, target uint32) (page uint32, ok bool) {
	if i, ok := from.Led(target); ok && !from.deleted(i) {
		return from.base + i, true
	}
	known := &v.worked.made(&v.worked.led[from.nth], from.Targets())[target]
	switch n := atomic.LoadUint32(known); n {
	case 0:
	case ledNowhere:
		return 0, false
	default:
		return n - ledPage, true
	}
	hash := from.Target(target)
	for _, p := range v.parts {
		if p == from {
			continue
		}
		if i, ok := p.FindURL(hash); ok && !p.deleted(i) {
			atomic.StoreUint32(known, p.base+i+ledPage)
			return p.base + i, true
		}
	}
	atomic.StoreUint32(known, ledNowhere)
	return 0, false
}

// linking is how many pages link to a page.
func (v *view) linking(of *part, i uint32) (n uint32) {
	known := &v.worked.made(&v.worked.links, v.pages)[of.base+i]
	if n := atomic.LoadUint32(known); n > 0 {
		return n - 1
	}
	hash := segment.Hash(string(of.URL(i)))
	for _, p := range v.parts {
		t, ok := p.FindTarget(hash)
		if !ok {
			continue
		}
		if p.dead == nil {
			n += p.Linking(t)
			continue
		}
		for page := range p.LinkingPages(t) {
			if !p.deleted(page) {
				n++
			}
		}
	}
	atomic.StoreUint32(known, n+1)
	return n
}
