package wire

import (
	"context"
	"errors"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var somewhere = netip.MustParseAddr("192.88.1.1")

// ipTokenAt is the token of a visit with one request, to the nth name.
func ipTokenAt(p *ipLimiters, n int) *ipToken {
	return &ipToken{ipLimiters: p, name: uint64(n), requests: 1, patience: limiterPatience}
}

func TestPlaceOf(t *testing.T) {
	for a, want := range map[string]string{
		"8.8.8.8":                      "8.8.8.8",
		"::ffff:8.8.8.8":               "8.8.8.8",
		"64:ff9b::8.8.8.8":             "8.8.8.8",
		"2600:1:2:3::1":                "2600:1:2:3::",
		"2600:1:2:3:ffff:ffff:ffff:ff": "2600:1:2:3::",
		"2600:1:2:4::1":                "2600:1:2:4::",
		"2600:1:2:4::1%eth0":           "2600:1:2:4::",
	} {
		if got := limiterKey(netip.MustParseAddr(a)); got != netip.MustParseAddr(want) {
			t.Errorf("%s counts as %s, want %s", a, got, want)
		}
	}
}

// Names that share an address share its pause: an eighth of the delay after each request, and more
// if there are many names.
func TestRestOfAnAddress(t *testing.T) {
	for _, tt := range []struct {
		names int
		pause time.Duration
	}{{1, time.Second / 8}, {fewNames - 1, time.Second / 8}, {fewNames, time.Second / 4}, {severalNames - 1, time.Second / 4},
		{severalNames, time.Second / 2}, {manyNames - 1, time.Second / 2}, {manyNames, time.Second}, {manyNames + 1000, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			p := &ipLimiters{limit: 8, visits: 1 << 20}
			for n := range tt.names {
				p.enter(somewhere, uint64(n), time.Now())
			}
			var ends time.Time
			for n := range 5 {
				s := ipTokenAt(p, n%tt.names)
				s.begin()
				if err := s.take(t.Context(), somewhere, time.Second, nil); err != nil {
					t.Fatal(err)
				}
				if gap := time.Since(ends); n > 0 && gap != tt.pause {
					t.Errorf("%d names: a request %v after the last answer, want %v", tt.names, gap, tt.pause)
				}
				time.Sleep(10 * time.Millisecond) // the answer
				s.done(nil)
				s.leave()
				ends = time.Now()
			}
			time.Sleep(namesTime + time.Second)
			p.enter(somewhere, 0, time.Now())
			if a := p.all[somewhere]; a.toIdle(time.Second) != tt.pause {
				t.Errorf("%d names: after an hour a rest of %v", tt.names, a.toIdle(time.Second))
			}
			time.Sleep(2*namesTime + time.Second)
			p.enter(somewhere, 0, time.Now())
			if a := p.all[somewhere]; a.toIdle(time.Second) != time.Second/8 {
				t.Errorf("%d names: after hours of one name a rest of %v", tt.names, a.toIdle(time.Second))
			}
		})
	}
}

// Slow answers do not make the next requests start all at once: there is a pause between starts,
// too.
func TestStartsAreARestApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &ipLimiters{limit: 8, visits: 1 << 20}
		var mu sync.Mutex
		var starts []time.Time
		under, most := 0, 0
		var wg sync.WaitGroup
		for n := range 16 {
			wg.Go(func() {
				s := ipTokenAt(p, n)
				s.patience = 0
				s.begin()
				if err := s.take(t.Context(), somewhere, time.Second, nil); err != nil {
					t.Error(err)
				}
				mu.Lock()
				starts = append(starts, time.Now())
				under++
				most = max(most, under)
				mu.Unlock()
				time.Sleep(10 * time.Second)
				mu.Lock()
				under--
				mu.Unlock()
				s.done(nil)
			})
		}
		wg.Wait()
		for i := 1; i < len(starts); i++ {
			if gap := starts[i].Sub(starts[i-1]); gap < time.Second/8 {
				t.Errorf("request %d started %v after the one before", i, gap)
			}
		}
		if most != 8 {
			t.Errorf("%d at once, want 8", most)
		}
	})
}

// Only a share of the visits may be at one address, and those that are returned come again one
// after the other.
func TestShareOfHands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &ipLimiters{limit: 8, visits: 16}
		var here []*ipToken
		var waits []time.Duration
		for n := range 40 {
			s := ipTokenAt(p, n)
			s.patience, s.requests = time.Hour, 8
			s.begin()
			err := s.take(t.Context(), somewhere, time.Second, nil)
			var full *LimiterTimeout
			switch {
			case err == nil:
				s.done(nil) // it pauses, and is still there
				here = append(here, s)
			case errors.As(err, &full):
				waits = append(waits, full.Wait)
			default:
				t.Fatal(err)
			}
		}
		if len(here) != 16 || len(waits) != 24 {
			t.Fatalf("%d visits at the address, want 16", len(here))
		}
		for i, w := range waits {
			if want := time.Duration(i+1) * time.Second; w != want {
				t.Errorf("visit %d is wanted again after %v, want %v", i, w, want)
			}
		}
		here[0].leave()
		s := ipTokenAt(p, 99)
		s.begin()
		if err := s.take(t.Context(), somewhere, time.Second, nil); err != nil {
			t.Errorf("after one left: %v", err)
		}
		other := ipTokenAt(p, 100)
		other.begin()
		if err := other.take(t.Context(), netip.MustParseAddr("192.88.1.2"), time.Second, nil); err != nil {
			t.Errorf("another address: %v", err)
		}
		for range 1000 {
			s := ipTokenAt(p, 200)
			s.requests = 65
			s.begin()
			var full *LimiterTimeout
			if err := s.take(t.Context(), somewhere, time.Second, nil); !errors.As(err, &full) || full.Wait > mostNotBefore || full.Wait < leastNotBefore {
				t.Fatal(err)
			}
		}
	})
}

