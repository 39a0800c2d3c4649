package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

func fetchOne(t testing.TB, opt Options, answer func(net.Conn, wiretest.Head) bool, want func(int, http.Header) Wanted) (*Session, *wiretest.Server, fetched) {
	t.Helper()
	w := wiretest.New(t, simnet.Of(t), answer)
	h := newTestSession(t, opt, w.Addr().String(), "h.test")
	start := time.Now()
	a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, want)
	r := fetched{Answer: a, err: err, took: time.Since(start)}
	if err != nil {
		r.failure = h.FailureOf(err)
	}
	return h, w, r
}

type fetched struct {
	Answer
	err     error
	failure Failure
	took    time.Duration
}

func TestEncodings(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := []byte(strings.Repeat("some words that repeat, ", 4000))
		for _, e := range []string{"", "identity", "gzip", "x-gzip", "GZIP", "br", "zstd"} {
			for range 2 { // a pooled decoder serves as well as a new one
				h, _, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer(e, wiretest.Encode(t, strings.ToLower(e), body))), wantAll)
				if r.err != nil || !bytes.Equal(r.Body, body) || r.Truncated {
					t.Errorf("%q: %d bytes, %v", e, len(r.Body), r.err)
				}
				if h.abandoned {
					t.Errorf("%q: the connection was given up", e)
				}
			}
		}
	})
}

// A Content-Encoding is used if the first bytes agree with it.
func TestEncodingsOdd(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := []byte(strings.Repeat("some words that repeat, ", 4000))
		packed := func(names ...string) []byte {
			b := body
			for _, n := range names {
				b = wiretest.Encode(t, n, b)
			}
			return b
		}
		twice := append(packed("gzip"), packed("gzip")...)
		for _, tt := range []struct {
			name, encoding string
			body, want     []byte
			truncated      bool
		}{
			{"plain for gzip", "gzip", body, body, false},
			{"plain for br", "br", body, body, false},
			{"plain for zstd", "zstd", body, body, false},
			{"plain for deflate", "deflate", body, body, false},
			{"a charset", "utf-8", body, body, false},
			{"none", "none", body, body, false},
			{"binary", "binary, 8bit", body, body, false},
			{"in quotes", `"gzip"`, packed("gzip"), body, false},
			{"unasked deflate", "deflate", packed("deflate"), body, false},
			{"gzip called deflate", "deflate", packed("gzip"), body, false},
			{"two layers", "gzip, br", packed("gzip", "br"), body, false},
			{"gzip twice", "gzip, gzip", packed("gzip", "gzip"), body, false},
			{"said twice, packed once", "gzip, gzip", packed("gzip"), body, false},
			{"not said", "", packed("gzip"), body, false},
			{"not said by a charset", "utf-8", packed("gzip"), body, false},
			{"said once, packed twice", "gzip", packed("gzip", "gzip"), body, false},
			{"text like zlib", "deflate", []byte("80 words"), []byte("80 words"), false},
			{"text like zlib, long", "gzip", []byte("Hj" + strings.Repeat(" words", 200)), []byte("Hj" + strings.Repeat(" words", 200)), false},
			{"short deflate", "deflate", wiretest.Encode(t, "deflate", []byte("hello")), []byte("hello"), false},
			{"several members", "gzip", twice, append(bytes.Clone(body), body...), false},
			{"zeros behind gzip", "gzip", append(packed("gzip"), make([]byte, 100)...), body, false},
			{"text behind br", "br", append(packed("br"), "<!-- x -->"...), body, false},
			{"text behind zstd", "zstd", append(packed("zstd"), "<!-- x -->"...), body, false},
			{"no check sum", "gzip", packed("gzip")[:len(packed("gzip"))-8], body, true},
			{"nothing", "gzip", nil, nil, false},
		} {
			h, w, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer(tt.encoding, tt.body)), wantAll)
			if r.err != nil || !bytes.Equal(r.Body, tt.want) || r.Truncated != tt.truncated {
				t.Errorf("%s: %d bytes, truncated %v, %v", tt.name, len(r.Body), r.Truncated, r.err)
			}
			if n := len(w.Seen()); n != 1 || h.abandoned {
				t.Errorf("%s: %d requests, connection given up: %v", tt.name, n, h.abandoned)
			}
		}
		// The stream is complete, and the length is that of the text.
		gz := packed("gzip")
		_, _, r := fetchOne(t, Options{}, func(c net.Conn, _ wiretest.Head) bool {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", len(body), gz)
			return false
		}, wantAll)
		if r.err != nil || !bytes.Equal(r.Body, body) || r.Truncated {
			t.Errorf("the length of the text: %d bytes, truncated %v, %v", len(r.Body), r.Truncated, r.err)
		}
	})
}

