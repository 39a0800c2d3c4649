package claims

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
)

const host = "a.example"

// records are a store in memory that behaves like a NATS server: a write whose revision is not the
// latest is refused.
type records struct {
	mu       sync.Mutex
	last     uint64
	edition  string
	records  map[string]record
	revision map[string]uint64
	writes   int
	reads    int
}

func newRecords() *records {
	return &records{records: map[string]record{}, revision: map[string]uint64{}}
}

// link is the connection of one process to the store.
type link struct {
	to   *records
	mu   sync.Mutex
	cut  bool                 // no message arrives
	deaf bool                 // writes arrive, but their answers do not
	lag  func() time.Duration // of each way; nil: none
}

func (l *link) set(cut, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut, l.deaf = cut, deaf
}

func (l *link) get() (cut, deaf bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut, l.deaf
}

// way is one way of a message. After an error it never arrives.
func (l *link) way(ctx context.Context, back bool) error {
	if l.lag != nil {
		time.Sleep(l.lag())
	}
	if cut, deaf := l.get(); cut || deaf && back {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (l *link) read(ctx context.Context, key string) (record, uint64, error) {
	if err := l.way(ctx, false); err != nil {
		return record{}, 0, err
	}
	l.to.mu.Lock()
	r, revision := l.to.records[key], l.to.revision[key]
	l.to.reads++
	l.to.mu.Unlock()
	return r, revision, l.way(ctx, true)
}

func (l *link) write(ctx context.Context, key string, r record, revision uint64) (uint64, error) {
	if err := l.way(ctx, false); err != nil {
		return 0, err
	}
	l.to.mu.Lock()
	changed := l.to.revision[key] != revision
	if !changed {
		l.to.last++
		l.to.records[key], l.to.revision[key] = r, l.to.last
		revision = l.to.last
	}
	l.to.writes++
	l.to.mu.Unlock()
	if err := l.way(ctx, true); err != nil {
		return 0, err
	}
	if changed {
		return 0, errChanged
	}
	return revision, nil
}

func (l *link) last(ctx context.Context) (uint64, string, error) {
	if err := l.way(ctx, false); err != nil {
		return 0, "", err
	}
	l.to.mu.Lock()
	last, edition := l.to.last, l.to.edition
	l.to.mu.Unlock()
	return last, edition, l.way(ctx, true)
}

func (l *link) forget(ctx context.Context, revision uint64) error {
	if err := l.way(ctx, false); err != nil {
		return err
	}
	l.to.mu.Lock()
	for key, of := range l.to.revision {
		if of <= revision {
			delete(l.to.records, key)
			delete(l.to.revision, key)
		}
	}
	l.to.mu.Unlock()
	return l.way(ctx, true)
}

func nothing() {}

// process is a process that fetches for a crawl, with a clock of its own.
func process(s *records, name crawl.Names, n int) (*Claims, *link) {
	l := &link{to: s}
	began := time.Now()
	clock := func() time.Duration { return time.Since(began) + time.Duration(n)*time.Hour }
	return newClaims(l, clock, Options{Crawl: name, Process: fmt.Sprint("p", n), Log: slog.New(slog.DiscardHandler)}), l
}

// must claims a host for which no wait is needed.
func must(t *testing.T, c *Claims) (*Claim, *wire.Lease) {
	t.Helper()
	k, wait := c.Take(t.Context(), host, time.Second, nothing)
	if k == nil {
		t.Fatalf("no claim; ask again in %v", wait)
	}
	l, _ := k.Hold(t.Context())
	return k, l
}

// Crawls take turns at a host, with the pause between them that the last one asked for.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stay, rest, length = 8 * time.Second, 2 * time.Second, 10 * time.Minute
		s := newRecords()
		var mu sync.Mutex
		visits, last, busy := map[crawl.Names]int{}, time.Time{}, ""
		ctx, stop := context.WithTimeout(t.Context(), length)
		defer stop()
		var wg sync.WaitGroup
		for i, name := range []crawl.Names{"a", "a", "b", "c"} {
			if i == 1 { // a second process of the same crawl; the frontier has one visit at a time
				continue
			}
			c, _ := process(s, name, i)
			other, _ := process(s, name, i+10)
			wg.Go(func() {
				for n := 0; ctx.Err() == nil; n++ {
					if n%2 == 1 {
						c, other = other, c
					}
					k, _ := c.Take(ctx, host, rest, nothing)
					if k == nil {
						continue
					}
					lease, _ := k.Hold(ctx)
					mu.Lock()
					if gap := time.Since(last); busy != "" || gap < rest {
						t.Errorf("%s came %v after the last, while %q was there", name, gap, busy)
					}
					visits[name]++
					busy = string(name)
					mu.Unlock()
					time.Sleep(stay)
					mu.Lock()
					busy, last = "", time.Now()
					mu.Unlock()
					if ctx.Err() == nil && !lease.Alive() {
						t.Errorf("the claim of %s was not renewed", name)
					}
					k.Release(context.WithoutCancel(ctx), time.Now().Add(rest))
					time.Sleep(rest) // its frontier
				}
			})
		}
		wg.Wait()
		all, most := 0, int(length/(stay+rest))
		for _, name := range []crawl.Names{"a", "b", "c"} {
			all += visits[name]
			if n := visits[name]; n < most/3-3 || n > most/3+3 {
				t.Errorf("%d visits of crawl %s of %d", n, name, most)
			}
		}
		// A process that waits reads the record once a second.
		if all < most*8/10 {
			t.Errorf("%d visits, of %d that are possible", all, most)
		}
	})
}

