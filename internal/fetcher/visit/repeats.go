package visit

import (
	"container/list"
	"crypto/sha256"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// maxSame is how many URLs of a host may have one text before the links of a further one are
	// left alone: relative links that stack up, or a page instead of an error, lead on for ever.
	maxSame = 16
	// enoughSame is how many pages must have been the same but for their session ids.
	enoughSame = 3
	// repeatHosts, repeatTexts and repeatPages bound what is remembered: hosts, and of each host
	// texts, and addresses without session ids.
	repeatHosts = 4096
	repeatTexts = 64
	repeatPages = 64
)

var repeatSeed = maphash.MakeSeed()

// repeats remembers what pages of a host have said before, in this process. After a restart, and in
// another fetcher, it begins anew. Safe for concurrent use.
type repeats struct {
	mu    sync.Mutex // guards hosts and order, and what is in them
	hosts map[canon.Host]*list.Element
	order list.List    // of *repeated, the host longest not looked at last
	noisy atomic.Int64 // hosts whose session ids are taken off
}

// repeated is what is remembered of one host.
type repeated struct {
	host  canon.Host
	texts map[uint64][]uint64 // hashes of the URLs that have had a text, no more than maxSame + 1
	pages map[canon.URL][sha256.Size]byte
	same  int  // pages that were the same but for their session ids
	noise bool // such ids are taken off
	real  bool // such parameters choose the page
	told  bool
}

// of is what is remembered of a host. mu is held.
func (r *repeats) of(host canon.Host) *repeated {
	if e := r.hosts[host]; e != nil {
		r.order.MoveToFront(e)
		return e.Value.(*repeated)
	}
	if r.hosts == nil {
		r.hosts = make(map[canon.Host]*list.Element)
	}
	if r.order.Len() >= repeatHosts {
		last := r.order.Remove(r.order.Back()).(*repeated)
		if delete(r.hosts, last.host); last.noise {
			r.noisy.Add(-1)
		}
	}
	h := &repeated{host: host, texts: make(map[uint64][]uint64), pages: make(map[canon.URL][sha256.Size]byte)}
	r.hosts[host] = r.order.PushFront(h)
	return h
}

// text notes the text of a page. tooMany reports that so many URLs of its host
// have had the same text that its links are left alone; first, that it is the first such page.
func (r *repeats) text(u canon.URL, digest uint64) (tooMany, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(u.Host())
	if len(h.texts) >= repeatTexts && h.texts[digest] == nil {
		for text, urls := range h.texts { // those that came once say nothing
			if len(urls) == 1 {
				delete(h.texts, text)
			}
		}
		if len(h.texts) >= repeatTexts {
			clear(h.texts)
		}
	}
	hash := maphash.String(repeatSeed, string(u))
	if urls := h.texts[digest]; len(urls) <= maxSame && !slices.Contains(urls, hash) {
		h.texts[digest] = append(urls, hash)
	}
	if tooMany = len(h.texts[digest]) > maxSame; tooMany {
		first, h.told = !h.told, true
	}
	return tooMany, first
}

// session notes the text of a page whose address has what may be a session id. It reports whether
// it is known by that, for the first time, that such ids mean nothing on this host.
func (r *repeats) session(u, short canon.URL, digest [sha256.Size]byte) (known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(u.Host())
	if h.real || h.noise {
		return false
	}
	before, ok := h.pages[short]
	switch {
	case !ok:
		if len(h.pages) < repeatPages {
			h.pages[short] = digest
		}
		return false
	case before != digest:
		h.real = true
		return false
	}
	if h.same++; h.same < enoughSame {
		return false
	}
	h.noise = true
	r.noisy.Add(1)
	return true
}

// clean is a URL without a session id, where those of its host are known to mean nothing.
func (r *repeats) clean(u canon.URL) canon.URL {
	if r.noisy.Load() == 0 {
		return u
	}
	short, ok := sessionless(u)
	if !ok {
		return u
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.hosts[u.Host()]; e != nil && e.Value.(*repeated).noise {
		return short
	}
	return u
}
