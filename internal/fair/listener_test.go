package fair_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/testaid"
)

// street is a listener in memory, the network that leads to it, and what was accepted.
type street struct {
	t     *testing.T
	n     *simnet.Net
	at    string
	ln    net.Listener
	conns chan net.Conn
}

func newStreet(t *testing.T, o fair.ListenerOptions) *street {
	t.Helper()
	n := simnet.New(simnet.Options{})
	return streetOn(t, n, o)
}

func streetOn(t *testing.T, n *simnet.Net, o fair.ListenerOptions) *street {
	t.Helper()
	ln, err := n.Listen("tcp", "198.51.100.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &street{t, n, ln.Addr().String(), fair.Listener(ln, o), make(chan net.Conn, 10_000)}
	go func() {
		for {
			c, err := s.ln.Accept()
			if err != nil {
				return
			}
			s.conns <- c
		}
	}()
	t.Cleanup(func() { s.ln.Close() })
	return s
}

// come connects from an address. inside is nil if the connection was closed at once.
func (s *street) come(from string) (outside, inside net.Conn) {
	s.t.Helper()
	time.Sleep(time.Millisecond) // no two at one instant
	outside, err := s.n.DialFrom(context.Background(), netip.MustParseAddr(from), "tcp", s.at)
	if err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	select {
	case inside = <-s.conns:
		s.t.Cleanup(func() { inside.Close() })
	default:
	}
	s.t.Cleanup(func() { outside.Close() })
	return outside, inside
}

func open(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// One machine of the internet, or one /64, has a limited number of connections to a listener. A
// proxy in our own network has no such limit. After a connection ends, its peer may open another.
func TestListenerPerBlock(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		refused := 0
		s := newStreet(t, fair.ListenerOptions{PerBlock: 4, Connections: fair.NewConnections(100), Refuse: func(net.Conn) { refused++ }})
		var last net.Conn
		for i := range 4 {
			_, first := s.come("203.0.113.7")
			_, last = s.come(fmt.Sprintf("2001:db8:1:2::%d", i))
			if first == nil || last == nil {
				t.Fatalf("connection %d of a block is refused", i)
			}
		}
		for _, from := range []string{"203.0.113.7", "::ffff:203.0.113.7", "2001:db8:1:2:ffff::"} {
			if out, in := s.come(from); in != nil || open(out) {
				t.Errorf("%s has one more", from)
			}
		}
		if refused != 3 {
			t.Errorf("Refuse was called for %d of 3", refused)
		}
		for _, from := range []string{"127.0.0.1", "10.1.2.3", "fd00::1"} {
			for range 9 {
				if _, in := s.come(from); in == nil {
					t.Fatalf("%s, which may be a proxy, has too few", from)
				}
			}
		}
		for _, from := range []string{"203.0.113.8", "2001:db8:1:3::"} {
			if _, in := s.come(from); in == nil {
				t.Errorf("%s has none", from)
			}
		}
		last.Close()
		last.Close() // frees one connection, not two
		if _, in := s.come("2001:db8:1:2::9"); in == nil {
			t.Error("a connection that has ended still counts")
		}
		if _, in := s.come("2001:db8:1:2::9"); in != nil {
			t.Error("a connection that was closed twice counts twice")
		}
	})
}

// When everything is taken, somebody new gets the connection that was idle longest of the block
// that has most. Sending to us does not make a connection less idle, however steadily its bytes
// come.
func TestListenerClosesTheIdle(t *testing.T) {
	for _, total := range []fair.ListenerOptions{{Most: 6}, {Connections: fair.NewConnections(6)}} {
		simnet.Test(t, func(t *testing.T) {
			if total.Connections != nil {
				total.Connections = fair.NewConnections(6)
			} else {
				total.Connections = fair.NewConnections(100)
			}
			s := newStreet(t, total)
			alone, _ := s.come("203.0.113.1") // the oldest of all
			var out, in []net.Conn
			for range 5 {
				o, i := s.come("203.0.113.2")
				out, in = append(out, o), append(in, i)
			}
			// Now the second is idle longest.
			if _, err := in[0].Write([]byte("answer")); err != nil {
				t.Fatal(err)
			}
			if _, err := out[1].Write([]byte("slowly")); err != nil {
				t.Fatal(err)
			}
			_, newcomer := s.come("203.0.113.3")
			if newcomer == nil || !open(newcomer) || !open(alone) {
				t.Fatal("one of those who have one connection has none")
			}
			for i, c := range in {
				if got, want := open(c), i != 1; got != want {
					t.Errorf("connection %d of the block with most: open %v, want %v", i, got, want)
				}
			}
			if n := total.Connections.Len(); n != 6 {
				t.Errorf("%d connections, want 6", n)
			}
		})
	}
}

