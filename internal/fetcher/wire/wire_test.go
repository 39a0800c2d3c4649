package wire

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/canon"
)

// newTestSession is a session on a host, outside of any visit. All names lead to addr on the
// network of the test.
func newTestSession(t testing.TB, opt Options, addr, host string) *Session {
	t.Helper()
	if opt.Dial == nil {
		opt.Dial = simnet.Of(t).Dial
	}
	return newSessionOf(t, opt, addr, host)
}

// newSessionOf is newTestSession with the options unchanged: without Dial it uses real sockets.
func newSessionOf(t testing.TB, opt Options, addr, host string) *Session {
	t.Helper()
	var list []string
	if addr != "" {
		list = []string{"*=" + addr}
	}
	resolve, err := ParseResolve(list)
	if err != nil {
		t.Fatal(err)
	}
	cfg := &Config{Resolve: resolve, AllowPrivate: true, Header: http.Header{
		"User-Agent": {"curtsy/1.0"}, "Accept": {"text/html"}, "Accept-Encoding": {AcceptEncoding},
	}}
	c := NewClient(opt)
	c.check.onFire = func(why string) { t.Error("a request had to be stopped:", why) }
	t.Cleanup(c.Close)
	return sessionOn(t, c, cfg, host)
}

func sessionOn(t testing.TB, c *Client, cfg *Config, host string) *Session {
	ctx, cancel := context.WithCancel(context.Background())
	l, lctx := NewLease(ctx, boottime.Now, boottime.Now(), 10*time.Minute)
	waiting, stop := context.WithCancel(lctx)
	t.Cleanup(func() { stop(); l.End(); cancel() })
	h := c.NewSession(lctx, waiting, cfg, canon.Host(host), l)
	h.Hurried = true
	return h
}

func wantAll(int, http.Header) Wanted  { return Wanted{Limit: 10 << 20} }
func wantNone(int, http.Header) Wanted { return Wanted{} }

func TestRequestOnTheWire(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer("HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"))
		t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
		t.Setenv("http_proxy", "http://127.0.0.1:1")
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		paths := []string{"/", "/a/b?c=d&e", "//double//slash?x=//y", "/%5Ba%5D[b]|", "/a%2Fb;c=d@e:f,g!$'()*+?q=%20{}|\\^`", "/~user/%E4%BD%A0", "//?", "/a:b"}
		var want []string
		for _, p := range paths {
			u := urlOf(t, "http://h.test:8080"+p)
			want = append(want, u.PathQuery())
			if _, err := h.Fetch(u, nil, wantAll); err != nil {
				t.Fatal(err)
			}
		}
		for i, head := range w.Seen() {
			lines := strings.Split(strings.TrimSuffix(head.Text, "\r\n\r\n"), "\r\n")
			if lines[0] != "GET "+want[i]+" HTTP/1.1" {
				t.Errorf("request line %q, want path %q", lines[0], want[i])
			}
			slices.Sort(lines[1:])
			got := strings.Join(lines[1:], "\n")
			if exp := "Accept-Encoding: gzip, br, zstd\nAccept: text/html\nHost: h.test:8080\nUser-Agent: curtsy/1.0"; got != exp {
				t.Errorf("headers:\n%s\nwant:\n%s", got, exp)
			}
			if head.Conn != 0 {
				t.Errorf("request %d came on connection %d", i, head.Conn)
			}
		}
	})
}

// A GET is not repeated without a delay if a connection that was kept turns out to be closed, as
// net/http would do. It is sent again only through the gate.
func TestNoSilentRepeat(t *testing.T) {
	rude := func(c net.Conn, h wiretest.Head) bool {
		if h.Conn == 0 && h.N == 1 {
			return false // the second request on the first connection gets no answer
		}
		c.Write([]byte(wiretest.OKAnswer))
		return true
	}
	t.Run("the connection was closed", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			w := wiretest.New(t, simnet.Of(t), rude)
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			u := urlOf(t, "http://h.test/")
			if _, err := h.exchange(u, nil, wantAll); err != nil {
				t.Fatal(err)
			}
			if a, err := h.exchange(u, nil, wantAll); err == nil {
				t.Errorf("the second request succeeded: %+v", a)
			}
			time.Sleep(50 * time.Millisecond)
			if n := len(w.Seen()); n != 2 {
				t.Errorf("%d requests arrived, want 2", n)
			}
		})
	})
	t.Run("once more after the delay", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			w := wiretest.New(t, simnet.Of(t), rude)
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			h.Delayed = 100 * time.Millisecond
			u := urlOf(t, "http://h.test/")
			for range 2 {
				if a, err := h.Fetch(u, nil, wantAll); err != nil || string(a.Body) != "hello" {
					t.Fatalf("%+v, %v", a, err)
				}
			}
			seen := w.Seen()
			if len(seen) != 3 || h.Requests != 3 {
				t.Fatalf("%d requests arrived, %d counted, want 3", len(seen), h.Requests)
			}
			for i := 1; i < 3; i++ {
				if gap := seen[i].At.Sub(seen[i-1].At); gap < h.Delayed {
					t.Errorf("request %d came %v after the one before", i, gap)
				}
			}
		})
	})
	t.Run("not when it was answered in part", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
				if h.N == 1 {
					c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Le"))
					return false
				}
				c.Write([]byte(wiretest.OKAnswer))
				return true
			})
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			u := urlOf(t, "http://h.test/")
			h.Fetch(u, nil, wantAll)
			_, err := h.Fetch(u, nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonNetwork {
				t.Errorf("%+v", f)
			}
			if n := len(w.Seen()); n != 2 {
				t.Errorf("%d requests arrived, want 2", n)
			}
		})
	})
}