// After a body that cannot be decoded, the request is sent once more and asks for no encoding.
func TestEncodingsBroken(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := []byte(strings.Repeat("some words that repeat, ", 4000))
		noise := bytes.Repeat([]byte{0xFF, 0x01, 0x8F}, 200)
		for _, tt := range []struct {
			name, encoding string
			body           []byte
		}{
			{"noise for gzip", "gzip", noise}, {"noise for br", "br", noise}, {"noise for zstd", "zstd", noise},
			{"noise for deflate", "deflate", noise}, {"two that take much memory", "br, zstd", wiretest.Encode(t, "zstd", wiretest.Encode(t, "br", body))}, {"three layers", "gzip, gzip, gzip", wiretest.Encode(t, "gzip", body)},
			{"a broken header", "gzip", []byte{0x1f, 0x8b, 8, 0xff, 0}},
		} {
			_, w, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer(tt.encoding, tt.body)), wantAll)
			if r.failure.Reason != crawl.ReasonEncoding || !r.failure.Final {
				t.Errorf("%s: %+v, %v", tt.name, r.failure, r.err)
			}
			heads := w.Seen()
			if len(heads) != 2 || !strings.Contains(heads[1].Text, "Accept-Encoding: identity\r\n") {
				t.Errorf("%s: requests %+v", tt.name, heads)
			}
		}
		first := true
		_, _, r := fetchOne(t, Options{}, func(c net.Conn, q wiretest.Head) bool {
			text := wiretest.PageAnswer("gzip", noise)
			if !first {
				text = wiretest.PageAnswer("", body)
			}
			first = false
			io.WriteString(c, text)
			return true
		}, wantAll)
		if r.err != nil || !bytes.Equal(r.Body, body) {
			t.Errorf("asked for as it is: %d bytes, %v", len(r.Body), r.err)
		}
		// A refusal of the second request does not mean that the page does not exist.
		first = true
		_, _, r = fetchOne(t, Options{}, func(c net.Conn, q wiretest.Head) bool {
			text := wiretest.PageAnswer("gzip", noise)
			if !first {
				text = "HTTP/1.1 406 Not Acceptable\r\nContent-Length: 0\r\n\r\n"
			}
			first = false
			io.WriteString(c, text)
			return true
		}, wantAll)
		if r.failure.Reason != crawl.ReasonEncoding || r.Status != 200 {
			t.Errorf("then 406: %d, %+v", r.Status, r.failure)
		}
		// A request for the body of an error is not repeated, either.
		_, w, _ := fetchOne(t, Options{}, wiretest.Answer(strings.Replace(wiretest.PageAnswer("gzip", noise), "200 OK", "503 Busy", 1)), wantAll)
		if n := len(w.Seen()); n != 1 {
			t.Errorf("%d requests for a 503", n)
		}
		// The stream is incomplete, and nothing says where the body ends, so the connection may
		// have failed.
		half := wiretest.Encode(t, "gzip", body)
		_, _, r = fetchOne(t, Options{}, func(c net.Conn, _ wiretest.Head) bool {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n%s", half[:len(half)/2])
			return false
		}, wantAll)
		if r.failure.Reason != crawl.ReasonNetwork || r.failure.Final {
			t.Errorf("half a stream: %+v, %v", r.failure, r.err)
		}
		// The end of the connection is an error of the network, not of the encoding.
		cut := wiretest.PageAnswer("gzip", wiretest.Encode(t, "gzip", body))
		_, _, r = fetchOne(t, Options{}, func(c net.Conn, _ wiretest.Head) bool { io.WriteString(c, cut[:len(cut)-50]); return false }, wantAll)
		if r.failure.Reason != crawl.ReasonNetwork || r.failure.Final {
			t.Errorf("cut short: %+v", r.failure)
		}
	})
}

func TestBodyLimits(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const limit = 100_000
		for _, e := range []string{"", "gzip", "br", "zstd"} {
			for size, cut := range map[int]bool{0: false, limit - 1: false, limit: false, limit + 1: true, 50 * limit: true} {
				body := bytes.Repeat([]byte("a"), size)
				h, _, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer(e, wiretest.Encode(t, e, body))), func(int, http.Header) Wanted { return Wanted{Limit: limit} })
				if r.err != nil || len(r.Body) != min(size, limit) || r.Truncated != cut {
					t.Errorf("%q of %d bytes: %d bytes, truncated %v, %v", e, size, len(r.Body), r.Truncated, r.err)
				}
				// One byte more may be all that there was.
				if h.abandoned != cut && size != limit+1 {
					t.Errorf("%q of %d bytes: connection given up: %v", e, size, h.abandoned)
				}
			}
		}
	})
}

