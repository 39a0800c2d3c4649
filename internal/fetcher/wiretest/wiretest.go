// Package wiretest has origins, proxies and a resolver for tests of code that sends requests. They
// record what really arrives, and answer with whatever bytes a test wants.
package wiretest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Nobody is an address where nothing listens. The system never assigns its port to a listener that
// accepts any port.
const Nobody = "127.0.0.1:1"

// Server is an origin that records the requests that arrive, and answers with whatever bytes a test
// wants.
type Server struct {
	net.Listener
	mu    sync.Mutex
	heads []Head
	Conns int
	wg    sync.WaitGroup
}

// Head is the head of a request as it arrived.
type Head struct {
	Conn, N int // which connection, which request on it, from 0
	Text    string
	At      time.Time
}

// Network is what servers listen on: a simnet.Net, or Real.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	Dial(ctx context.Context, network, address string) (net.Conn, error)
}

// Real is the loopback interface of the machine.
var Real Network = sockets{}

type sockets struct{}

func (sockets) Listen(network, address string) (net.Listener, error) {
	return net.Listen(network, address)
}

func (sockets) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, address)
}

// listen listens on any port of 127.0.0.1.
func listen(t testing.TB, on Network) net.Listener {
	t.Helper()
	l, err := on.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// HTTP serves h on a network until the test ends.
func HTTP(t testing.TB, on Network, h http.Handler) *httptest.Server {
	t.Helper()
	s := &httptest.Server{Listener: listen(t, on), Config: &http.Server{Handler: h}}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// HTTPS is HTTP over TLS. set, if not nil, changes the server before it starts. A server without a
// certificate uses the one of package httptest.
func HTTPS(t testing.TB, on Network, h http.Handler, set func(s *httptest.Server)) *httptest.Server {
	t.Helper()
	s := &httptest.Server{Listener: listen(t, on), Config: &http.Server{Handler: h, ErrorLog: log.New(io.Discard, "", 0)}}
	if set != nil {
		set(s)
	}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// New starts an origin that calls answer for each request. answer writes the response, and returns
// false to close the connection after it.
func New(t testing.TB, on Network, answer func(c net.Conn, h Head) bool) *Server {
	t.Helper()
	l := listen(t, on)
	w := &Server{Listener: l}
	var open sync.Map
	w.wg.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.mu.Lock()
			w.Conns++
			w.mu.Unlock()
			open.Store(c, true)
			w.wg.Go(func() {
				defer c.Close()
				br := bufio.NewReader(c)
				for i := 0; ; i++ {
					h := Head{Conn: n, N: i}
					for {
						line, err := br.ReadString('\n')
						if err != nil {
							return
						}
						h.Text += line
						if line == "\r\n" {
							break
						}
					}
					h.At = time.Now()
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

// OKAnswer is a complete response with a small page.
const OKAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"

// Answer returns a function for New that answers each request with s.
func Answer(s string) func(net.Conn, Head) bool {
	return func(c net.Conn, _ Head) bool { c.Write([]byte(s)); return true }
}

// Port is where a server listens.
func Port(w *Server) string { return strconv.Itoa(w.Addr().(*net.TCPAddr).Port) }

// Seen returns the heads of the requests that have arrived.
func (w *Server) Seen() []Head {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heads)
}

// Encode returns a body in a content encoding.
func Encode(t testing.TB, name string, body []byte) []byte {
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

// PageAnswer returns a complete response with a body in a content encoding.
func PageAnswer(encoding string, body []byte) string {
	s := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n", len(body))
	if encoding != "" {
		s += "Content-Encoding: " + encoding + "\r\n"
	}
	return s + "\r\n" + string(body)
}