// A process that was killed at a host keeps others away until nothing of it can still arrive and
// the pause of the host has ended, and no longer.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, link := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		must(t, a)
		time.Sleep(25 * time.Second)
		link.set(true, true)
		began := time.Now()
		must(t, b)
		if took := time.Since(began); took < 10*time.Second+time.Second || took > 18*time.Second {
			t.Errorf("the next crawl was there after %v", took)
		}
	})
}

// Another process of the same crawl may come at once, because its frontier decides when.
func TestSameCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		other, _ := process(s, "a", 2)
		k, lease := must(t, a)
		began := time.Now()
		must(t, other)
		if took := time.Since(began); took > 0 {
			t.Errorf("another process of the crawl waited %v", took)
		}
		time.Sleep(4 * time.Second)
		if lease.Alive() {
			t.Error("both of them may ask for something")
		}
		k.Release(t.Context(), time.Now())
		s.mu.Lock()
		defer s.mu.Unlock()
		if r := s.records[keyOf(host)]; !r.Held || r.Process != "p2" {
			t.Errorf("the first one released the second one's claim: %+v", r)
		}
	})
}

// A process that is cut off stops before the next one begins, and the pause of the host has ended
// by then.
func TestCutOff(t *testing.T) {
	for name, deaf := range map[string]bool{"cut off": false, "without answers": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newRecords()
				a, link := process(s, "a", 1)
				b, _ := process(s, "b", 2)
				_, lease := must(t, a)
				time.Sleep(12 * time.Second)
				link.set(!deaf, deaf)
				var last atomic.Pointer[time.Time]
				go func() {
					for lease.Alive() {
						now := time.Now()
						last.Store(&now)
						time.Sleep(time.Millisecond)
					}
				}()
				must(t, b)
				if gap := time.Since(*last.Load()); lease.Alive() || gap < time.Second || gap > 14*time.Second {
					t.Errorf("the next one began %v after the last request could, which still is: %v", gap, lease.Alive())
				}
			})
		})
	}
}

// A delay that was learnt at a host is known to others even if the process that learnt it was
// killed.
func TestDelayIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, link := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		k, _ := must(t, a)
		k.addDelay(30 * time.Second)
		synctest.Wait()
		killed := time.Now()
		link.set(true, true)
		must(t, b)
		if took := time.Since(killed); took < 40*time.Second {
			t.Errorf("the next one began %v after a site had asked for 30 s", took)
		}
	})
}

// A process that requested nothing of a host leaves the pause as it was.
func TestRestIsPassedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		k, _ := must(t, a)
		k.Release(t.Context(), time.Now().Add(20*time.Second))
		k, _ = must(t, a)
		k.Release(t.Context(), time.Time{})
		began := time.Now()
		must(t, b)
		if took := time.Since(began); took < 20*time.Second || took > 22*time.Second {
			t.Errorf("the host rested for %v", took)
		}
	})
}

