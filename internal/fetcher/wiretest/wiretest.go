// Package wiretest has origins that show what really arrives at them, for the tests of
// whoever sends requests.
package wiretest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// Nobody is an address that nothing listens on: the system does not give its port to those who ask
// for any.
const Nobody = "127.0.0.1:1"

// Server is an origin that shows what really arrives, and answers with whatever bytes a test wants.
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

// New answers each request with what answer writes; false closes the connection after.
func New(t testing.TB, answer func(c net.Conn, h Head) bool) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
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

// OKAnswer is a whole answer: a page that says hello.
const OKAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nhello"

// Say answers each request with s.
func Say(s string) func(net.Conn, Head) bool {
	return func(c net.Conn, _ Head) bool { c.Write([]byte(s)); return true }
}

// Port is where a server listens.
func Port(w *Server) string { return strconv.Itoa(w.Addr().(*net.TCPAddr).Port) }

// Seen are the heads of the requests that have arrived.
func (w *Server) Seen() []Head {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.heads)
}

// Encode is a body under a content encoding.
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

// PageAnswer is a whole answer with a body under a content encoding.
func PageAnswer(encoding string, body []byte) string {
	s := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n", len(body))
	if encoding != "" {
		s += "Content-Encoding: " + encoding + "\r\n"
	}
	return s + "\r\n" + string(body)
}
