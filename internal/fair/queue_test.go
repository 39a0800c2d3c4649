package fair

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/testaid"
)

var bg = context.Background()

// wait claims in a goroutine, and writes who got something into the list.
func wait(q *Queue, got *[]string, claims map[string]*Claim, name string, n int64, parties ...Party) {
	go func() {
		c, err := q.Acquire(bg, n, parties...)
		if err == nil {
			*got = append(*got, name)
			claims[name] = c
		}
	}()
	synctest.Wait()
}

func must(t *testing.T, q *Queue, n int64, parties ...Party) *Claim {
	t.Helper()
	c, ok := q.Try(n, parties...)
	if !ok {
		t.Fatalf("%v did not get %d", parties, n)
	}
	return c
}

func TestAloneEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, a := NewQueue(Options{Capacity: 8}), Registered("a.example")
		for range 8 {
			must(t, q, 1, a)
		}
		if _, ok := q.Try(1, a); ok {
			t.Error("there were nine units")
		}
		all := NewQueue(Options{Capacity: 8})
		if c, ok := all.Try(9, a); !ok || c.n != 8 {
			t.Error("a claim for more than there is is not reduced to all of it")
		}
	})
}

func TestShareLeftFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, a, b := NewQueue(Options{Capacity: 8}), Registered("a.example"), Registered("b.example")
		must(t, q, 1, b).Release(0)
		n := 0
		for ; n < 8; n++ {
			if _, ok := q.Try(1, a); !ok {
				break
			}
		}
		if n != 6 {
			t.Errorf("a party had %d of 8 units although somebody else was there, not 6", n)
		}
		must(t, q, 1, b)
		must(t, q, 1, b)
		time.Sleep(2 * time.Minute) // b still has something, so it is still there
		q.giveBack(1, []Party{a}, time.Now())
		if _, ok := q.Try(1, a); ok {
			t.Error("a party took what was left free while the other one was there")
		}
	})
}

func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, c := Registered("a.example"), Registered("b.example"), Registered("c.example")
		q := NewQueue(Options{Capacity: 2})
		must(t, q, 1, b).Release(10) // used something lately
		first, second := must(t, q, 1, a), must(t, q, 1, c)
		var got []string
		claims := map[string]*Claim{}
		wait(q, &got, claims, "a, beyond its share", 1, a)
		wait(q, &got, claims, "b, which used something", 1, b)
		wait(q, &got, claims, "nobody", 1)
		if q.Waiting() != 3 || len(got) != 0 {
			t.Fatalf("%d wait, %v did not", q.Waiting(), got)
		}
		second.Release(1)
		synctest.Wait()
		claims["nobody"].Release(0)
		synctest.Wait()
		claims["b, which used something"].Release(0)
		synctest.Wait()
		if fmt.Sprint(got) != "[nobody b, which used something]" {
			t.Errorf("order: %q; a takes both units although others are there", got)
		}
		first.Release(0)
		synctest.Wait()
		if len(got) != 3 {
			t.Errorf("order: %q; a does not get what it has given back", got)
		}
	})
}

func TestPressed(t *testing.T) {
	var calls []bool
	q, a := NewQueue(Options{Capacity: 16, Pressed: func(high bool) { calls = append(calls, high) }}), Registered("a.example")
	half := must(t, q, 8, a)
	if len(calls) != 0 {
		t.Errorf("%v when half is in use", calls)
	}
	one := must(t, q, 1, a)
	half.Shrink(1)
	if fmt.Sprint(calls) != "[true]" {
		t.Errorf("%v when more than half was in use, and an eighth is", calls)
	}
	one.Release(0)
	must(t, q, 4, a)
	if fmt.Sprint(calls) != "[true false]" {
		t.Errorf("%v when less than an eighth was in use", calls)
	}
}

func TestMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Registered("a.example"), Registered("b.example")
		q := NewQueue(Options{Capacity: 4, Most: 2})
		one := must(t, q, 2, a)
		var got []string
		claims := map[string]*Claim{}
		wait(q, &got, claims, "a", 1, a)
		wait(q, &got, claims, "b", 9, b)
		if fmt.Sprint(got) != "[b]" {
			t.Fatalf("%v; somebody at its limit delays others, or has more than that", got)
		}
		one.Shrink(1)
		claims["b"].Release(0)
		synctest.Wait()
		if fmt.Sprint(got) != "[b a]" {
			t.Errorf("%v after units were given back", got)
		}
	})
}

func TestEndedWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Registered("a.example"), Registered("b.example")
		q := NewQueue(Options{Capacity: 4})
		one := must(t, q, 2, a)
		ctx, cancel := context.WithCancel(bg)
		failed := make(chan error)
		go func() {
			_, err := q.Acquire(ctx, 4, b)
			failed <- err
		}()
		synctest.Wait()
		var got []string
		wait(q, &got, map[string]*Claim{}, "nobody", 1)
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		if len(got) != 1 {
			t.Error("one who waited behind a claim that was given up still waits")
		}
		if c, err := q.Acquire(ctx, 1, b); c != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("a claim with a context that has ended: %v, %v", c, err)
		}
		one.Release(0)
		one.Release(0)
		if q.free != 3 {
			t.Errorf("%d of 4 units are free, not 3", q.free)
		}
	})
}

// One party makes claims that last long, without a pause; another makes short ones one after the
// other. It gets what it gets alone, however many names the first one has.
func TestLongClaimsDoNotDelayOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := func(attack bool) (n int) {
			q := NewQueue(Options{Capacity: 4})
			ctx, cancel := context.WithCancel(bg)
			good, bad := Registered("good.example"), Registered("bad.example")
			if attack {
				for range 60 {
					go func() {
						for {
							c, err := q.Acquire(ctx, 1, bad)
							if err != nil {
								return
							}
							time.Sleep(10 * time.Second)
							c.Release(10)
						}
					}()
				}
			}
			for began := time.Now(); time.Since(began) < time.Hour; n++ {
				c, _ := q.Acquire(bg, 1, good)
				time.Sleep(time.Second)
				c.Release(1)
			}
			cancel()
			// An Acquire that can be granted at once may ignore that its context ended.
			time.Sleep(time.Hour)
			return n
		}
		alone, attacked := count(false), count(true)
		if attacked*100 < alone*95 {
			t.Errorf("%d in an hour, and %d alone", attacked, alone)
		}
	})
}

// Whatever is claimed and given back, and in which order: no unit is invented or lost, no limit is
// violated, and everybody gets what it waits for in the end.
func TestRandomClaims(t *testing.T) {
	for seed := range uint64(testaid.Runs(50, 10)) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 31))
			opt := Options{Capacity: 1 + r.Int64N(20), Share: r.Int64N(4), Most: r.Int64N(9)}
			q := NewQueue(opt)
			opt = opt.withDefaults()
			var done atomic.Int64
			const all = 200
			for range all {
				parties := []Party{Registered(fmt.Sprint(r.IntN(5))), Registered(fmt.Sprint("block", r.IntN(3))), {}}[:r.IntN(4)]
				n, starts, lasts, gives := 1+r.Int64N(5), r.Int64N(1000), r.Int64N(100), r.IntN(3) == 0
				go func() {
					time.Sleep(time.Duration(starts) * time.Millisecond)
					c, err := q.Acquire(bg, n, parties...)
					if err != nil {
						t.Error(err)
						return
					}
					q.mu.Lock()
					if q.free < 0 {
						t.Errorf("%d units are free", q.free)
					}
					for p, has := range q.inUse {
						if has > max(opt.Most, 1) {
							t.Errorf("%v has %d of at most %d", p, has, opt.Most)
						}
					}
					q.mu.Unlock()
					time.Sleep(time.Duration(lasts) * time.Millisecond)
					if gives {
						c.Shrink(1)
					}
					c.Release(float64(lasts))
					done.Add(1)
				}()
			}
			time.Sleep(time.Hour)
			if done.Load() != all || !q.Idle() || len(q.inUse) != 0 || q.Waiting() != 0 {
				t.Errorf("seed %d: %d of %d done, %d of %d free, in use %v, %d wait", seed, done.Load(), all, q.free, opt.Capacity, q.inUse, q.Waiting())
			}
		})
	}
}

func TestUsageFades(t *testing.T) {
	var u Usage
	now, a := time.Unix(1e9, 0), Registered("a.example")
	u.Charge(now, 8, a, Party{})
	if got := u.Of(now.Add(2*time.Minute), a, Registered("b.example")); got < 1.99 || got > 2.01 {
		t.Errorf("8 two minutes ago count %v, not 2", got)
	}
	for i := range 10_000 {
		u.Charge(now.Add(time.Duration(i)*time.Second), 1, Registered(fmt.Sprint(i)))
	}
	if len(u.by) > 3*leastSweep {
		t.Errorf("%d parties are remembered", len(u.by))
	}
}
