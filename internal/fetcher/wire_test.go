package fetcher

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// wire is an origin that shows what really arrives, and answers with whatever bytes a test wants.
type wire struct {
	net.Listener
	mu    sync.Mutex
	heads []head
	conns int
	wg    sync.WaitGroup
}

type head struct {
	conn, n int // which connection, which request on it, from 0
	text    string
	at      time.Time
}

// newWire answers each request with what answer writes; false closes the connection after.
func newWire(t testing.TB, answer func(c net.Conn, h head) bool) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l}
	var open sync.Map
	w.wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.conns++
			w.mu.Unlock()
			open.Store(c, true)
			w.wg.Go(func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for i := 0; ; i++ {
					h := head{conn: n, n: i}
					for {
						line, err := br.ReadString('\n')
						if err != nil {
							return
						}
						h.text += line
						if line == "\r\n" {
							break
						}
					}
					h.at = time.Now()
					w.mu.Lock()
					w.heads = append(w.heads, h)
					w.mu.Unlock()
					if !answer(c, h) {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		open.Range(func(c, _ any) bool { c.(net.Conn).Close(); return true })
		w.wg.Wait()
	})
	return w
}

func (w *wire) seen() []head {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heads)
}

const okAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"

func say(s string) func(net.Conn, head) bool {
	return func(c net.Conn, _ head) bool { c.Write([]byte(s)); return true }
}

// newTestHold is a hold on a host, outside of any visit, whose every name leads to addr.
func newTestHold(t testing.TB, opt Options, addr, host string) *hold {
	t.Helper()
	opt = opt.withDefaults()
	cfg, err := newConfig(testSpec(1, addr))
	if err != nil {
		t.Fatal(err)
	}
	c := newClient(opt)
	c.check.onFire = func(why string) { t.Error("a request had to be stopped:", why) }
	t.Cleanup(c.close)
	return holdOn(t, c, cfg, host)
}

func holdOn(t testing.TB, c *client, cfg *config, host string) *hold {
	ctx, cancel := context.WithCancel(context.Background())
	l, lctx := newLease(ctx, bootTime, bootTime(), time.Minute)
	waiting, stop := context.WithCancel(lctx)
	t.Cleanup(func() { stop(); l.end(); cancel() })
	h := c.newHold(lctx, waiting, cfg, canon.Host(host), l)
	h.hurried = true
	return h
}

func wantAll(int, http.Header) wanted  { return wanted{limit: 10 << 20} }
func wantNone(int, http.Header) wanted { return wanted{} }

func TestRequestOnTheWire(t *testing.T) {
	w := newWire(t, say("HTTP/1.1 200 OK\r\nSet-Cookie: a=b; Path=/\r\nContent-Length: 0\r\n\r\n"))
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("http_proxy", "http://127.0.0.1:1")
	h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
	paths := []string{"/", "/a/b?c=d&e", "//double//slash?x=//y", "/%5Ba%5D[b]|", "/a%2Fb;c=d@e:f,g!$'()*+?q=%20{}|\\^`", "/~user/%E4%BD%A0", "//?", "/a:b"}
	var want []string
	for _, p := range paths {
		u := mustURL(t, "http://h.test:8080"+p)
		want = append(want, u.PathQuery())
		if _, err := h.fetch(u, nil, wantAll); err != nil {
			t.Fatal(err)
		}
	}
	for i, head := range w.seen() {
		lines := strings.Split(strings.TrimSuffix(head.text, "\r\n\r\n"), "\r\n")
		if lines[0] != "GET "+want[i]+" HTTP/1.1" {
			t.Errorf("request line %q, want path %q", lines[0], want[i])
		}
		slices.Sort(lines[1:])
		got := strings.Join(lines[1:], "\n")
		if exp := "Accept-Encoding: gzip, br, zstd\nAccept: text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.1\n" +
			"Host: h.test:8080\nUser-Agent: curtsy/" + Version; got != exp {
			t.Errorf("headers:\n%s\nwant:\n%s", got, exp)
		}
		if head.conn != 0 {
			t.Errorf("request %d came on connection %d", i, head.conn)
		}
	}
}

