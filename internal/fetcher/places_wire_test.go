package fetcher

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// startShared runs a fetcher for which 127.0.0.1 is a public address.
func startShared(t testing.TB, d *desk, spec crawl.Spec, opt Options) *Fetcher {
	spec.Contact = "me@example.org"
	f := newFetcher(t, d.q, spec, opt)
	f.client.Reach = func(a netip.Addr) wire.Reach {
		if a.Unmap() == netip.MustParseAddr("127.0.0.1") {
			return wire.Public
		}
		return wire.ReachOf(a)
	}
	runFetcher(t, f)
	return f
}

// Many names at one public address are requested one after the other, with a pause between them, as
// the server sees it.
func TestNamesShareARest(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const names = 12
		b := wiretest.NewBusy(t, simnet.Of(t), 0, 0)
		d := newDesk(t, 1)
		startShared(t, d, testSpec(1, b.Addr().String()), Options{Slots: 64})
		var ids []crawl.VisitID
		for i := range names {
			ids = append(ids, d.grant(open(visitTo(t, fmt.Sprintf("http://h%d.test/", i)))))
		}
		for _, id := range ids {
			if out := d.outcome(id); len(out.Results) != 1 || out.Results[0].Class != crawl.Stored {
				t.Errorf("%s", classes(out))
			}
		}
		b.Mu.Lock()
		defer b.Mu.Unlock()
		if len(b.Starts) != names {
			t.Fatalf("%d requests for %d names", len(b.Starts), names)
		}
		slices.SortFunc(b.Starts, time.Time.Compare)
		for i := 1; i < names; i++ {
			if gap := b.Starts[i].Sub(b.Starts[i-1]); gap < time.Second/8 || gap > time.Second/4 {
				t.Errorf("request %d came %v after the one before", i, gap)
			}
		}
	})
}

// A slow address of many hosts uses its share of the slots and no more. Further visits to it are
// returned without losing an attempt, and other hosts are visited meanwhile.
func TestSlowAddressGivesHandsBack(t *testing.T) {
	virtual(t, func(t *testing.T) {
		stop := make(chan struct{})
		answer := sync.OnceFunc(func() { close(stop) })
		slow := wiretest.New(t, simnet.Of(t), func(c net.Conn, _ wiretest.Head) bool { <-stop; io.WriteString(c, wiretest.OKAnswer); return true })
		fast, err := simnet.Of(t).Listen("tcp", "127.0.0.2:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for {
				c, err := fast.Accept()
				if err != nil {
					return
				}
				bufio.NewReader(c).ReadString('\n')
				io.WriteString(c, strings.Replace(wiretest.OKAnswer, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
				c.Close()
			}
		}()
		defer fast.Close()
		t.Cleanup(answer) // before the origin waits for the end of its answers
		d := newDesk(t, 1)
		spec := testSpec(1, "")
		spec.Resolve = []string{"*.slow.test=" + slow.Addr().String(), "fast.test=" + fast.Addr().String()}
		startShared(t, d, spec, Options{Slots: 8, MaxPerIP: 4})
		var ids []crawl.VisitID
		for i := range 12 {
			u := fmt.Sprintf("http://h%d.slow.test/", i)
			ids = append(ids, d.grant(open(visitTo(t, u, u+"x"))))
		}
		out := d.outcome(d.grant(open(visitTo(t, "http://fast.test/"))))
		if len(out.Results) != 1 || out.Results[0].Class != crawl.Stored || out.NotBefore != 0 {
			t.Errorf("the fast host: %s, %+v", classes(out), out)
		}
		given := 0
		for end := time.Now().Add(time.Minute); given < 10 && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			d.mu.Lock()
			given = 0
			for _, e := range d.events {
				if o := e.Outcome; o != nil && strings.HasSuffix(string(o.Host), ".slow.test") {
					given++
					returned := !slices.ContainsFunc(o.Results, func(r crawl.Result) bool { return r.Class != crawl.Returned })
					if o.NotBefore < time.Second || o.NotBefore > 2*time.Minute || o.Requests != 0 || o.Timeouts != 0 || len(o.Results) != 2 || !returned {
						t.Errorf("%+v", o)
					}
				}
			}
			d.mu.Unlock()
		}
		if given != 10 || len(slow.Seen()) > 2 {
			t.Errorf("%d of 12 visits given back, %d requests at once, want 10 and 2", given, len(slow.Seen()))
		}
		answer()
		served := 0
		for _, id := range ids {
			if o := d.outcome(id); o.Requests > 0 {
				served++
			}
		}
		if served != 2 {
			t.Errorf("%d visits to the slow address were carried out, want 2", served)
		}
	})
}