// All listeners of a process share its connections.
func TestListenersShareConnections(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		conns, n := fair.NewConnections(20), simnet.New(simnet.Options{})
		a, b := streetOn(t, n, fair.ListenerOptions{Connections: conns}), streetOn(t, n, fair.ListenerOptions{Connections: conns})
		for i := range 15 {
			a.come(fmt.Sprintf("203.0.113.%d", i))
			b.come("203.0.113.100")
			if conns.Len() > 20 {
				t.Fatalf("%d connections, at most 20", conns.Len())
			}
		}
		left := 0
		for len(a.conns) > 0 {
			<-a.conns
		}
		left = n.Conns(a.at)
		if left != 15 {
			t.Errorf("15 peers with one connection each have %d left beside one that has many at another port", left)
		}
	})
}

// noFiles is a listener that has no file for connections while no is true.
type noFiles struct {
	net.Listener
	no func() bool
}

func (l noFiles) Accept() (net.Conn, error) {
	if l.no() {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// Without a file for a connection an idle one is closed, and the message says what to do.
func TestListenerWithoutFiles(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n, conns := simnet.New(simnet.Options{}), fair.NewConnections(100)
		inner, err := n.Listen("tcp", "198.51.100.1:80")
		if err != nil {
			t.Fatal(err)
		}
		var log strings.Builder
		ln := fair.Listener(noFiles{inner, func() bool { return conns.Len() >= 3 }},
			fair.ListenerOptions{Connections: conns, Log: slog.New(slog.NewTextHandler(&log, nil))})
		for i := range 8 {
			if _, err := n.DialFrom(context.Background(), netip.AddrFrom4([4]byte{203, 0, 113, byte(i)}), "tcp", "198.51.100.1:80"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			c, err := ln.Accept()
			if err != nil {
				t.Fatalf("connection %d: %v", i, err)
			}
			defer c.Close()
		}
		if got := log.String(); strings.Count(got, "ulimit -n") != 1 {
			t.Errorf("logged %q", got)
		}
		ln.Close()
		if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

// Strangers of 100 blocks open 3,000 slow requests at a server with 64 connections. Somebody who
// asks once a second is answered each time.
func TestListenerUnderSlowRequests(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		n, conns := simnet.New(simnet.Options{}), fair.NewConnections(64)
		inner, err := n.Listen("tcp", "198.51.100.1:80")
		if err != nil {
			t.Fatal(err)
		}
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			time.Sleep(100 * time.Millisecond) // it takes a while
			_, _ = io.WriteString(w, "answer")
		})}
		go func() { _ = srv.Serve(fair.Listener(inner, fair.ListenerOptions{Connections: conns})) }()
		ctx, cancel := context.WithCancel(t.Context())
		for i := range testaid.Volume(3000, 300) {
			go func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				for ctx.Err() == nil {
					c, err := n.DialFrom(ctx, netip.AddrFrom4([4]byte{203, 0, 113, byte(i % 100)}), "tcp", "198.51.100.1:80")
					if err != nil {
						return
					}
					stop := context.AfterFunc(ctx, func() { c.Close() })
					_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n")
					for err == nil {
						time.Sleep(time.Second)
						_, err = c.Write([]byte("a"))
					}
					stop()
					c.Close()
					time.Sleep(10 * time.Second)
				}
			}()
		}
		answered, most := 0, 0
		for range 60 {
			time.Sleep(time.Second)
			most = max(most, conns.Len())
			c, err := n.DialFrom(ctx, netip.MustParseAddr("192.0.2.1"), "tcp", "198.51.100.1:80")
			if err != nil {
				t.Error(err)
				continue
			}
			_, _ = io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
			if resp, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && resp.StatusCode == http.StatusOK {
				answered++
			}
			c.Close()
		}
		if answered != 60 || most > 64 {
			t.Errorf("%d of 60 requests were answered beside 3,000 slow ones; up to %d connections", answered, most)
		}
		cancel()
		srv.Close()
		time.Sleep(time.Minute)
	})
}
