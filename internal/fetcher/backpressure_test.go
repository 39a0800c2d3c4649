package fetcher

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// A shard whose pages are not accepted delays its own visits and no others. When they are accepted
// again, nothing is lost.
func TestFullShardHoldsUpNobodyElse(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var asked atomic.Int64
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>page</title>")
		})
		d := newDesk(t, 2)
		const slots = 4
		f, stop := startFetcher(t, d, testSpec(2, addr), Options{Slots: slots})
		host := 0
		visit := func(shard int) crawl.Visit { // to a host of a shard, never the same one twice
			for ; ; host++ {
				if name := fmt.Sprintf("h%d.test", host); crawl.ShardOf(canon.Host(name), 2) == shard {
					host++
					v := open(visitTo(t, "http://"+name+"/a", "http://"+name+"/b"))
					v.Shard, v.Lease = shard, 5*time.Second
					return v
				}
			}
		}
		clear := d.stall(0)
		var stuck []crawl.VisitID
		for range 3 * slots {
			stuck = append(stuck, d.grant(visit(0)))
		}
		start := time.Now()
		for range 5 {
			if out := d.outcome(d.grant(visit(1))); classes(out) != "stored stored" {
				t.Errorf("%s", classes(out))
			}
		}
		if took := time.Since(start); took > 5*time.Second { // the stall lasts until clear
			t.Errorf("the other shard's visits took %v", took)
		}
		// New visits of the full shard are returned without a request.
		before := asked.Load()
		if out := d.outcome(d.grant(visit(0))); len(out.Results) != 0 || out.Requests != 0 || asked.Load() != before {
			t.Errorf("a visit nobody can publish: %d requests, %+v", asked.Load()-before, out)
		}
		clear()
		stored := 0
		for _, id := range stuck {
			for _, r := range d.outcome(id).Results {
				if r.Class == crawl.Stored {
					stored++
					d.pageOf(r.URL)
				}
			}
		}
		if stored < 2*slots {
			t.Errorf("%d pages of the full shard arrived", stored)
		}
		if out := d.outcome(d.grant(visit(0))); classes(out) != "stored stored" {
			t.Errorf("after the jam: %s", classes(out))
		}
		stop()
		if n := len(f.slots.p.free); n != slots {
			t.Errorf("%d hands, want %d", n, slots)
		}
	})
}

// What a visit fetched is published however late, pages before the outcome, even long after the end
// of its lease.
func TestPublishingOutlivesTheLease(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<title>page</title>")
		})
		d := newDesk(t, 1)
		var early atomic.Bool
		var room atomic.Bool
		d.seen = func(_ int, e *crawl.Event) {
			if e.Outcome != nil && e.Visit.N == 3 && !room.Load() {
				early.Store(true)
			}
		}
		startFetcher(t, d, testSpec(1, addr), Options{})
		d.mu.Lock()
		d.deaf = true
		d.mu.Unlock()
		clear := d.stall(0)
		for i := range 3 { // the first two fill the subject
			v := open(visitTo(t, fmt.Sprintf("http://h%d.test/a", i), fmt.Sprintf("http://h%d.test/b", i)))
			v.Lease = 2 * time.Second
			id := d.grant(v)
			if i < 2 {
				d.outcome(id)
				continue
			}
			time.Sleep(v.Lease + time.Second)
			room.Store(true)
			clear()
			if out := d.outcome(id); classes(out) != "stored stored" || early.Load() {
				t.Errorf("%s, before its pages: %v", classes(out), early.Load())
			}
			d.pageOf("http://h2.test/b")
		}
	})
}