// A host with a long pause is left to its frontier, and is still free at the right time.
func TestLongRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		k, _ := must(t, a)
		k.Release(t.Context(), time.Now().Add(time.Hour)) // no more than MaxPause is published
		k, wait := b.Take(t.Context(), host, time.Second, nothing)
		if k != nil || wait != MaxPause {
			t.Fatalf("a claim %v, or a wait of %v", k, wait)
		}
		time.Sleep(wait)
		if k, wait = b.Take(t.Context(), host, time.Second, nothing); k == nil {
			t.Errorf("after that, a wait of %v", wait)
		}
	})
}

// A process that waits in vain stops waiting, and its entry blocks nobody for longer than a turn.
func TestInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		k, _ := must(t, a)
		freed := 0
		if k, wait := b.Take(t.Context(), host, time.Second, func() { freed++ }); k != nil || wait != AskLater || freed != 1 {
			t.Errorf("a claim %v, a wait of %v, %d hands freed", k, wait, freed)
		}
		k.Release(t.Context(), time.Now().Add(time.Second))
		began := time.Now()
		k, _ = must(t, a)
		if took := time.Since(began); took < 5*time.Second || took > 8*time.Second {
			t.Errorf("the host was kept free for %v for one that is gone", took)
		}
		k.Release(t.Context(), time.Now())
		began = time.Now()
		must(t, a)
		if took := time.Since(began); took != 0 {
			t.Errorf("and once more for %v", took)
		}
	})
}

// If many wait, some keep their slots, so that no more visits come.
func TestManyWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		b, _ := process(s, "b", 2)
		b.most = 3
		must(t, a)
		var mu sync.Mutex
		freed := 0
		for range 5 {
			go b.Take(t.Context(), host, time.Second, func() { mu.Lock(); freed++; mu.Unlock() })
		}
		time.Sleep(3 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if synctest.Wait(); freed != 3 || b.waiting != 0 {
			t.Errorf("%d of 5 gave their hands back, and %d wait", freed, b.waiting)
		}
	})
}

// A visit costs two writes, and no read if the process was the last at the host.
func TestCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newRecords()
		a, _ := process(s, "a", 1)
		for range 10 {
			k, _ := must(t, a)
			time.Sleep(time.Second)
			k.Release(t.Context(), time.Now())
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.writes != 20 || s.reads != 1 {
			t.Errorf("%d writings and %d readings of 10 visits", s.writes, s.reads)
		}
	})
}

// The memory for records does not grow with the number of hosts.
func TestSeenIsBounded(t *testing.T) {
	c := newClaims(nil, boottime.Now, Options{Crawl: "a", Process: "p"})
	for i := range 2*maxSeen + 1 {
		c.wrote(fmt.Sprint(i), record{}, 1, 0)
		if len(c.seen) > maxSeen {
			t.Fatalf("%d records are remembered", len(c.seen))
		}
	}
}

// Whatever happens to messages and processes, no two crawls are at a host at the same time, and
// there is a pause between their requests.
func TestAnyOrder(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) { anyOrder(t, seed) })
	}
}

