package web

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many wrong tokens are accepted from one address, and for how many addresses that is counted.
// All further addresses share one count.
const (
	triesAtOnce = 10
	triesEvery  = time.Second // then one more
	triesKept   = 1024
)

// tries bounds how often each address may present wrong tokens, so that one that guesses does not
// lock out the others. The zero value is ready. It may be used by many goroutines.
type tries struct {
	mu sync.Mutex // guards by
	by map[netip.Prefix]*rate.Limiter
}

// of is the limit of a remote address with its port. An IPv6 network of 64 bits counts as one
// address, because that is what one customer has.
func (t *tries) of(remote string) *rate.Limiter {
	var from netip.Prefix // the zero one is for all addresses that are not known
	if at, err := netip.ParseAddrPort(remote); err == nil {
		addr, bits := at.Addr().Unmap().WithZone(""), 32
		if addr.Is6() {
			bits = 64
		}
		from, _ = addr.Prefix(bits)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if l := t.by[from]; l != nil {
		return l
	}
	if len(t.by) >= triesKept {
		for p, l := range t.by {
			if l.Tokens() >= triesAtOnce {
				delete(t.by, p) // its count is as if it had never been used
			}
		}
	}
	if len(t.by) >= triesKept {
		from = netip.Prefix{}
		if l := t.by[from]; l != nil {
			return l
		}
	}
	if t.by == nil {
		t.by = map[netip.Prefix]*rate.Limiter{}
	}
	l := rate.NewLimiter(rate.Every(triesEvery), triesAtOnce)
	t.by[from] = l
	return l
}
