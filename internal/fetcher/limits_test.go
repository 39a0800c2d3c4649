package fetcher

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/crawl"
)

func encode(t testing.TB, name string, body []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	switch name {
	case "gzip", "x-gzip":
		w = gzip.NewWriter(&b)
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		w, _ = zstd.NewWriter(&b)
	case "deflate":
		w, _ = flate.NewWriter(&b, 5)
	default:
		return body
	}
	w.Write(body)
	w.Close()
	return b.Bytes()
}

// pageAnswer is a whole answer with a body under a content encoding.
func pageAnswer(encoding string, body []byte) string {
	s := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n", len(body))
	if encoding != "" {
		s += "Content-Encoding: " + encoding + "\r\n"
	}
	return s + "\r\n" + string(body)
}

func fetchOne(t testing.TB, opt Options, answer func(net.Conn, head) bool, want func(int, http.Header) wanted) (*hold, *wire, fetched) {
	t.Helper()
	w := newWire(t, answer)
	h := newTestHold(t, opt, w.Addr().String(), "h.test")
	start := time.Now()
	a, err := h.fetch(mustURL(t, "http://h.test/"), nil, want)
	r := fetched{answer: a, err: err, took: time.Since(start)}
	if err != nil {
		r.failure = h.failureOf(err)
	}
	return h, w, r
}

type fetched struct {
	answer
	err     error
	failure failure
	took    time.Duration
}

func TestEncodings(t *testing.T) {
	body := []byte(strings.Repeat("some words that repeat, ", 4000))
	for _, e := range []string{"", "identity", "gzip", "x-gzip", "GZIP", "br", "zstd"} {
		for range 2 { // a pooled decoder serves as well as a new one
			h, _, r := fetchOne(t, Options{}, say(pageAnswer(e, encode(t, strings.ToLower(e), body))), wantAll)
			if r.err != nil || !bytes.Equal(r.body, body) || r.truncated {
				t.Errorf("%q: %d bytes, %v", e, len(r.body), r.err)
			}
			if h.abandoned {
				t.Errorf("%q: the connection was given up", e)
			}
		}
	}
}

func TestEncodingsBroken(t *testing.T) {
	body := []byte(strings.Repeat("some words that repeat, ", 4000))
	for _, tt := range []struct {
		name, encoding string
		body           []byte
		reason         crawl.Reason
	}{
		{"not gzip", "gzip", body, crawl.ReasonEncoding},
		{"not br", "br", bytes.Repeat([]byte{0xFF}, 500), crawl.ReasonEncoding},
		{"not zstd", "zstd", body, crawl.ReasonEncoding},
		{"half a gzip", "gzip", encode(t, "gzip", body)[:100], crawl.ReasonEncoding},
		{"half a br", "br", encode(t, "br", body)[:30], crawl.ReasonEncoding},
		{"half a zstd", "zstd", encode(t, "zstd", body)[:30], crawl.ReasonEncoding},
		{"not asked for", "deflate", encode(t, "deflate", body), crawl.ReasonEncoding},
		{"two at once", "gzip, br", encode(t, "br", encode(t, "gzip", body)), crawl.ReasonEncoding},
	} {
		_, _, r := fetchOne(t, Options{}, say(pageAnswer(tt.encoding, tt.body)), wantAll)
		if r.failure.reason != tt.reason || !r.failure.final {
			t.Errorf("%s: %+v, %v", tt.name, r.failure, r.err)
		}
	}
	// The wire's end is the network's fault, not the encoding's.
	cut := pageAnswer("gzip", encode(t, "gzip", body))
	_, _, r := fetchOne(t, Options{}, func(c net.Conn, _ head) bool { io.WriteString(c, cut[:len(cut)-50]); return false }, wantAll)
	if r.failure.reason != crawl.ReasonNetwork || r.failure.final {
		t.Errorf("cut short: %+v", r.failure)
	}
}

func TestBodyLimits(t *testing.T) {
	const limit = 100_000
	for _, e := range []string{"", "gzip", "br", "zstd"} {
		for size, cut := range map[int]bool{0: false, limit - 1: false, limit: false, limit + 1: true, 50 * limit: true} {
			body := bytes.Repeat([]byte("a"), size)
			h, _, r := fetchOne(t, Options{}, say(pageAnswer(e, encode(t, e, body))), func(int, http.Header) wanted { return wanted{limit: limit} })
			if r.err != nil || len(r.body) != min(size, limit) || r.truncated != cut {
				t.Errorf("%q of %d bytes: %d bytes, truncated %v, %v", e, size, len(r.body), r.truncated, r.err)
			}
			if h.abandoned != cut && size != limit+1 { // one byte more may just have been all there was
				t.Errorf("%q of %d bytes: connection given up: %v", e, size, h.abandoned)
			}
		}
	}
}