func anyOrder(t *testing.T, seed uint64) {
	const delay = 700 * time.Millisecond
	var mu sync.Mutex
	rnd := rand.New(rand.NewPCG(seed, 1))
	below := func(d time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(rnd.Int64N(int64(d) + 1))
	}
	s := newRecords()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Minute)
	defer stop()
	var wg sync.WaitGroup
	var last time.Time
	var by crawl.Names
	asked := map[crawl.Names]int{}
	for i, name := range []crawl.Names{"a", "b", "c"} {
		frontier := make(chan struct{}, 1) // one visit of a crawl at a time
		frontier <- struct{}{}
		for j := range 2 {
			// Clocks that differ, and run differently.
			began, rate := time.Now(), 1+0.02*float64(i-1)
			clock := func() time.Duration {
				return time.Duration(float64(time.Since(began))*rate) + time.Duration(10*i+j)*time.Hour
			}
			l := &link{to: s, lag: func() time.Duration { return below(100 * time.Millisecond) }}
			c := newClaims(l, clock, Options{Crawl: name, Process: fmt.Sprint(i, j), Log: slog.New(slog.DiscardHandler)})
			wg.Go(func() { // faults
				for ctx.Err() == nil {
					time.Sleep(below(time.Minute))
					l.set(below(1) == 0, below(2) == 0)
					time.Sleep(below(20 * time.Second))
					l.set(false, false)
				}
			})
			wg.Go(func() {
				for ctx.Err() == nil {
					<-frontier
					visit, end := context.WithTimeout(ctx, 3*time.Minute)
					k, _ := c.Take(visit, host, delay, nothing)
					if k == nil {
						end()
						frontier <- struct{}{}
						continue
					}
					lease, held := k.Hold(visit)
					rest, killed := time.Time{}, false
					for range 8 {
						time.Sleep(below(3 * time.Second))
						if !lease.Alive() || held.Err() != nil {
							break
						}
						mu.Lock()
						if gap := time.Since(last); by != name && gap < delay {
							t.Errorf("seed %d: %s asked %v after %s", seed, name, gap, by)
						}
						by, last = name, time.Now()
						asked[name]++
						mu.Unlock()
						rest = time.Now().Add(delay)
						if killed = below(50) == 0; killed {
							lease.End()
							break
						}
					}
					switch {
					case killed: // releases nothing
						k.cancel()
					case lease.Alive() || below(1) == 0:
						k.Release(context.WithoutCancel(ctx), rest)
					default:
						k.cancel()
					}
					end()
					time.Sleep(delay)
					frontier <- struct{}{}
				}
			})
		}
	}
	wg.Wait()
	for _, name := range []crawl.Names{"a", "b", "c"} {
		if asked[name] < 30 {
			t.Errorf("seed %d: crawl %s asked %d times: %v", seed, name, asked[name], asked)
		}
	}
}

// The limits of what is read, at them and beyond them.
func TestDecode(t *testing.T) {
	good := record{Crawl: "a", Process: "p", Number: 7, Pause: MaxPause, Want: make([]crawl.Names, maxWant)}
	long := good
	long.Want = make([]crawl.Names, maxWant+1)
	resting := good
	resting.Pause++
	for _, c := range []struct {
		r  record
		ok bool
	}{{good, true}, {long, false}, {resting, false}, {record{Pause: -1}, false}} {
		b, err := c.r.encode()
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(b); (got.Process == c.r.Process && !got.Held) != c.ok {
			t.Errorf("%s was read as %+v", b, got)
		}
	}
	for n, held := range map[int]bool{maxRecord: false, maxRecord + 1: true} {
		b := fmt.Appendf(nil, `{"process":"p"%*s}`, n-len(`{"process":"p"}`), "")
		if got := decode(b); got.Held != held || len(b) != n {
			t.Errorf("a record of %d bytes was read as %+v", len(b), got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"crawl":"a","process":"p","number":3,"held":true,"rest":1000000000,"want":["b"]}`))
	f.Add([]byte(`{"rest":9e99}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := sighting{rec: decode(b), revision: 1}
		at := terms{"mine", "me"}
		if left := s.left(&at, time.Second, 0); left < 0 || left > MaxPause+term*3/2 {
			t.Errorf("%q: a wait of %v", b, left)
		}
		if r, ok := s.marked(&at, 0); ok && len(r.Want) > maxWant {
			t.Errorf("%q: %d wait", b, len(r.Want))
		}
		_ = s.wanting(&at)
	})
}

func TestKeys(t *testing.T) {
	for host, key := range map[string]string{
		"a.example": "h.a.example", "127.0.0.1": "h.127.0.0.1", "_x-1.example": "h._x-1.example",
		"[::1]": "x.", "a..example": "x.", "a.example.": "x.", ".a": "x.", "": "x.",
	} {
		if got := keyOf(canon.Host(host)); got != key && !(key == "x." && len(got) == 34 && got[:2] == key) {
			t.Errorf("%q has the key %q", host, got)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := Open(t.Context(), nil, Options{Crawl: "a"}); err == nil || errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
