package simnet

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connect makes a connection to a listener at addr and returns both ends.
func connect(t *testing.T, n *Net, addr string) (client, server net.Conn, l net.Listener) {
	t.Helper()
	l, err := n.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	if client, err = n.Dial(t.Context(), "tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server, l
}

func TestAConnectionIsLikeTCP(t *testing.T) {
	Test(t, func(t *testing.T) {
		n := New(Options{Latency: 50 * time.Millisecond})
		c, s, l := connect(t, n, "127.0.0.1:0")
		if c.RemoteAddr().String() != l.Addr().String() || s.RemoteAddr().String() != c.LocalAddr().String() {
			t.Errorf("the ends are called %v-%v and %v-%v", c.LocalAddr(), c.RemoteAddr(), s.LocalAddr(), s.RemoteAddr())
		}
		begin := time.Now()
		c.Write([]byte("hello"))
		buf := make([]byte, 10)
		if k, err := s.Read(buf); string(buf[:k]) != "hello" || err != nil || time.Since(begin) != 50*time.Millisecond {
			t.Errorf("%q, %v after %v", buf[:k], err, time.Since(begin))
		}
		s.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := s.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("past its deadline a read says %v", err)
		}
		s.SetReadDeadline(time.Time{})
		c.Write([]byte("last"))
		c.(*Conn).CloseWrite()
		if all, err := io.ReadAll(s); string(all) != "last" || err != nil {
			t.Errorf("%q, %v", all, err)
		}
		s.Write([]byte("unread"))
		time.Sleep(time.Second)
		c.Close()
		if _, err := s.Write(buf); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("a write to an end that is closed says %v", err)
		}
		if _, err := c.Read(buf); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a read from a closed end says %v", err)
		}
		s.Close()
		if k := n.Conns(l.Addr().String()); k != 0 {
			t.Errorf("%d connections are open", k)
		}
		l.Close()
		if _, err := n.Dial(t.Context(), "tcp", l.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("where nobody listens: %v", err)
		}
	})
}

// Closing an end with unread data resets the connection.
func TestUnreadBytesMakeAReset(t *testing.T) {
	Test(t, func(t *testing.T) {
		c, s, _ := connect(t, New(Options{}), "127.0.0.1:80")
		c.Write([]byte("request"))
		s.Write([]byte("answer"))
		s.Close()
		all, err := io.ReadAll(c)
		if string(all) != "answer" || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q, %v", all, err)
		}
	})
}

func TestFaults(t *testing.T) {
	Test(t, func(t *testing.T) {
		const at = "127.0.0.1:80"
		n := New(Options{})
		c, s, _ := connect(t, n, at)
		buf := make([]byte, 1<<20)

		n.Cut(at, true)
		c.Write([]byte("late"))
		s.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := s.Read(buf); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("while it is cut off: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var timeout net.Error
		if _, err := n.Dial(ctx, "tcp", at); !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("a new connection while it is cut off: %v", err)
		}
		s.SetReadDeadline(time.Time{})
		time.AfterFunc(time.Second, func() { n.Cut(at, false) })
		if k, err := s.Read(buf); string(buf[:k]) != "late" || err != nil {
			t.Errorf("after the cut: %q, %v", buf[:k], err)
		}

		n.Slow(at, 1000)
		begin := time.Now()
		c.Write(make([]byte, 10_000))
		if _, err := io.ReadFull(s, buf[:10_000]); err != nil || time.Since(begin) != 10*time.Second {
			t.Errorf("10,000 bytes at 1,000 a second took %v, %v", time.Since(begin), err)
		}
		n.Slow(at, 0)

		n.Refuse(at, true)
		if _, err := n.Dial(t.Context(), "tcp", at); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("refused: %v", err)
		}
		n.Refuse(at, false)
		n.Reset(at)
		if _, err := c.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("after a reset: %v", err)
		}
	})
}

// When the window is full, a writer waits for a slow reader.
func TestTheWindowFills(t *testing.T) {
	Test(t, func(t *testing.T) {
		c, s, _ := connect(t, New(Options{}), "127.0.0.1:80")
		done := make(chan int)
		go func() {
			k, _ := c.Write(make([]byte, window+1))
			done <- k
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("more than the window was written, and nobody has read")
		default:
		}
		c.SetWriteDeadline(time.Now().Add(time.Second))
		if k := <-done; k != window {
			t.Errorf("%d bytes were written until the deadline, want %d", k, window)
		}
		s.Close()
		c.Close()
	})
}

// No deadline can be set on a closed end, as with TCP.
func TestDeadlinesOfAClosedEnd(t *testing.T) {
	Test(t, func(t *testing.T) {
		c, s, _ := connect(t, New(Options{}), "127.0.0.1:80")
		c.Close()
		for _, set := range []func(time.Time) error{c.SetDeadline, c.SetReadDeadline, c.SetWriteDeadline} {
			if err := set(time.Time{}); !errors.Is(err, net.ErrClosed) {
				t.Errorf("closed here: %v", err)
			}
		}
		if err := s.SetDeadline(time.Time{}); err != nil {
			t.Errorf("closed there: %v", err)
		}
		s.Close()
	})
}

// Lookups in two bubbles share state of package net, which is per process.
func TestLookupsInTwoBubbles(t *testing.T) {
	for range 2 {
		Test(t, func(t *testing.T) {
			r := net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
				return nil, errors.New("no name server")
			}}
			if _, err := r.LookupHost(t.Context(), "h.example"); err == nil {
				t.Error("a name was found without a name server")
			}
		})
	}
}
