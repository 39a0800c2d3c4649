package wire

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A name server that lists thousands of addresses cannot make us connect to all of them.
func TestManyAddresses(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var list []netip.Addr
		for i := range 60 {
			list = append(list, netip.AddrFrom4([4]byte{127, 0, 1, byte(1 + i)}))
		}
		h := newTestSession(t, Options{Resolver: wiretest.Liar(t, func(string) []netip.Addr { return list })}, "", "h.test")
		var dialled atomic.Int64
		h.c.Reach = func(a netip.Addr) Reach { dialled.Add(1); return ReachOf(a) }
		_, err := h.Fetch(urlOf(t, "http://h.test:1/"), nil, wantAll)
		if f := h.FailureOf(err); f.Reason != crawl.ReasonConnect || dialled.Load() > maxAddresses {
			t.Errorf("%d addresses tried, %+v", dialled.Load(), f)
		}
	})
}

// Whatever is configured, a public address that is not the operator's own has a delay of a second.
func TestPublicFloor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			name    string
			public  bool
			hurried bool
			least   time.Duration
		}{{"private", false, false, 0}, {"public", true, false, time.Second}, {"public, hurried", true, true, 0}} {
			w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			if tt.public {
				h.c.Reach = func(netip.Addr) Reach { return Public }
				h.cfg.Contact = true
			}
			h.Hurried = tt.hurried
			for range 3 {
				if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil {
					t.Fatal(err)
				}
			}
			for i, r := range w.Seen()[1:] {
				if gap := r.At.Sub(w.Seen()[i].At); gap < tt.least || gap > tt.least+time.Second/8 {
					t.Errorf("%s: request %d came %v after the one before", tt.name, i+1, gap)
				}
			}
			if tt.least != h.Delay() {
				t.Errorf("%s: delay reported %v", tt.name, h.Delay())
			}
		}
	})
}

// A host that was private and has become public has its delay of a second before the first request,
// although the gate was passed without it.
func TestPrivateTurnsPublic(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, _ wiretest.Head) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return false
		})
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		h.Hurried, h.cfg.Contact = false, true
		u := urlOf(t, "http://h.test/")
		h.Fetch(u, nil, wantAll)
		h.c.Reach = func(netip.Addr) Reach { return Public }
		if _, err := h.Fetch(u, nil, wantAll); err != nil {
			t.Fatal(err)
		}
		seen := w.Seen()
		if gap := seen[1].At.Sub(seen[0].At); gap < time.Second {
			t.Errorf("gap %v", gap)
		}
	})
}

// Only a limited number of requests go to one public address at the same time, however many hosts
// are there.
func TestPerIPCap(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var under, most atomic.Int64
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, _ wiretest.Head) bool {
			n := under.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(20 * time.Millisecond)
			under.Add(-1)
			io.WriteString(c, wiretest.OKAnswer)
			return true
		})
		for _, isPublic := range []bool{true, false} {
			most.Store(0)
			h := newTestSession(t, Options{MaxPerIP: 3, Visits: 128}, w.Addr().String(), "h.test")
			if isPublic {
				h.c.Reach = func(netip.Addr) Reach { return Public }
			}
			h.cfg.Contact = true
			var wg sync.WaitGroup
			for i := range 20 {
				session := sessionOn(t, h.c, h.cfg, fmt.Sprintf("h%d.test", i))
				wg.Go(func() {
					if _, err := session.Fetch(urlOf(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if n := most.Load(); isPublic && n > 3 || !isPublic && n <= 3 {
				t.Errorf("public %v: %d at once", isPublic, n)
			}
			for _, a := range h.c.ipLimiters.all {
				if a.inFlight != 0 || len(a.queue) != 0 || len(a.idle) > 3 {
					t.Errorf("after the last answer: %d places taken, %d wait, %d connections kept", a.inFlight, len(a.queue), len(a.idle))
				}
			}
		}
	})
}