// If a body that nobody wants is incomplete, the reason is known: its connection was lost, or it
// took too long. A body that was not read, or is complete, was not lost.
func TestBodyLost(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const begin = "HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\n"
		nothing := func(int, http.Header) Wanted { return Wanted{} }
		for _, tt := range []struct {
			name   string
			answer func(net.Conn, wiretest.Head) bool
			reason crawl.Reason
		}{
			{"lost", func(c net.Conn, _ wiretest.Head) bool { io.WriteString(c, begin+"half"); return false }, crawl.ReasonNetwork},
			{"late", func(c net.Conn, _ wiretest.Head) bool {
				io.WriteString(c, begin+"half")
				c.SetReadDeadline(time.Now().Add(time.Minute))
				c.Read(make([]byte, 1)) // until the client has gone
				return false
			}, crawl.ReasonTimeout},
			{"whole", wiretest.Answer(begin + strings.Repeat("x", 100)), ""},
			{"unread", wiretest.Answer("HTTP/1.1 410 Gone\r\nContent-Length: 1000000\r\n\r\n"), ""},
		} {
			h, _, r := fetchOne(t, Options{FirstByte: 2 * time.Second, WholeResponse: 2 * time.Second, RateWindow: time.Minute}, tt.answer, nothing)
			var reason crawl.Reason
			if r.Lost != nil {
				reason = h.FailureOf(r.Lost).Reason
			}
			if r.err != nil || r.Status != 410 || reason != tt.reason {
				t.Errorf("%s: %v, status %d, lost for %q (%v)", tt.name, r.err, r.Status, reason, r.Lost)
			}
		}
	})
}

// A bomb of a gigabyte costs no more than the limit.
func TestBomb(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		member := wiretest.Encode(t, "gzip", make([]byte, 4<<20))
		bomb := bytes.Repeat(member, 256)
		h, _, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer("gzip", bomb)), wantAll)
		if r.err != nil || len(r.Body) != 10<<20 || !r.Truncated || cap(h.Buf) > 24<<20 {
			t.Errorf("%d bytes, buffer %d, truncated %v, %v", len(r.Body), cap(h.Buf), r.Truncated, r.err)
		}
	})
}

// Members without content could go on for ever without a byte of output.
func TestCompressedNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		empty := wiretest.Encode(t, "gzip", nil)
		_, _, r := fetchOne(t, Options{}, func(c net.Conn, _ wiretest.Head) bool {
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n")
			for range 1 << 20 {
				if _, err := c.Write(empty); err != nil {
					return false
				}
			}
			return false
		}, func(int, http.Header) Wanted { return Wanted{Limit: 1000} })
		if r.err != nil || !r.Truncated || r.Wire > 200_000 {
			t.Errorf("%d bytes read, truncated %v, %v", r.Wire, r.Truncated, r.err)
		}
	})
}

// A zstd frame may ask for a window of gigabytes; we have 8 MiB.
func TestZstdWindow(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithWindowSize(32<<20), zstd.WithSingleSegment(false))
		// Streamed: the frame declares the window.
		w.Write(bytes.Repeat([]byte("0123456789abcdef"), 3<<20))
		w.Close()
		_, _, r := fetchOne(t, Options{}, wiretest.Answer(wiretest.PageAnswer("zstd", b.Bytes())), wantAll)
		if r.failure.Reason != crawl.ReasonEncoding {
			t.Errorf("%+v, %d bytes, %v", r.failure, len(r.Body), r.err)
		}
	})
}

func TestHeaderLimit(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for size, ok := range map[int]bool{1 << 10: true, 3 << 10: true, 5 << 10: false, 1 << 20: false} {
			pad := strings.Repeat("X-Padding: "+strings.Repeat("p", 100)+"\r\n", size/113+1)
			_, _, r := fetchOne(t, Options{MaxHeader: 4 << 10}, wiretest.Answer("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"+pad+"Content-Length: 0\r\n\r\n"), wantAll)
			if ok && r.err != nil || !ok && r.failure.Reason != crawl.ReasonHeaders {
				t.Errorf("head of %d bytes: %+v, %v", size, r.failure, r.err)
			}
		}
	})
}

