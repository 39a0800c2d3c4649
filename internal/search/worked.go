package search

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// worked is a cache of data that queries compute from the segments of a file, for one transaction.
// It takes four bytes for each page and for each address to which links of a segment lead, and is
// discarded as soon as anything is written. Many goroutines may use it, because all of them compute
// the same values.
type worked struct {
	tx int // number of the transaction

	once  sync.Once
	langs []string

	mu sync.Mutex // guards the creation of led and links
	// led is, by part and target, which page has the address of a target that is not in the part
	// itself. links is how many pages link to a page of the view. 0 means not computed yet.
	led   []atomic.Pointer[[]uint32]
	links atomic.Pointer[[]uint32]
}

// The values in led for a target.
const (
	ledNowhere = 1
	ledPage    = 2 // the number of the page plus 2
)

// workshop keeps the newest worked.
type workshop struct {
	mu   sync.Mutex
	last *worked
}

// of returns the cache for a view of a transaction.
func (s *workshop) of(tx int, v *view) *worked {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last == nil || s.last.tx != tx {
		s.last = &worked{tx: tx, led: make([]atomic.Pointer[[]uint32], len(v.parts))}
	}
	return s.last
}

// made returns a list, which it creates with n elements if there is none yet.
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

// languages are those of which any part has stems.
func (v *view) languages() []string {
	v.worked.once.Do(func() {
		v.worked.langs = slices.DeleteFunc(analysis.Languages(), func(lang string) bool {
			return !slices.ContainsFunc(v.parts, func(p *part) bool { return p.HasKeys(analysis.StemPrefix(lang)) })
		})
	})
	return v.worked.langs
}

// ledTo returns the page to which a target of a part leads. The pages of a site are usually in one
// part, which knows its own.
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