// A visit waits for a token as long as its patience, and no longer than its context. A token that
// comes then is not lost.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &ipLimiters{limit: 1, visits: 100}
		first := ipTokenAt(p, 0)
		first.begin()
		if err := first.take(t.Context(), somewhere, 0, nil); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		late := ipTokenAt(p, 1)
		late.begin()
		var full *LimiterTimeout
		if err := late.take(t.Context(), somewhere, 0, nil); !errors.As(err, &full) || time.Since(start) != limiterPatience {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		late.done(nil)
		late.leave()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ended := ipTokenAt(p, 2)
		ended.begin()
		start = time.Now()
		if err := ended.take(ctx, somewhere, 0, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		ended.done(nil)
		ended.leave()
		first.done(nil) // after 3 s, for which a token is used
		first.leave()
		next := ipTokenAt(p, 3)
		next.begin()
		if err := next.take(t.Context(), somewhere, 0, nil); err != nil {
			t.Error(err)
		}
		next.done(nil)
		// If the wait is certainly too long, it is not begun.
		for _, tt := range []struct{ pace, waited time.Duration }{
			{addressShare * limiterPatience / 2, limiterPatience / 2}, {addressShare*limiterPatience + addressShare, 0},
		} {
			p := &ipLimiters{limit: 1, visits: 100}
			one, two := ipTokenAt(p, 1), ipTokenAt(p, 2)
			one.begin()
			if err := one.take(t.Context(), somewhere, tt.pace, nil); err != nil {
				t.Fatal(err)
			}
			one.done(nil)
			two.begin()
			start = time.Now()
			err := two.take(t.Context(), somewhere, tt.pace, nil)
			if took := time.Since(start); took != tt.waited || (err == nil) != (tt.waited > 0) {
				t.Errorf("a rest of %v: %v after %v", tt.pace/addressShare, err, took)
			}
		}
	})
}

// Addresses are forgotten, but not while a visit is there, and not if many names lead there.
func TestPlacesForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &ipLimiters{limit: 8, visits: 16}
		at := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{99, byte(i >> 16), byte(i >> 8), byte(i)}) }
		many := at(1 << 20)
		for n := range fewNames {
			p.enter(many, uint64(n), time.Now())
		}
		there := ipTokenAt(p, 1)
		there.begin()
		if err := there.take(t.Context(), at(1<<21), time.Second, nil); err != nil {
			t.Fatal(err)
		}
		for i := range 5000 {
			s := ipTokenAt(p, i)
			s.begin()
			if err := s.take(t.Context(), at(i), time.Second, nil); err != nil {
				t.Fatal(err)
			}
			s.done(nil)
			s.leave()
			time.Sleep(time.Second / 4)
		}
		if n := len(p.all); n > 3000 {
			t.Errorf("%d addresses remembered", n)
		}
		if p.all[many] == nil || p.all[at(1<<21)] == nil {
			t.Error("an address was forgotten too early")
		}
	})
}

// A visit to a host whose address was unknown is refused where a quarter of all visits are, and
// says where that is. Private addresses count, and IPv6 addresses by their /64.
func TestArrive(t *testing.T) {
	for _, c := range []struct{ first, second string }{{"127.0.0.1", "127.0.0.1"}, {"2001:db8::1", "2001:db8::2"}} {
		p := &ipLimiters{visits: 2}
		var all [4]ipToken
		for i := range all {
			all[i].ipLimiters = p
			a := netip.MustParseAddr(c.second)
			if i == 0 {
				a = netip.MustParseAddr(c.first)
			}
			var full *LimiterTimeout
			if err := all[i].arrive(a, true); errors.As(err, &full) != (i >= 2) {
				t.Errorf("visit %d at %s, of which two may be there: %v", i, a, err)
			}
			if got := all[i].blockName(); got != limiterKey(a).String() {
				t.Errorf("visit %d is at %q", i, got)
			}
		}
		if err := all[3].arrive(netip.MustParseAddr("192.0.2.1"), true); err != nil {
			t.Errorf("a visit that goes elsewhere: %v", err)
		}
		all[0].depart()
		all[1].depart()
		late := ipToken{ipLimiters: p}
		if err := late.arrive(netip.MustParseAddr(c.first), true); err != nil {
			t.Errorf("after two visits have ended: %v", err)
		}
		if err := all[0].arrive(netip.MustParseAddr(c.first), false); err != nil {
			t.Errorf("a visit to a host whose address was known: %v", err)
		}
		for _, s := range []*ipToken{&all[0], &all[1], &all[2], &all[3], &late} {
			s.depart()
		}
		if len(p.visitsAt) != 0 {
			t.Errorf("no visit is left, and %v are counted", p.visitsAt)
		}
	}
}