// The time limits are the defaults of a fetcher: 10 s to connect, 30 s to the first byte, 20 s with
// less than 1 KiB a second, 2 min for all.
func TestTimeLimits(t *testing.T) {
	trickle := func(start string, n int, piece string, pause time.Duration) func(net.Conn, wiretest.Head) bool {
		return func(c net.Conn, _ wiretest.Head) bool {
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
	// It sends nothing more until the client has gone.
	until := func(start string) func(net.Conn, wiretest.Head) bool {
		return func(c net.Conn, _ wiretest.Head) bool {
			io.WriteString(c, start)
			c.Read(make([]byte, 1))
			return false
		}
	}
	const begin = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
	kilo := strings.Repeat("k", 1024)
	for _, tt := range []struct {
		name   string
		answer func(net.Conn, wiretest.Head) bool
		reason crawl.Reason
		took   time.Duration
	}{
		{"no answer", until(""), crawl.ReasonTimeout, 30 * time.Second},
		{"just in time", trickle("", 1, wiretest.OKAnswer, 30*time.Second-1), "", 30*time.Second - 1},
		{"too late", trickle("", 1, wiretest.OKAnswer, 31*time.Second), crawl.ReasonTimeout, 30 * time.Second},
		{"head byte by byte", trickle("HTTP/1.1 200 OK\r\n", 5000, "X", 100*time.Millisecond), crawl.ReasonTooSlow, 20 * time.Second},
		{"body byte by byte", trickle(begin, 5000, "x", 100*time.Millisecond), crawl.ReasonTooSlow, 20 * time.Second},
		{"body stops", until(begin + kilo), crawl.ReasonTooSlow, 20 * time.Second},
		{"fast enough", trickle(begin, 100, kilo, time.Second), "", 100 * time.Second},
		{"steady but endless", trickle(begin, 3000, kilo, 499*time.Millisecond), crawl.ReasonTimeout, 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				h, _, r := fetchOne(t, Options{}, tt.answer, wantAll)
				over := r.took - tt.took // what came in time is read once more
				if r.failure.Reason != tt.reason || over < 0 || over > secondLook {
					t.Errorf("%+v after %v, want %v, %v", r.failure, r.took, tt.took, r.err)
				}
				if tt.reason != "" && (!h.abandoned || !r.failure.Timeout) {
					t.Errorf("given up: %v, %+v", h.abandoned, r.failure)
				}
			})
		})
	}
	t.Run("connect", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			// A second less than the default: package net gives up a name server after twice 5 s.
			h := newTestSession(t, Options{ConnectTimeout: 9 * time.Second}, "", "h.test")
			h.cfg.Resolve = ResolveMap{}
			h.c.opt.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}
			start := time.Now()
			_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonTimeout || !f.Silent || time.Since(start) != 9*time.Second {
				t.Errorf("%+v after %v", f, time.Since(start))
			}
		})
	})
	t.Run("connect to where nothing answers", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
			simnet.Of(t).Cut(w.Addr().String(), true)
			h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
			start := time.Now()
			_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonTimeout || !f.Silent || time.Since(start) != 10*time.Second {
				t.Errorf("%+v after %v", f, time.Since(start))
			}
		})
	})
}

// While a page waits for memory, its time does not count: neither for the rate nor for the whole
// answer.
func TestWaitForMemoryIsNotTheOrigins(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const whole = 3 * time.Second
		half := bytes.Repeat([]byte("x"), KeepBuffer)
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, _ wiretest.Head) bool {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n", 2*len(half))
			c.Write(half)
			time.Sleep(100 * time.Millisecond)
			c.Write(half)
			return true
		})
		h := newTestSession(t, Options{FirstByte: whole, WholeResponse: whole, RateWindow: whole}, w.Addr().String(), "h.test")
		all := takeAll(t, h.c.memory.bodies)
		free := time.AfterFunc(whole+200*time.Millisecond, func() { all.Release(0) })
		defer free.Stop()
		a, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
		if err != nil || len(a.Body) != 2*len(half) {
			t.Errorf("%d bytes, %v", len(a.Body), err)
		}
	})
}

// A busy machine reads late what came in time. The origin is not the cause.
func TestReadingLate(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytes.Repeat([]byte("x"), 200_000)
		opt := Options{FirstByte: 10 * time.Second, WholeResponse: 10 * time.Second, RateWindow: 200 * time.Millisecond, MinRate: 100_000}
		_, _, r := fetchOne(t, opt, wiretest.Answer(wiretest.PageAnswer("", body)), func(int, http.Header) Wanted {
			time.Sleep(500 * time.Millisecond)
			return Wanted{Limit: 1 << 20}
		})
		if r.err != nil || len(r.Body) != len(body) {
			t.Errorf("%d bytes, %v", len(r.Body), r.err)
		}
	})
}

