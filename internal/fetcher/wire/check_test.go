package wire

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

func TestCheckFires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fired []string
		c := check{onFire: func(why string) { fired = append(fired, why) }}
		if err := c.begin("a.example", time.Second); err != nil {
			t.Fatal(err)
		}
		var v *violation
		if err := c.begin("a.example", 0); !errors.As(err, &v) || !strings.Contains(err.Error(), "is running") {
			t.Errorf("second request at once: %v", err)
		}
		if err := c.begin("b.example", time.Second); err != nil {
			t.Errorf("another host: %v", err)
		}
		c.end("a.example")
		time.Sleep(time.Second - 1)
		if err := c.begin("a.example", time.Second); !errors.As(err, &v) || !strings.Contains(err.Error(), "the delay is") {
			t.Errorf("a nanosecond early: %v", err)
		}
		time.Sleep(time.Nanosecond)
		if err := c.begin("a.example", time.Second); err != nil {
			t.Errorf("in time: %v", err)
		}
		if c.fired.Load() != 2 || len(fired) != 2 {
			t.Errorf("fired %d times, told %v", c.fired.Load(), fired)
		}
	})
}

// A connection may be closed (the lease ran out, the fetcher stops) just when net/http begins to
// write. The check must not count that request as running for ever.
func TestClosedWhileBeginning(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		u := urlOf(t, "http://h.test/")
		if _, err := h.Fetch(u, nil, wantAll); err != nil {
			t.Fatal(err)
		}
		c, now := h.conn, h.Lease.now
		h.Lease.now = func() time.Duration { // called in the middle of Write
			h.Lease.now = now
			h.done(false)
			return now()
		}
		h.started.Store(false)
		c.armed.Store(h)
		if _, err := c.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err == nil {
			t.Error("a request was written to a closed connection")
		}
		if _, err := h.Fetch(u, nil, wantAll); err != nil {
			t.Errorf("the host is closed to us: %v", err)
		}
	})
}

// The delay of the grant is required whatever the session's own account says.
func TestCheckKnowsTheGrant(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		var fired atomic.Int64
		h.c.check.onFire = func(string) { fired.Add(1) }
		h.Granted, h.Delayed = time.Minute, 0 // a mistake
		u := urlOf(t, "http://h.test/")
		if _, err := h.Fetch(u, nil, wantAll); err != nil {
			t.Fatal(err)
		}
		var v *violation
		if _, err := h.exchange(u, nil, wantAll); !errors.As(err, &v) || fired.Load() != 1 || len(w.Seen()) != 1 {
			t.Errorf("%v, fired %d times, %d requests arrived", err, fired.Load(), len(w.Seen()))
		}
	})
}

func TestCheckForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c check
		for i := range 5000 {
			h := canon.Host(fmt.Sprintf("h%d.example", i))
			c.begin(h, time.Second)
			c.end(h)
			time.Sleep(10 * time.Second)
		}
		if n := len(c.hosts); n > 1500 {
			t.Errorf("%d hosts remembered", n)
		}
	})
}

// A host is known from its first request on, also if that request causes a sweep.
func TestCheckKnowsANewHost(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var c check
		forgotten := 0
		for i := range 4096 {
			host := canon.Host(fmt.Sprintf("h%d.example", i))
			if err := c.begin(host, time.Second); err != nil {
				t.Fatal(err)
			}
			if c.begin(host, time.Second) == nil {
				forgotten++
			}
		}
		if forgotten > 0 {
			t.Errorf("%d of 4096 hosts were forgotten while their first request was under way", forgotten)
		}
	})
}
