package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// The end of the lease cuts off the running request of a session, also if it is not the first one.
func TestTheLeaseEndsDuringALaterRequest(t *testing.T) {
	for n := range 3 {
		simnet.Test(t, func(t *testing.T) {
			w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
				if h.N == n {
					time.Sleep(time.Second)
				}
				io.WriteString(c, wiretest.OKAnswer)
				return true
			})
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			for range n {
				if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			time.AfterFunc(300*time.Millisecond, h.Lease.End)
			if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err == nil {
				t.Errorf("request %d succeeded", n)
			}
			if d := time.Since(began); d != 300*time.Millisecond {
				t.Errorf("request %d ended after %v", n, d)
			}
		})
	}
}

// A session's context closes the connection of a request that begins after its end, and none
// between requests or after the session.
func TestWatch(t *testing.T) {
	for name, tt := range map[string]struct {
		during func(w *watch, end func(), ctx context.Context, c *conn)
		closed bool
	}{
		"during a request": {func(w *watch, end func(), ctx context.Context, c *conn) { w.begin(ctx, c); end() }, true},
		"before a request": {func(w *watch, end func(), ctx context.Context, c *conn) { end(); w.begin(ctx, c) }, true},
		"after a request":  {func(w *watch, end func(), ctx context.Context, c *conn) { w.begin(ctx, c); w.end(); end() }, false},
		"between two requests": {func(w *watch, end func(), ctx context.Context, c *conn) {
			w.begin(ctx, c)
			w.end()
			end()
			time.Sleep(time.Millisecond)
			w.begin(ctx, c)
		}, true},
		"in the second request": {func(w *watch, end func(), ctx context.Context, c *conn) {
			w.begin(ctx, c)
			w.end()
			w.begin(ctx, c)
			end()
		}, true},
		"after the session": {func(w *watch, end func(), ctx context.Context, c *conn) { w.begin(ctx, c); w.end(); w.release(); end() }, false},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				web := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
				h := newTestSession(t, Options{}, web.Addr().String(), "h.test")
				if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, func(int, http.Header) Wanted { return Wanted{Limit: 10} }); err != nil {
					t.Fatal(err)
				}
				ctx, end := context.WithCancel(t.Context())
				defer end()
				tt.during(new(watch), end, ctx, h.conn)
				time.Sleep(time.Millisecond)
				if got := h.conn.shut.Load(); got != tt.closed {
					t.Errorf("the connection is closed: %v", got)
				}
			})
		})
	}
}
