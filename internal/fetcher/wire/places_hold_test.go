package wire

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// sharedSessions are sessions on names that share one public address.
func sharedSessions(t testing.TB, opt Options, addr string, n int) []*Session {
	h := newTestSession(t, opt, addr, "h.test")
	h.c.Reach = func(netip.Addr) Reach { return Public }
	h.cfg.Contact = true
	sessions := make([]*Session, n)
	for i := range sessions {
		sessions[i] = sessionOn(t, h.c, h.cfg, fmt.Sprintf("h%d.test", i))
	}
	return sessions
}

// A request that has to wait for a token waits before it connects. A server closes a connection on
// which nothing is sent, and that would count against its pages.
func TestPlaceBeforeTheConnection(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		b := wiretest.NewBusy(t, simnet.Of(t), 50*time.Millisecond, 120*time.Millisecond)
		b.HangsUp = true
		sessions := sharedSessions(t, Options{MaxPerIP: 1, Visits: 64}, b.Addr().String(), 10)
		var wg sync.WaitGroup
		for i, h := range sessions {
			wg.Go(func() {
				if _, err := h.Fetch(urlOf(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll); err != nil {
					t.Errorf("%v: %+v", err, h.FailureOf(err))
				}
			})
		}
		wg.Wait()
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if b.MostOpen > 1 || b.HungUp > 0 || b.Answers != 10 {
			t.Errorf("%d connections open at once, want 1; %d ended without a request, %d answers", b.MostOpen, b.HungUp, b.Answers)
		}
	})
}

// Connections that are kept for later count, too: no more of them stay open at an address than may
// be used at the same time.
func TestKeptConnectionsOfAnAddress(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		b := wiretest.NewBusy(t, simnet.Of(t), 0, 0)
		sessions := sharedSessions(t, Options{MaxPerIP: 3, Visits: 64}, b.Addr().String(), 10)
		for range 2 {
			for i, h := range sessions {
				if _, err := h.Fetch(urlOf(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll); err != nil {
					t.Fatal(err)
				}
			}
		}
		open := 0
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			b.Mu.Lock()
			open = b.Open
			b.Mu.Unlock()
			if open <= 3 {
				return
			}
		}
		t.Errorf("%d connections stay open, want 3 at most", open)
	})
}

// A connection that its server closes while a request waits for a token is not written to.
func TestAConnectionIsClosedDuringTheWait(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			io.WriteString(c, wiretest.OKAnswer)
			if h.Conn == 0 {
				time.Sleep(1040 * time.Millisecond)
			}
			return h.Conn != 0
		})
		sessions := sharedSessions(t, Options{}, w.Addr().String(), 2)
		fetch := func(i int) {
			if _, err := sessions[i].Fetch(urlOf(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll); err != nil {
				t.Error(err)
			}
		}
		for _, h := range sessions {
			h.Hurried = false
		}
		fetch(0)
		// No token is free for 125 ms after that.
		time.AfterFunc(950*time.Millisecond, func() { fetch(1) })
		fetch(0)
		var unsent []bool
		for _, x := range sessions[0].Traced {
			unsent = append(unsent, x.Unsent)
		}
		if want := []bool{false, true, false}; !slices.Equal(unsent, want) {
			t.Errorf("requests that were not sent: %v, want %v", unsent, want)
		}
	})
}
