package dashboard

import (
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// How many wrong tokens are looked at of who asks from one address, and of how many addresses that
// is kept. Others share what one is allowed.
const (
	triesAtOnce = 10
	triesEvery  = time.Second // then another one
	triesKept   = 1024
)

// tries bounds how often tokens may be tried out, for each address by itself: who guesses keeps
// nobody else out. Its zero value is ready. It may be used by many goroutines.
type tries struct {
	mu sync.Mutex // guards by
	by map[netip.Prefix]*rate.Limiter
}

// of is the limit for who asks from an address with a port. An IPv6 network of 64 bits, which is
// what one customer has, is one address.
func (t *tries) of(remote string) *rate.Limiter {
	var from netip.Prefix // the zero one is that of all whose address is not known
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
				delete(t.by, p) // as if it had never been there
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