// A "408 Request Timeout" on an idle connection that crosses our request is not the answer to it.
// For a robots.txt this is important, because its 4xx would allow everything.
func TestTimeoutOfAKeptConnection(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const goodbye = "HTTP/1.1 408 Request Time-out\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			if h.N == 1 {
				io.WriteString(c, goodbye)
				return false
			}
			io.WriteString(c, wiretest.OKAnswer)
			return true
		})
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		h.Delayed = 100 * time.Millisecond
		u := urlOf(t, "http://h.test/robots.txt")
		for range 2 {
			if a, err := h.Fetch(u, nil, wantAll); err != nil || a.Status != 200 {
				t.Errorf("%d, %v", a.Status, err)
			}
		}
		seen := w.Seen()
		if len(seen) != 3 {
			t.Fatalf("%d requests arrived, want 3", len(seen))
		}
		for i := 1; i < 3; i++ {
			if gap := seen[i].At.Sub(seen[i-1].At); gap < h.Delayed {
				t.Errorf("request %d came %v after the one before", i, gap)
			}
		}
		// On a new connection it is the answer.
		w = wiretest.New(t, simnet.Of(t), wiretest.Answer(goodbye))
		h = newTestSession(t, Options{}, w.Addr().String(), "h.test")
		if a, err := h.Fetch(u, nil, wantAll); err != nil || a.Status != 408 || len(w.Seen()) != 1 {
			t.Errorf("%d, %v after %d requests", a.Status, err, len(w.Seen()))
		}
	})
}

// Bytes that are not HTTP may be the rest of the answer before. Only on a new connection they are
// the final result of this URL.
func TestTailOfTheLastAnswer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			if h.N == 1 {
				io.WriteString(c, " and more than its length\r\n")
			}
			io.WriteString(c, wiretest.OKAnswer)
			return true
		})
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		u := urlOf(t, "http://h.test/")
		h.Fetch(u, nil, wantAll)
		_, err := h.Fetch(u, nil, wantAll)
		if f := h.FailureOf(err); f.Reason != crawl.ReasonProtocol || f.Final {
			t.Errorf("%+v", f)
		}
		if a, err := h.Fetch(u, nil, wantAll); err != nil || string(a.Body) != "hello" {
			t.Errorf("%q, %v", a.Body, err)
		}
	})
}

// A connection sends one request for each permission, whoever writes to it.
func TestConnNeedsAPermit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
		if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil {
			t.Fatal(err)
		}
		if _, err := h.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != errUnarmed {
			t.Errorf("Write without a permit: %v", err)
		}
		h.Lease.End()
		h.conn.armed.Store(h)
		if _, err := h.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != errLease {
			t.Errorf("Write after the lease: %v", err)
		}
		if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err == nil || !h.FailureOf(err).Unsent {
			t.Errorf("fetch after the lease: %v", err)
		}
		if n := len(w.Seen()); n != 1 {
			t.Errorf("%d requests arrived, want 1", n)
		}
	})
}

// Two origins of a host share the one connection of the host.
func TestOneConnectionPerHost(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w, w2 := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer)), wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		h := newTestSession(t, Options{}, "127.0.0.1", "h.test")
		h.cfg.Resolve = ResolveMap{suffixes: []suffixMapping{{"", mapping{addr: netip.MustParseAddr("127.0.0.1")}}}}
		urls := []string{"http://h.test:" + wiretest.Port(w) + "/", "http://h.test:" + wiretest.Port(w2) + "/", "http://h.test:" + wiretest.Port(w) + "/x"}
		for _, u := range urls {
			if _, err := h.Fetch(urlOf(t, u), nil, wantAll); err != nil {
				t.Fatal(err)
			}
			h.c.conns.mu.Lock()
			if n := len(h.c.conns.conns); n != 1 {
				t.Errorf("%d connections open", n)
			}
			h.c.conns.mu.Unlock()
		}
		if w.Conns != 2 {
			t.Errorf("%d connections to the first origin, want 2: the one to the other came between", w.Conns)
		}
	})
}

func urlOf(t testing.TB, s string) canon.URL {
	t.Helper()
	u, err := canon.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
