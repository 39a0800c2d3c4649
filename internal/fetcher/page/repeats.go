package page

import (
	"container/list"
	"crypto/sha256"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// maxSame is how many URLs of a host may have one text before the links of a further one are
	// not followed. Relative links that stack up, or a page instead of an error, would lead on for
	// ever.
	maxSame = 16
	// enoughSame is how many pages must have been the same as one with another session id, besides
	// the page without an id.
	enoughSame = 2
	// repeatHosts and repeatTexts bound what is remembered: hosts, and texts of each host.
	repeatHosts = 4096
	repeatTexts = 64
	// maxShorts is how many URLs without a session id are tried on a host.
	maxShorts = 3
)

var repeatSeed = maphash.MakeSeed()

// repeats remembers the texts that pages of a host had, in this process. After a restart, and in
// another fetcher, it is empty. It may be used concurrently.
type repeats struct {
	mu    sync.Mutex // guards hosts and order, and what is in them
	hosts map[canon.Host]*list.Element
	order list.List    // of *repeated, the host that was used last first
	noisy atomic.Int64 // hosts whose session ids are removed
}

// repeated is what is remembered of one host.
type repeated struct {
	host     canon.Host
	texts    map[uint64][]uint64 // hashes of the URLs that had a text, at most maxSame + 1
	reported bool                // that more than maxSame URLs had one text

	// Of session ids.
	shorts map[canon.URL]*short
	same   int  // pages that were the same with other ids, up to enoughSame
	noise  bool // such ids mean nothing, and are removed
	real   bool // such parameters choose the page
}

// short is a URL without a session id that is tried, because a page was found with one.
type short struct {
	digest [sha256.Size]byte
	urls   []canon.URL // with ids that gave the page, the first few
	asked  bool        // without one the page is the same
}

// setNoise records whether the session ids of a host mean nothing. That is final, except that
// needed may reverse it. r.mu must be locked.
func (r *repeats) setNoise(h *repeated, noise bool) {
	switch {
	case noise && !h.noise:
		r.noisy.Add(1)
	case !noise && h.noise:
		r.noisy.Add(-1)
	}
	h.noise, h.real, h.shorts = noise, !noise, nil
}

// of returns the entry of a host, and makes one if there is none. r.mu must be locked.
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
	h := &repeated{host: host, texts: make(map[uint64][]uint64)}
	r.hosts[host] = r.order.PushFront(h)
	return h
}

// text records the text of a page. tooMany reports that more than maxSame URLs of its host have had
// this text, so that its links are not followed; first, that it is the first such page of the host.
func (r *repeats) text(u canon.URL, digest uint64) (tooMany, first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(u.Host())
	if len(h.texts) >= repeatTexts && h.texts[digest] == nil {
		for text, urls := range h.texts { // those that came once mean nothing
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
		first, h.reported = !h.reported, true
	}
	return tooMany, first
}

// learning reports whether a page with a session id would help to decide about such ids. without is
// its URL with the id removed.
func (r *repeats) learning(without canon.URL) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(without.Host())
	return !h.real && !h.noise && (h.shorts[without] != nil || len(h.shorts) < maxShorts)
}

// session records the digest of a page at u, whose address may have a session id; without is u with
// the id removed. try reports that the page at without should be fetched; known, that this page was
// the last proof that such ids mean nothing on the host.
func (r *repeats) session(u, without canon.URL, digest [sha256.Size]byte) (try, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(u.Host())
	if h.real || h.noise {
		return false, false
	}
	s := h.shorts[without]
	switch {
	case s == nil:
		if len(h.shorts) == maxShorts {
			return false, false
		}
		if h.shorts == nil {
			h.shorts = make(map[canon.URL]*short)
		}
		h.shorts[without] = &short{digest: digest, urls: []canon.URL{u}}
		return true, false
	case s.digest != digest:
		r.setNoise(h, false)
		return false, false
	case h.same < enoughSame && !slices.Contains(s.urls, u):
		s.urls = append(s.urls, u)
		h.same++
	}
	return false, r.decide(h)
}

// decide concludes that session ids mean nothing if enough pages of the host were the same without
// them. It reports whether it did. r.mu must be locked.
func (r *repeats) decide(h *repeated) bool {
	if h.same < enoughSame {
		return false
	}
	for _, s := range h.shorts {
		if s.asked {
			r.setNoise(h, true)
			return true
		}
	}
	return false
}

// tried reports whether u is an address without its session id, fetched to compare the pages.
func (r *repeats) tried(u canon.URL) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.hosts[u.Host()]
	return e != nil && e.Value.(*repeated).shorts[u] != nil
}

// atShort records the digest of the page at u if u is such an address (see tried). known is as in
// session.
func (r *repeats) atShort(u canon.URL, digest [sha256.Size]byte) (known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.of(u.Host())
	s := h.shorts[u]
	if s == nil {
		return false
	}
	if s.digest != digest {
		r.setNoise(h, false)
		return false
	}
	s.asked = true
	return r.decide(h)
}

// ended records the outcome of a URL. If there is no page without a session id, the ids are needed.
func (r *repeats) ended(u canon.URL, class crawl.Class) {
	switch class {
	case crawl.Redirected, crawl.Refused, crawl.Failed:
	default:
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.hosts[u.Host()]; e != nil {
		if h := e.Value.(*repeated); h.shorts[u] != nil && !h.shorts[u].asked {
			r.setNoise(h, false)
		}
	}
}

// needed records that a site asks for session ids, so that they are not removed from its URLs.
func (r *repeats) needed(host canon.Host) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setNoise(r.of(host), false)
}

// clean returns u without its session id if the ids of its host are known to mean nothing, and u
// otherwise.
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