func TestFailures(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		reset := func(c net.Conn, _ wiretest.Head) bool { c.(*simnet.Conn).SetLinger(0); return false }
		for _, tt := range []struct {
			name, answer string
			f            func(net.Conn, wiretest.Head) bool
			reason       crawl.Reason
			final        bool
		}{
			{name: "closed", f: func(net.Conn, wiretest.Head) bool { return false }, reason: crawl.ReasonNetwork},
			{name: "reset", f: reset, reason: crawl.ReasonNetwork},
			{name: "cut body", f: func(c net.Conn, _ wiretest.Head) bool {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
				return false
			}, reason: crawl.ReasonNetwork},
			{name: "cut chunk", f: func(c net.Conn, _ wiretest.Head) bool {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
				return false
			}, reason: crawl.ReasonNetwork},
			{name: "cut head", f: func(c net.Conn, _ wiretest.Head) bool { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-"); return false }, reason: crawl.ReasonNetwork},
			{name: "not HTTP", answer: "220 ready for mail\r\n", reason: crawl.ReasonProtocol, final: true},
			{name: "bad status", answer: "HTTP/1.1 twohundred OK\r\n\r\n", reason: crawl.ReasonProtocol, final: true},
			{name: "two lengths", answer: "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", reason: crawl.ReasonProtocol, final: true},
			{name: "bad chunk", answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", reason: crawl.ReasonProtocol, final: true},
			{name: "endless 1xx", answer: strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 4000), reason: crawl.ReasonHeaders, final: true},
		} {
			f := tt.f
			if f == nil {
				f = wiretest.Answer(tt.answer)
			}
			_, _, r := fetchOne(t, Options{FirstByte: 2 * time.Second}, f, wantAll)
			if r.failure.Reason != tt.reason || r.failure.Final != tt.final {
				t.Errorf("%s: %+v, %v", tt.name, r.failure, r.err)
			}
		}
		{ // nobody listens
			h := newTestSession(t, Options{}, wiretest.Nobody, "h.test")
			_, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonConnect || !f.Silent || !f.Timeout || h.Requests != 1 || !h.Private() {
				t.Errorf("%+v, %d requests, private %v, %v", f, h.Requests, h.Private(), err)
			}
		}
		{ // no such name
			nobody := wiretest.Liar(t, func(string) []netip.Addr { return nil })
			h := newTestSession(t, Options{Resolver: nobody}, "", "h.invalid")
			_, err := h.Fetch(urlOf(t, "http://h.invalid/"), nil, wantAll)
			if f := h.FailureOf(err); f.Reason != crawl.ReasonDNS || !f.Silent {
				t.Errorf("%+v, %v", f, err)
			}
		}
	})
}

// The short body of an error or a redirect is read, so that the connection stays.
func TestShortBodiesAreDrained(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			answer string
			keeps  bool
		}{
			{"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true},
			{"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 5\r\n\r\nhello", true},
			{"HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\nContent-Length: 5\r\n\r\nGIF89", true},
			{"HTTP/1.1 200 OK\r\nContent-Type: image/gif\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGIF89\r\n0\r\n\r\n", false},
			{"HTTP/1.1 404 Not Found\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000), false},
			{"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("5\r\nhello\r\n", 10000) + "0\r\n\r\n", false},
		} {
			h, _, r := fetchOne(t, Options{}, wiretest.Answer(tt.answer), wantNone)
			if r.err != nil || h.abandoned == tt.keeps || r.Wire > 2*drainBytes {
				t.Errorf("%.60q: given up %v after %d bytes, %v", tt.answer, h.abandoned, r.Wire, r.err)
			}
		}
	})
}

// The window of an answer that came in one piece does not limit the next answer on its connection.
func TestAWindowEndsWithItsAnswer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			if h.N == 1 {
				time.Sleep(15 * time.Second)
			}
			io.WriteString(c, wiretest.OKAnswer)
			return true
		})
		h := newTestSession(t, Options{RateWindow: 20 * time.Second, FirstByte: 30 * time.Second}, w.Addr().String(), "h.test")
		for i := range 2 {
			if _, err := h.Fetch(urlOf(t, "http://h.test/"), nil, wantAll); err != nil || h.conn == nil || h.reused != (i == 1) {
				t.Fatalf("request %d: %v, on a connection that was used before: %v", i, err, h.reused)
			}
			time.Sleep(10 * time.Second)
		}
	})
}