// A bomb of a gigabyte costs no more than the limit.
func TestBomb(t *testing.T) {
	member := encode(t, "gzip", make([]byte, 4<<20))
	bomb := bytes.Repeat(member, 256)
	h, _, r := fetchOne(t, Options{}, say(pageAnswer("gzip", bomb)), wantAll)
	if r.err != nil || len(r.body) != 10<<20 || !r.truncated || cap(h.buf) > 24<<20 {
		t.Errorf("%d bytes, buffer %d, truncated %v, %v", len(r.body), cap(h.buf), r.truncated, r.err)
	}
}

// Members without content could go on for ever without a byte of output.
func TestCompressedNothing(t *testing.T) {
	empty := encode(t, "gzip", nil)
	_, _, r := fetchOne(t, Options{}, func(c net.Conn, _ head) bool {
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
		for range 1 << 20 {
			if _, err := c.Write(empty); err != nil {
				return false
			}
		}
		return false
	}, func(int, http.Header) wanted { return wanted{limit: 1000} })
	if r.err != nil || !r.truncated || r.wire > 200_000 {
		t.Errorf("%d bytes read, truncated %v, %v", r.wire, r.truncated, r.err)
	}
}

// A zstd frame may ask for a window of gigabytes; we have 8 MiB.
func TestZstdWindow(t *testing.T) {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b, zstd.WithWindowSize(32<<20), zstd.WithSingleSegment(false))
	w.Write(bytes.Repeat([]byte("0123456789abcdef"), 3<<20)) // streamed: the frame declares the window
	w.Close()
	_, _, r := fetchOne(t, Options{}, say(pageAnswer("zstd", b.Bytes())), wantAll)
	if r.failure.reason != crawl.ReasonEncoding {
		t.Errorf("%+v, %d bytes, %v", r.failure, len(r.body), r.err)
	}
}

func TestHeaderLimit(t *testing.T) {
	for size, ok := range map[int]bool{1 << 10: true, 3 << 10: true, 5 << 10: false, 1 << 20: false} {
		pad := strings.Repeat("X-Padding: "+strings.Repeat("p", 100)+"\r\n", size/113+1)
		_, _, r := fetchOne(t, Options{MaxHeader: 4 << 10}, say("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+pad+"Content-Length: 0\r\n\r\n"), wantAll)
		if ok && r.err != nil || !ok && r.failure.reason != crawl.ReasonHeaders {
			t.Errorf("head of %d bytes: %+v, %v", size, r.failure, r.err)
		}
	}
}

func TestTimeLimits(t *testing.T) {
	opt := Options{ConnectTimeout: 300 * time.Millisecond, FirstByte: 600 * time.Millisecond, WholeResponse: 1500 * time.Millisecond,
		RateWindow: 400 * time.Millisecond, MinRate: 1000}
	trickle := func(start string, n int, piece string, pause time.Duration) func(net.Conn, head) bool {
		return func(c net.Conn, _ head) bool {
			io.WriteString(c, start)
			for range n {
				time.Sleep(pause)
				if _, err := io.WriteString(c, piece); err != nil {
					return false
				}
			}
			return false
		}
	}
	const begin = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	kilo := strings.Repeat("k", 1000)
	for _, tt := range []struct {
		name   string
		answer func(net.Conn, head) bool
		reason crawl.Reason
		most   time.Duration
	}{
		{"no answer", func(c net.Conn, _ head) bool { time.Sleep(time.Second); return false }, crawl.ReasonTimeout, 950 * time.Millisecond},
		{"just in time", trickle("", 1, okAnswer, 200*time.Millisecond), "", time.Second},
		{"head byte by byte", trickle("HTTP/1.1 200 OK\r\n", 1000, "X", 20*time.Millisecond), crawl.ReasonTooSlow, time.Second},
		{"body byte by byte", trickle(begin, 1000, "x", 20*time.Millisecond), crawl.ReasonTooSlow, time.Second},
		{"body stops", trickle(begin+kilo, 1, "x", 3*time.Second), crawl.ReasonTooSlow, 1200 * time.Millisecond},
		{"fast enough", trickle(begin, 10, kilo, 50*time.Millisecond), "", 2 * time.Second},
		{"steady but endless", trickle(begin, 1000, kilo, 20*time.Millisecond), crawl.ReasonTimeout, 2500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _, r := fetchOne(t, opt, tt.answer, wantAll)
			if r.failure.reason != tt.reason || r.took > tt.most {
				t.Errorf("%+v after %v, %v", r.failure, r.took, r.err)
			}
			if tt.reason != "" && (!h.abandoned || !r.failure.timeout) {
				t.Errorf("given up: %v, %+v", h.abandoned, r.failure)
			}
		})
	}
	t.Run("connect", func(t *testing.T) {
		t.Parallel()
		h := newTestHold(t, opt, "", "h.test")
		h.cfg.resolve = resolveMap{}
		h.c.opt.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		start := time.Now()
		_, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll)
		if f := h.failureOf(err); f.reason != crawl.ReasonTimeout || !f.silent || time.Since(start) > time.Second {
			t.Errorf("%+v after %v", f, time.Since(start))
		}
	})
}

