package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestGateSpacesRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, start := new(Gate), time.Now()
		for range 3 {
			if err := g.Wait(t.Context(), "a.example", 10*time.Second); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second) // the origin answers
			g.Done("a.example")         // the delay is counted from here
		}
		if got := time.Since(start); got != 26*time.Second {
			t.Errorf("3 requests took %v, want 26s", got)
		}
	})
}

// Whatever the delays and answers are, the time from an end to the next start is never shorter than
// the delay, to the nanosecond, and never longer than necessary.
func TestGateGapIsExact(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		r := rand.New(rand.NewPCG(1, 2))
		var end time.Time
		for i := range 5000 {
			delay := time.Duration(r.Int64N(int64(time.Duration(1) << r.IntN(38))))
			idle := time.Duration(r.Int64N(int64(time.Second)))
			if r.IntN(2) == 0 {
				idle = 0
			}
			time.Sleep(idle)
			if err := g.Wait(t.Context(), "a.example", delay); err != nil {
				t.Fatal(err)
			}
			if gap := time.Since(end); !end.IsZero() && gap != max(delay, idle) {
				t.Fatalf("request %d: gap %v, delay %v, idle %v", i, gap, delay, idle)
			}
			time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
			g.Done("a.example")
			end = time.Now()
		}
	})
}

func TestGateRefusesASecondRequest(t *testing.T) {
	var g Gate
	if err := g.Wait(t.Context(), "a.example", 0); err != nil {
		t.Fatal(err)
	}
	if err := g.Wait(t.Context(), "a.example", 0); !errors.Is(err, ErrBusy) {
		t.Errorf("second Wait: %v, want ErrBusy", err)
	}
	if err := g.Wait(t.Context(), "b.example", 0); err != nil {
		t.Errorf("another host: %v", err)
	}
	g.Done("a.example")
	if err := g.Wait(t.Context(), "a.example", 0); err != nil {
		t.Errorf("after Done: %v", err)
	}
}

// A wait that was stopped reserves nothing, and the delay is still counted from the last end.
func TestGateWaitGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Wait(t.Context(), "a.example", time.Second)
		g.Done("a.example")
		start := time.Now()
		for range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			if err := g.Wait(ctx, "a.example", 10*time.Second); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Wait: %v", err)
			}
			cancel()
		}
		if err := g.Wait(t.Context(), "a.example", 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(start); got != 10*time.Second {
			t.Errorf("started %v after the last end, want 10s", got)
		}
	})
}

func TestGateDoneWithoutWait(t *testing.T) {
	var g Gate
	g.Done("a.example") // without a request it does nothing
	if !g.End("a.example").IsZero() {
		t.Error("an end was noted")
	}
}

func TestGateHostsAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		var wg sync.WaitGroup
		start := time.Now()
		for i := range 50 {
			host := canon.Host(fmt.Sprintf("h%d.example", i))
			wg.Go(func() {
				for range 5 {
					if err := g.Wait(t.Context(), host, time.Second); err != nil {
						t.Error(err)
					}
					g.Done(host)
				}
			})
		}
		wg.Wait()
		if got := time.Since(start); got != 4*time.Second {
			t.Errorf("took %v, want 4s", got)
		}
	})
}

// Hosts are forgotten, but not while a delay may be pending.
func TestGateForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Gate
		g.Wait(t.Context(), "slow.example", time.Hour) // a delay longer than anything we accept
		g.Done("slow.example")
		for i := range 3000 {
			host := canon.Host(fmt.Sprintf("h%d.example", i))
			g.Wait(t.Context(), host, time.Second)
			g.Done(host)
			time.Sleep(time.Second)
		}
		if n := len(g.hosts); n > 2500 {
			t.Errorf("%d hosts remembered", n)
		}
		if g.End("slow.example").IsZero() {
			t.Error("a host was forgotten while its delay ran")
		}
		time.Sleep(2 * time.Hour)
		for i := range 5000 {
			host := canon.Host(fmt.Sprintf("k%d.example", i%3))
			g.Wait(t.Context(), host, 0)
			g.Done(host)
		}
		if n := len(g.hosts); n > 4 {
			t.Errorf("%d hosts remembered after hours of rest", n)
		}
	})
}

func BenchmarkGate(b *testing.B) {
	var g Gate
	for b.Loop() {
		g.Wait(b.Context(), "a.example", 0)
		g.Done("a.example")
	}
}
