package frontier

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func yes() bool { return true }

// Two frontiers share a limit through one record.
func twoBudgets(t *testing.T, limit int64) (a, b *budget) {
	kv := &fakeKV{}
	log := slog.New(slog.DiscardHandler).Error
	a, b = &budget{log: log, limit: limit}, &budget{log: log, limit: limit}
	a.open(t.Context(), kv)
	b.open(t.Context(), kv)
	return a, b
}

// The owner dies with visits under way: their pages may yet be told of, so their slots stay taken for a while.
func TestSlotsOfADeadOwnersVisits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoBudgets(t, 10)
		a.join(0, 0, 0, yes, false)
		if n := a.take(0, 10); n != 10 {
			t.Fatalf("%d slots of 10", n)
		}
		a.use(0, 10, 0) // four stored, six in visits
		b.join(0, 4, 0, yes, true)
		if n := b.take(0, 5); n != 0 {
			t.Errorf("%d slots granted while six visits may yet tell of pages", n)
		}
		time.Sleep(ghostTime + time.Second)
		if n := b.take(0, 10); n != 6 {
			t.Errorf("%d slots granted once those visits are forgotten, want 6", n)
		}
	})
}

// A shard that was handed over, or lost, is not spoken for any more by who had it.
func TestSlotsOfAShardThatMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := twoBudgets(t, 20)
		valid := true
		a.join(0, 0, 0, func() bool { return valid }, false)
		a.join(1, 0, 0, yes, false)
		a.use(0, int64(a.take(0, 6)), 0)
		a.giveBack(0)
		valid = false // b has it now, and fills it up
		b.join(0, 6, 0, yes, false)
		b.use(0, 6+int64(b.take(0, 14)), 0)
		if n := b.share(0).used; n != 20 {
			t.Fatalf("%d of 20 used", n)
		}
		if n := a.take(1, 5); n != 0 {
			t.Errorf("%d slots granted beyond the limit by who does not know yet that shard 0 has moved", n)
		}
		a.forget(0)
		if n := a.take(1, 5); n != 0 {
			t.Errorf("%d slots granted beyond the limit", n)
		}
		b.use(0, 12, 0) // eight were no pages
		b.giveBack(0)
		if n := a.take(1, 10); n != 8 {
			t.Errorf("%d slots granted, 8 are free", n)
		}
	})
}

// Bytes read by other frontiers count too.
func TestBytesOfOtherFrontiers(t *testing.T) {
	a, b := twoBudgets(t, 0)
	a.setLimit(0, 1000)
	b.setLimit(0, 1000)
	a.join(0, 0, 600, yes, false)
	b.join(1, 0, 500, yes, false)
	for _, x := range []*budget{a, b, a} {
		x.mu.Lock()
		if err := x.exchangeBytes(); err != nil {
			t.Error(err)
		}
		x.mu.Unlock()
	}
	if a.take(0, 1) != 0 || b.take(1, 1) != 0 {
		t.Error("600 and 500 bytes read, --max-bytes 1000, and more is granted")
	}
}