// A page that waits for memory loses no time by it: neither rate nor the whole answer's time go on meanwhile.
func TestWaitForMemoryIsNotTheOrigins(t *testing.T) {
	half := bytes.Repeat([]byte("x"), keepBuffer)
	w := newWire(t, func(c net.Conn, _ head) bool {
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", 2*len(half))
		c.Write(half)
		time.Sleep(100 * time.Millisecond)
		c.Write(half)
		return true
	})
	h := newTestHold(t, Options{FirstByte: time.Second, WholeResponse: time.Second, RateWindow: time.Second}, w.Addr().String(), "h.test")
	for range maxLarge {
		h.c.large <- struct{}{}
	}
	free := time.AfterFunc(1200*time.Millisecond, func() { <-h.c.large })
	defer free.Stop()
	a, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll)
	if err != nil || len(a.body) != 2*len(half) {
		t.Errorf("%d bytes, %v", len(a.body), err)
	}
}

// A machine that is busy reads late what came in time. The origin is not to blame.
func TestReadingLate(t *testing.T) {
	body := bytes.Repeat([]byte("x"), 200_000)
	opt := Options{FirstByte: time.Second, WholeResponse: 5 * time.Second, RateWindow: 200 * time.Millisecond, MinRate: 100_000}
	_, _, r := fetchOne(t, opt, say(pageAnswer("", body)), func(int, http.Header) wanted {
		time.Sleep(500 * time.Millisecond)
		return wanted{limit: 1 << 20}
	})
	if r.err != nil || len(r.body) != len(body) {
		t.Errorf("%d bytes, %v", len(r.body), r.err)
	}
}

func TestFailures(t *testing.T) {
	reset := func(c net.Conn, _ head) bool { c.(*net.TCPConn).SetLinger(0); return false }
	for _, tt := range []struct {
		name, answer string
		f            func(net.Conn, head) bool
		reason       crawl.Reason
		final        bool
	}{
		{name: "closed", f: func(net.Conn, head) bool { return false }, reason: crawl.ReasonNetwork},
		{name: "reset", f: reset, reason: crawl.ReasonNetwork},
		{name: "cut body", f: func(c net.Conn, _ head) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
			return false
		}, reason: crawl.ReasonNetwork},
		{name: "cut chunk", f: func(c net.Conn, _ head) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
			return false
		}, reason: crawl.ReasonNetwork},
		{name: "cut head", f: func(c net.Conn, _ head) bool { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-"); return false }, reason: crawl.ReasonNetwork},
		{name: "not HTTP", answer: "220 ready for mail\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "bad status", answer: "HTTP/1.1 twohundred OK\r\n\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "bad header", answer: "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "bad length", answer: "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", reason: crawl.ReasonProtocol, final: true},
		{name: "bad chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "odd transfer encoding", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n", reason: crawl.ReasonProtocol, final: true},
		{name: "endless 1xx", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 4000), reason: crawl.ReasonHeaders, final: true},
	} {
		f := tt.f
		if f == nil {
			f = say(tt.answer)
		}
		_, _, r := fetchOne(t, Options{FirstByte: 2 * time.Second}, f, wantAll)
		if r.failure.reason != tt.reason || r.failure.final != tt.final {
			t.Errorf("%s: %+v, %v", tt.name, r.failure, r.err)
		}
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, _ := net.Listen("tcp", "127.0.0.1:0")
		addr := l.Addr().String()
		l.Close()
		h := newTestHold(t, Options{}, addr, "h.test")
		_, err := h.fetch(mustURL(t, "http://h.test/"), nil, wantAll)
		if f := h.failureOf(err); f.reason != crawl.ReasonConnect || !f.silent || !f.timeout || h.requests != 1 || !h.private() {
			t.Errorf("%+v, %d requests, private %v, %v", f, h.requests, h.private(), err)
		}
	})
	t.Run("no such name", func(t *testing.T) {
		h := newTestHold(t, Options{}, "", "h.invalid")
		_, err := h.fetch(mustURL(t, "http://h.invalid/"), nil, wantAll)
		if f := h.failureOf(err); f.reason != crawl.ReasonDNS || !f.silent {
			t.Errorf("%+v, %v", f, err)
		}
	})
}
