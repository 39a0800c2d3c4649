package wire

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// A connection is only used again after a response that was read to its end and had nothing odd.
func TestWhichConnectionsServeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		want   bool // it is used again
	}{
		"plain":                {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", true},
		"chunked":              {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", true},
		"304":                  {"HTTP/1.1 304 Same\r\n\r\n", true},
		"HTTP/1.0 that stays":  {"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello", true},
		"close":                {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", false},
		"HTTP/1.0":             {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", false},
		"an odd line":          {"HTTP/1.1 200 OK\r\nodd\r\nContent-Length: 5\r\n\r\nhello", false},
		"LF in chunks":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\n0\n\n", false},
		"chunked and a length": {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", false},
		"bytes behind it":      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", false},
		"a body of a 204":      {"HTTP/1.1 204 None\r\n\r\nevil", false},
		"switched to another":  {"HTTP/1.1 101 Else\r\n\r\n", false},
		"more than is wanted":  {"HTTP/1.1 200 OK\r\nContent-Length: 90000\r\n\r\n" + strings.Repeat("x", 90_000), false},
	} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
					text := wiretest.OKAnswer
					if h.Conn == 0 && h.N == 0 {
						text = tt.answer
					}
					io.WriteString(c, text)
					return true
				})
				h := newTestSession(t, Options{}, w.Addr().String(), "h.test")
				u := urlOf(t, "http://h.test/")
				want := wantAll
				if strings.HasPrefix(name, "more") {
					want = wantNone
				}
				if _, err := h.Fetch(u, nil, want); err != nil {
					t.Fatal(err)
				}
				a, err := h.Fetch(u, nil, wantAll)
				if err != nil || string(a.Body) != "hello" {
					t.Errorf("the next response is %q, %v", a.Body, err)
				}
				if seen := w.Seen(); len(seen) != 2 || (seen[1].Conn == 0) != tt.want {
					t.Errorf("%d requests, the second on connection %d", len(seen), seen[len(seen)-1].Conn)
				}
			})
		})
	}
}

// Under TLS the bytes after a response are not in the socket any more, because they were read with
// it. They must not be taken for the next response, either.
func TestBytesBehindAResponseUnderTLS(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		ca := wiretest.NewCA(t)
		conf := ca.Server("h.test")
		var plain net.Conn // of the first connection, to write two records at once
		w := wiretest.New(t, simnet.Of(t), func(net.Conn, wiretest.Head) bool { return false })
		w.Close()
		l, err := simnet.Of(t).Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		conns := 0
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				conns++
				number := conns
				plain = &together{Conn: c}
				s := tls.Server(plain, conf)
				in := bufio.NewReader(s)
				go func() {
					defer c.Close()
					for {
						for {
							line, err := in.ReadString('\n')
							if err != nil {
								return
							}
							if line == "\r\n" {
								break
							}
						}
						both := s.NetConn().(*together)
						both.hold()
						io.WriteString(s, wiretest.OKAnswer)
						if number == 1 {
							io.WriteString(s, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
						}
						both.send()
					}
				}()
			}
		}()
		h := newTestSession(t, Options{TLS: &tls.Config{RootCAs: ca.Pool()}}, l.Addr().String(), "h.test")
		for range 3 {
			a, err := h.Fetch(urlOf(t, "https://h.test/"), nil, wantAll)
			if err != nil || string(a.Body) != "hello" {
				t.Errorf("%q, %v", a.Body, err)
			}
		}
		if conns != 2 {
			t.Errorf("%d connections", conns)
		}
	})
}

// together writes several records in one piece.
type together struct {
	net.Conn
	held []byte
	on   bool
}

func (c *together) hold() { c.on = true }
func (c *together) send() { c.on = false; c.Conn.Write(c.held); c.held = nil }

func (c *together) Write(p []byte) (int, error) {
	if c.on {
		c.held = append(c.held, p...)
		return len(p), nil
	}
	return c.Conn.Write(p)
}

// A connection for which there is no token stays open, and is closed in time.
func TestAKeptConnectionWithoutAPlace(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		// one visit at an address
		sessions := sharedSessions(t, Options{Visits: slotsShare, IdleTimeout: 30 * time.Second}, w.Addr().String(), 2)
		fetch := func(i int) error {
			_, err := sessions[i].Fetch(urlOf(t, fmt.Sprintf("http://h%d.test/", i)), nil, wantAll)
			return err
		}
		if err := fetch(0); err != nil {
			t.Fatal(err)
		}
		sessions[0].Release()
		if err := fetch(1); err != nil { // its visit is at the address now
			t.Fatal(err)
		}
		again := sessionOn(t, sessions[0].c, sessions[0].cfg, "h0.test")
		again.LimitPatience(1)
		var full *LimiterTimeout
		if _, err := again.Fetch(urlOf(t, "http://h0.test/"), nil, wantAll); !errors.As(err, &full) {
			t.Fatalf("there was a place: %v", err)
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if n := simnet.Of(t).Conns(w.Addr().String()); n != 0 {
			t.Errorf("%d connections are open", n)
		}
	})
}

// A connection that waits is closed after IdleTimeout. One on which bytes arrive that nobody
// requested is not used again, because they would be taken for the next response.
func TestWaitingConnections(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var first net.Conn
		w := wiretest.New(t, simnet.Of(t), func(c net.Conn, h wiretest.Head) bool {
			if h.Conn == 0 {
				first = c
			}
			io.WriteString(c, wiretest.OKAnswer)
			return true
		})
		h := newTestSession(t, Options{IdleTimeout: 30 * time.Second}, w.Addr().String(), "h.test")
		u := urlOf(t, "http://h.test/")
		fetch := func(conn int) {
			t.Helper()
			if a, err := h.Fetch(u, nil, wantAll); err != nil || string(a.Body) != "hello" {
				t.Errorf("%q, %v", a.Body, err)
			}
			if seen := w.Seen(); seen[len(seen)-1].Conn != conn {
				t.Errorf("on connection %d, want %d", seen[len(seen)-1].Conn, conn)
			}
		}
		fetch(0)
		time.Sleep(29 * time.Second)
		fetch(0)
		io.WriteString(first, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
		synctest.Wait()
		fetch(1)
		time.Sleep(29 * time.Second)
		if n := simnet.Of(t).Conns(w.Addr().String()); n != 1 {
			t.Errorf("%d connections are open", n)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if n := simnet.Of(t).Conns(w.Addr().String()); n != 0 {
			t.Errorf("%d connections are open after the time that one may wait", n)
		}
		fetch(2)
	})
}

// The number of connections that wait is limited: the one that was unused for longest is closed.
func TestManyWaitingConnections(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := wiretest.New(t, simnet.Of(t), wiretest.Answer(wiretest.OKAnswer))
		first := newTestSession(t, Options{IdleTimeout: time.Hour}, w.Addr().String(), "h.test")
		for i := range maxIdle + 10 {
			host := fmt.Sprintf("h%d.test", i)
			h := sessionOn(t, first.c, first.cfg, host)
			if _, err := h.Fetch(urlOf(t, "http://"+host+"/"), nil, wantAll); err != nil {
				t.Fatal(err)
			}
			h.Release()
		}
		if n := len(first.c.conns.conns); n != maxIdle || first.c.conns.idle.Len() != maxIdle {
			t.Errorf("%d connections are kept", n)
		}
		if first.c.conns.get("h9.test") != nil || first.c.conns.get("h10.test") == nil {
			t.Error("those that were unused for longest are not the ones that are closed")
		}
	})
}
