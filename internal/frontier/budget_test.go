package frontier

import (
	"context"
	"encoding/json"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/simnet"
)

func yes() bool { return true }

// slowKV answers slowly.
type slowKV struct{ fakeKV }

const slowKVTakes = 900 * time.Millisecond

func (k *slowKV) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	time.Sleep(slowKVTakes)
	return k.fakeKV.Get(ctx, key)
}

// While NATS is slow, nothing waits for it with the lock of the shard held: leases are renewed and
// events applied meanwhile.
func TestThePageBudgetIsNotAwaitedUnderTheShardsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.s.Ledger.Budget = &budget.Budget{Log: slog.New(slog.DiscardHandler).Error, Async: true}
		b.s.Ledger.Budget.SetLimit(5, 0)
		b.s.Ledger.Budget.Open(t.Context(), &slowKV{})
		b.s.Ledger.Budget.Join(0, 0, 0, yes, false)
		b.links(0, "", pagesOf(10)...)
		urls, slowest := 0, time.Duration(0)
		for range 1000 {
			began := time.Now()
			b.s.Ledger.Mu.Lock()
			vs := b.grant(1)
			b.s.Ledger.Budget.GiveBack(0)
			b.s.Ledger.Mu.Unlock()
			slowest = max(slowest, time.Since(began))
			for _, v := range vs {
				urls += len(v.URLs)
				b.finish(v, crawl.Stored, "")
			}
			time.Sleep(50 * time.Millisecond)
		}
		if slowest > 0 {
			t.Errorf("the lock of the shard was held for %v during the wait for the record", slowest)
		}
		if urls != 5 {
			t.Errorf("%d pages granted of --max-pages 5", urls)
		}
		time.Sleep(10 * time.Second) // for pending writes
	})
}

// While the page budget is empty, a grant that only finds pages to fetch must not signal that
// something is due: the matcher would try again at once, and keep a core busy.
func TestAnEmptyPageBudgetIsNotASignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.limit(1)
		b.links(0, "", "http://a.example/", "http://b.example/")
		if n := len(b.grant(2)); n != 1 {
			t.Fatalf("%d visits, the budget is one page", n)
		}
		select {
		case <-b.s.Visits.Notify: // the links
		default:
		}
		err := b.s.Ledger.Guarded(func() error {
			if n := len(b.grant(1)); n != 0 {
				t.Errorf("%d visits beyond the budget", n)
			}
			return nil
		})
		if err != nil || len(b.s.Visits.Notify) > 0 {
			t.Errorf("a grant that found no page to spare signals that something is due (%v)", err)
		}
		if due := b.s.Visits.NextDue(time.Now()); !due.After(time.Now()) {
			t.Errorf("due at %v, it is %v", due, time.Now())
		}
	})
}

// A frontier that stops gives back what its shards do not need.
func TestBudgetOfAFrontierThatStops(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		spec := testSpec("http://h0.example/")
		spec.Scope, spec.MaxPages = "any", 1000
		c := newCrew(t, spec)
		a := c.start("a")
		s := c.script()
		s.work(10)
		reserved := func() int64 {
			e, err := c.kv.Get(t.Context(), "budget")
			if err != nil {
				return 0
			}
			var rec struct{ Reserved map[int]int64 }
			if err := json.Unmarshal(e.Value(), &rec); err != nil {
				t.Fatal(err)
			}
			return rec.Reserved[0]
		}
		until(t, 20*time.Second, "slots are reserved", func() bool { s.work(3); return reserved() > 100 })
		a.stop()
		if n := reserved(); n > 100 {
			t.Errorf("%d slots are still reserved", n)
		}
	})
}
