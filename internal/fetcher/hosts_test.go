package fetcher

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

func nothing() {}

// A host is visited for one crawl at a time, in the order in which they came, with a pause between
// them.
func TestHostsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		o := newHosts(began)
		var order []string
		task := func(who crawl.Names, arrives time.Duration) {
			time.Sleep(arrives)
			if _, ok := o.enter(t.Context(), "a.example", who, time.Second, nothing); !ok {
				t.Errorf("%s had no turn", who)
				return
			}
			order = append(order, string(who)+" "+time.Since(began).String())
			time.Sleep(10 * time.Second)
			o.leave("a.example", time.Now().Add(2*time.Second))
		}
		go task("a", 0)
		go task("b", 3*time.Second)
		go task("c", 4*time.Second)
		time.Sleep(5 * time.Second)
		if _, ok := o.enter(t.Context(), "b.example", "b", time.Second, nothing); !ok {
			t.Error("another host is kept waiting")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		// An earlier process may have sent requests, so the delay is waited for.
		if len(order) != 3 || order[0] != "a 1s" || order[1] != "b 13s" || order[2] != "c 25s" {
			t.Errorf("%v", order)
		}
	})
}

// A visit that waits in vain is returned, with the time for which the host is better left alone.
// The next one gets its turn.
func TestHostsInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newHosts(time.Now().Add(-time.Hour))
		freed := 0
		free := func() { freed++ }
		o.enter(t.Context(), "a.example", "a", time.Second, free)
		if freed != 0 {
			t.Error("a host that is free was waited for")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, ok := o.enter(ctx, "a.example", "b", time.Second, free); ok || freed != 1 {
			t.Errorf("a turn while another crawl was there: %v, %d", ok, freed)
		}
		if wait, ok := o.enter(t.Context(), "a.example", "b", time.Second, free); ok || wait != askLater {
			t.Errorf("after two minutes: %v, %v", wait, ok)
		}
		if _, ok := o.enter(t.Context(), "a.example", "a", time.Second, free); !ok {
			t.Error("the same crawl, whose lease is over, is kept away from its host")
		}
		o.leave("a.example", time.Time{})
		o.leave("a.example", time.Now().Add(time.Hour))
		if wait, ok := o.enter(t.Context(), "a.example", "b", time.Second, free); ok || wait < 59*time.Minute {
			t.Errorf("a host that asked for an hour's rest: %v, %v", wait, ok)
		}
		time.Sleep(time.Hour)
		if _, ok := o.enter(t.Context(), "a.example", "b", time.Second, free); !ok {
			t.Error("after that hour there is no turn")
		}
	})
}

// The memory for hosts does not grow with the number of hosts that were visited.
func TestHostsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newHosts(time.Now().Add(-time.Hour))
		for i := range 20_000 {
			h := canon.Host(fmt.Sprint("h", i, ".example"))
			if _, ok := o.enter(t.Context(), h, "a", 0, nothing); !ok {
				t.Fatal("no turn")
			}
			o.leave(h, time.Now().Add(time.Millisecond))
			time.Sleep(time.Millisecond)
		}
		if n := len(o.known); n > 3000 {
			t.Errorf("%d hosts are known of 20,000 that were visited one after the other", n)
		}
	})
}
