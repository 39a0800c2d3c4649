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

// Two frontiers share a limit by one record.
func twoBudgets(t *testing.T, limit int64) (a, b *budget.Budget) {
	return twoBudgetsIn(t, &fakeKV{}, limit)
}

func twoBudgetsIn(t *testing.T, kv jetstream.KeyValue, limit int64) (a, b *budget.Budget) {
	log := slog.New(slog.DiscardHandler).Error
	a, b = &budget.Budget{Log: log, Limit: limit}, &budget.Budget{Log: log, Limit: limit}
	a.Open(t.Context(), kv)
	b.Open(t.Context(), kv)
	return a, b
}

// The owner is killed during visits: their pages may still be reported, so their part of the limit
// stays reserved for a while.
func TestBudgetOfVisitsOfAKilledOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoBudgets(t, 10)
		a.Join(0, 0, 0, yes, false)
		if n := a.Take(0, 10); n != 10 {
			t.Fatalf("%d slots of 10", n)
		}
		a.Use(0, 10, 0) // four stored, six in visits
		b.Join(0, 4, 0, yes, true)
		if n := b.Take(0, 5); n != 0 {
			t.Errorf("%d slots granted while six visits may still report pages", n)
		}
		time.Sleep(budget.ExpiredTime + time.Second)
		if n := b.Take(0, 10); n != 6 {
			t.Errorf("%d slots granted once those visits are forgotten, want 6", n)
		}
	})
}

// The former owner of a shard that was handed over, or lost, does not write for it any more.
func TestBudgetOfAShardThatMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoBudgets(t, 20)
		valid := true
		a.Join(0, 0, 0, func() bool { return valid }, false)
		a.Join(1, 0, 0, yes, false)
		a.Use(0, int64(a.Take(0, 6)), 0)
		a.GiveBack(0)
		valid = false // b has it now, and fills it up
		b.Join(0, 6, 0, yes, false)
		b.Use(0, 6+int64(b.Take(0, 14)), 0)
		if n := b.Share(0).Used; n != 20 {
			t.Fatalf("%d of 20 used", n)
		}
		if n := a.Take(1, 5); n != 0 {
			t.Errorf("%d slots granted beyond the limit by who does not know yet that shard 0 has moved", n)
		}
		a.Forget(0)
		if n := a.Take(1, 5); n != 0 {
			t.Errorf("%d slots granted beyond the limit", n)
		}
		b.Use(0, 12, 0) // eight were no pages
		b.GiveBack(0)
		if n := a.Take(1, 10); n != 8 {
			t.Errorf("%d slots granted, 8 are free", n)
		}
	})
}

// contested refuses one or two writes, with the errors of a single server or of a cluster.
type contested struct {
	fakeKV
	refuse []error
}

func (k *contested) Update(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	if len(k.refuse) > 0 {
		err := k.refuse[0]
		k.refuse = k.refuse[1:]
		return 0, err
	}
	return k.fakeKV.Update(ctx, key, v, revision)
}

// What a shard gives back becomes available to others, also if another write came first, or if the
// first attempt failed: only its owner can give it back.
func TestBudgetGivenBackAtASecondTry(t *testing.T) {
	for name, refused := range map[string]error{
		"overtaken":              &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence},
		"overtaken in a cluster": &jetstream.APIError{Code: 400, ErrorCode: 10164},
		"unanswered":             context.DeadlineExceeded,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kv := &contested{}
				a, b := twoBudgetsIn(t, kv, 20)
				a.Join(0, 0, 0, yes, false)
				b.Join(1, 0, 0, yes, false)
				a.Use(0, int64(a.Take(0, 20)), 0)
				a.Use(0, 5, 0) // fifteen were no pages
				kv.refuse = []error{refused}
				for range 20 { // it is written again and again
					a.GiveBack(0)
					time.Sleep(250 * time.Millisecond)
				}
				if n := b.Take(1, 20); n != 15 {
					t.Errorf("%d slots granted, 15 are free", n)
				}
				if n := a.Take(0, 20); n != 0 {
					t.Errorf("%d slots granted beyond the limit", n)
				}
			})
		})
	}
}

// A shard without work still writes what it uses when there is a limit: its pages count, and what
// it had reserved under another limit is free.
func TestBudgetOfAnIdleShardUnderANewLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoBudgets(t, 0)
		a.Join(0, 7, 0, yes, false)
		b.Join(1, 0, 0, yes, false)
		limit := func(n int64) {
			a.SetLimit(n, 0)
			b.SetLimit(n, 0)
			for range 20 {
				a.GiveBack(0)
				time.Sleep(250 * time.Millisecond)
			}
		}
		limit(10)
		if n := b.Take(1, 10); n != 3 {
			t.Errorf("%d slots granted, 3 are free", n)
		}
		b.Use(1, 0, 0)
		b.GiveBack(1)
		if n := a.Take(0, 3); n != 3 {
			t.Fatalf("%d slots granted, 3 are free", n)
		}
		a.Use(0, 7, 0) // they were no pages
		limit(20)
		if n := b.Take(1, 20); n != 13 {
			t.Errorf("%d slots granted, 13 are free", n)
		}
	})
}

// Bytes that other frontiers read count too.
func TestBytesOfOtherFrontiers(t *testing.T) {
	a, b := twoBudgets(t, 0)
	a.SetLimit(0, 1000)
	b.SetLimit(0, 1000)
	a.Join(0, 0, 600, yes, false)
	b.Join(1, 0, 500, yes, false)
	for _, x := range []*budget.Budget{a, b, a} {
		if err := x.ExchangeBytes(); err != nil {
			t.Error(err)
		}
	}
	if a.Take(0, 1) != 0 || b.Take(1, 1) != 0 {
		t.Error("600 and 500 bytes read, --max-bytes 1000, and more is granted")
	}
}

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
		b.s.ledger.Budget = &budget.Budget{Log: slog.New(slog.DiscardHandler).Error, Limit: 5, Async: true}
		b.s.ledger.Budget.Open(t.Context(), &slowKV{})
		b.s.ledger.Budget.Join(0, 0, 0, yes, false)
		b.links(0, "", pagesOf(10)...)
		urls, slowest := 0, time.Duration(0)
		for range 1000 {
			began := time.Now()
			b.s.ledger.Mu.Lock()
			vs := b.grant(1)
			b.s.ledger.Budget.GiveBack(0)
			b.s.ledger.Mu.Unlock()
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
		err := b.s.ledger.Guarded(func() error {
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