func TestUserAgentNamesTheContact(t *testing.T) {
	if got := userAgent(crawl.Spec{Agent: "mybot", Contact: "https://example.org/bot"}); got != "mybot/"+Version+" (+https://example.org/bot)" {
		t.Error(got)
	}
}

// net/http repeats a GET by itself, without any delay, when a connection it kept turns out closed. Ours must not: the
// request goes out again only through the gate.
func TestNoSilentRepeat(t *testing.T) {
	rude := func(c net.Conn, h head) bool {
		if h.conn == 0 && h.n == 1 {
			return false // the second request on the first connection: closed without a word
		}
		c.Write([]byte(okAnswer))
		return true
	}
	t.Run("net/http does", func(t *testing.T) { // if this fails, net/http has changed, and so may our reason
		w := newWire(t, rude)
		var c http.Client
		for range 2 {
			resp, err := c.Get("http://" + w.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			var b [10]byte
			resp.Body.Read(b[:])
			resp.Body.Close()
		}
		c.CloseIdleConnections()
		if n := len(w.seen()); n != 3 {
			t.Errorf("%d requests, thought it would be 3", n)
		}
	})
	t.Run("we do not", func(t *testing.T) {
		w := newWire(t, rude)
		h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
		u := mustURL(t, "http://h.test/")
		if _, err := h.exchange(u, nil, wantAll); err != nil {
			t.Fatal(err)
		}
		if a, err := h.exchange(u, nil, wantAll); err == nil {
			t.Errorf("the second request succeeded: %+v", a)
		}
		time.Sleep(50 * time.Millisecond)
		if n := len(w.seen()); n != 2 {
			t.Errorf("%d requests arrived, want 2", n)
		}
	})
	t.Run("once more after the delay", func(t *testing.T) {
		w := newWire(t, rude)
		h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
		h.owed = 100 * time.Millisecond
		u := mustURL(t, "http://h.test/")
		for range 2 {
			if a, err := h.fetch(u, nil, wantAll); err != nil || string(a.body) != "hello" {
				t.Fatalf("%+v, %v", a, err)
			}
		}
		seen := w.seen()
		if len(seen) != 3 || h.requests != 3 {
			t.Fatalf("%d requests arrived, %d counted, want 3", len(seen), h.requests)
		}
		for i := 1; i < 3; i++ {
			if gap := seen[i].at.Sub(seen[i-1].at); gap < h.owed {
				t.Errorf("request %d came %v after the one before", i, gap)
			}
		}
	})
	t.Run("not when it was answered in part", func(t *testing.T) {
		w := newWire(t, func(c net.Conn, h head) bool {
			if h.n == 1 {
				c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Le"))
				return false
			}
			c.Write([]byte(okAnswer))
			return true
		})
		h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
		u := mustURL(t, "http://h.test/")
		h.fetch(u, nil, wantAll)
		_, err := h.fetch(u, nil, wantAll)
		if f := h.failureOf(err); f.reason != crawl.ReasonNetwork {
			t.Errorf("%+v", f)
		}
		if n := len(w.seen()); n != 2 {
			t.Errorf("%d requests arrived, want 2", n)
		}
	})
}

// "408 Request Timeout" to a connection at rest, crossing our request, is no answer to it: least of all for a robots.txt,
// whose 4xx would allow all.
func TestTimeoutOfAKeptConnection(t *testing.T) {
	const goodbye = "HTTP/1.1 408 Request Time-out\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
	w := newWire(t, func(c net.Conn, h head) bool {
		if h.n == 1 {
			io.WriteString(c, goodbye)
			return false
		}
		io.WriteString(c, okAnswer)
		return true
	})
	h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
	h.owed = 100 * time.Millisecond
	u := mustURL(t, "http://h.test/robots.txt")
	for range 2 {
		if a, err := h.fetch(u, nil, wantAll); err != nil || a.status != 200 {
			t.Errorf("%d, %v", a.status, err)
		}
	}
	seen := w.seen()
	if len(seen) != 3 {
		t.Fatalf("%d requests arrived, want 3", len(seen))
	}
	for i := 1; i < 3; i++ {
		if gap := seen[i].at.Sub(seen[i-1].at); gap < h.owed {
			t.Errorf("request %d came %v after the one before", i, gap)
		}
	}
	// On a connection of its own it is what the server says.
	w = newWire(t, say(goodbye))
	h = newTestHold(t, Options{}, w.Addr().String(), "h.test")
	if a, err := h.fetch(u, nil, wantAll); err != nil || a.status != 408 || len(w.seen()) != 1 {
		t.Errorf("%d, %v after %d requests", a.status, err, len(w.seen()))
	}
}

// What looks like no HTTP may be the tail of the answer before; only on a connection of its own it is this URL's last word.
func TestTailOfTheLastAnswer(t *testing.T) {
	w := newWire(t, func(c net.Conn, h head) bool {
		if h.n == 1 {
			io.WriteString(c, " and more than its length\r\n")
		}
		io.WriteString(c, okAnswer)
		return true
	})
	h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
	u := mustURL(t, "http://h.test/")
	h.fetch(u, nil, wantAll)
	_, err := h.fetch(u, nil, wantAll)
	if f := h.failureOf(err); f.reason != crawl.ReasonProtocol || f.final {
		t.Errorf("%+v", f)
	}
	if a, err := h.fetch(u, nil, wantAll); err != nil || string(a.body) != "hello" {
		t.Errorf("%q, %v", a.body, err)
	}
}

// A connection sends one request per permit, whoever writes to it.
func TestConnNeedsAPermit(t *testing.T) {
	w := newWire(t, say(okAnswer))
	h := newTestHold(t, Options{}, w.Addr().String(), "h.test")
	if _, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll); err != nil {
		t.Fatal(err)
	}
	if _, err := h.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != errUnarmed {
		t.Errorf("Write without a permit: %v", err)
	}
	h.lease.end()
	h.conn.armed.Store(h)
	if _, err := h.conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != errLease {
		t.Errorf("Write after the lease: %v", err)
	}
	if _, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll); err == nil || !h.failureOf(err).unsent {
		t.Errorf("fetch after the lease: %v", err)
	}
	if n := len(w.seen()); n != 1 {
		t.Errorf("%d requests arrived, want 1", n)
	}
}

// Two origins of a host share one connection's place.
func TestOneConnectionPerHost(t *testing.T) {
	w, w2 := newWire(t, say(okAnswer)), newWire(t, say(okAnswer))
	h := newTestHold(t, Options{}, "127.0.0.1", "h.test")
	h.cfg.resolve = resolveMap{suffixes: []suffixMapping{{"", mapping{addr: netip.MustParseAddr("127.0.0.1")}}}}
	urls := []string{"http://h.test:" + port(w) + "/", "http://h.test:" + port(w2) + "/", "http://h.test:" + port(w) + "/x"}
	for _, u := range urls {
		if _, err := h.fetch(mustURL(t, u), nil, wantAll); err != nil {
			t.Fatal(err)
		}
		h.c.conns.mu.Lock()
		if n := len(h.c.conns.conns); n != 1 {
			t.Errorf("%d connections open", n)
		}
		h.c.conns.mu.Unlock()
	}
	if w.conns != 2 {
		t.Errorf("%d connections to the first origin, want 2: the one to the other came between", w.conns)
	}
}

func port(w *wire) string { return strconv.Itoa(w.Addr().(*net.TCPAddr).Port) }
