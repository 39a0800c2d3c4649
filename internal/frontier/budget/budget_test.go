package budget

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func yes() bool { return true }

// Two frontiers share a limit by one record.
func twoBudgets(t *testing.T, limit int64) (a, b *Budget) {
	return twoBudgetsIn(t, &memoryKV{}, limit)
}

func twoBudgetsIn(t *testing.T, kv jetstream.KeyValue, limit int64) (a, b *Budget) {
	log := slog.New(slog.DiscardHandler).Error
	a, b = &Budget{Log: log}, &Budget{Log: log}
	a.SetLimit(limit, 0)
	b.SetLimit(limit, 0)
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
		time.Sleep(ExpiredTime + time.Second)
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
		if n, _ := b.Slots(0); n != 20 {
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
	memoryKV
	refuse []error
}

func (k *contested) Update(ctx context.Context, key string, v []byte, revision uint64) (uint64, error) {
	if len(k.refuse) > 0 {
		err := k.refuse[0]
		k.refuse = k.refuse[1:]
		return 0, err
	}
	return k.memoryKV.Update(ctx, key, v, revision)
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
	for _, x := range []*Budget{a, b, a} {
		if err := x.ExchangeBytes(); err != nil {
			t.Error(err)
		}
	}
	if a.Take(0, 1) != 0 || b.Take(1, 1) != 0 {
		t.Error("600 and 500 bytes read, --max-bytes 1000, and more is granted")
	}
}
