package queue

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// cable is a connection to a server over a simulated network. It can be cut without either end
// being notified.
type cable struct {
	net     *simnet.Net
	wg      sync.WaitGroup
	carried atomic.Int64 // bytes in both directions
	down    atomic.Bool  // new connections are refused

	mu sync.Mutex
	to *embedded.Server // guarded by mu
	// guarded by mu; how many bytes a connection carries before broken is called; 0: no limit
	budget int64
	broken func() // guarded by mu
}

// at is the address of the server of every cable.
const at = "127.0.0.1:4222"

func newCable(t testing.TB, s *embedded.Server) *cable {
	t.Helper()
	c := &cable{net: simnet.New(simnet.Options{}), to: s}
	ln, err := c.net.Listen("tcp", at)
	check(t, err)
	c.wg.Go(func() {
		for {
			a, err := ln.Accept()
			if err != nil {
				return
			}
			b, err := c.server().InProcess().InProcessConn()
			if err != nil {
				a.(*simnet.Conn).Reset()
				a.Close()
				continue
			}
			c.wg.Go(func() { c.pump(a, b) })
			c.wg.Go(func() { c.pump(b, a) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		c.breakEvery(0, nil)
		c.mend()
		c.wg.Wait()
	})
	return c
}

func (c *cable) server() *embedded.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.to
}

// plug connects the cable to another server. Only new connections use it.
func (c *cable) plug(s *embedded.Server) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.to = s
}

// breakEvery calls do and resets all connections each time n more bytes were carried.
func (c *cable) breakEvery(n int64, do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.budget, c.broken = n, do
	c.carried.Store(0)
}

func (c *cable) pump(dst, src net.Conn) {
	defer dst.Close()
	defer src.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := src.Read(buf)
		if err != nil {
			return
		}
		c.mu.Lock()
		if c.budget > 0 && c.carried.Add(int64(n)) >= c.budget {
			c.carried.Store(0)
			c.wg.Go(c.broken)
			c.mu.Unlock()
			c.hangUp()
			return
		}
		c.mu.Unlock()
		if _, err := dst.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut makes the existing connections carry nothing and refuses new ones.
func (c *cable) cut() {
	c.down.Store(true)
	c.net.Cut(at, true)
}

// mend ends a cut. Everything sent meanwhile is lost together with its connection.
func (c *cable) mend() {
	c.hangUp()
	c.net.Cut(at, false)
	c.down.Store(false)
}

// hangUp resets all connections.
func (c *cable) hangUp() { c.net.Reset(at) }

// options returns the options for a client at the other end.
func (c *cable) options() Options {
	return Options{URL: "nats://" + at, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		// nats.go waits for a connection while it holds its lock, and virtual time does not advance
		// while a goroutine waits for that lock.
		if c.down.Load() {
			return nil, errors.New("the cable is cut")
		}
		return c.net.Dial(ctx, network, address)
	}}
}

func (c *cable) dial(t testing.TB, log *slog.Logger) *Conn {
	t.Helper()
	q, err := Dial(t.Context(), c.options(), log)
	check(t, err)
	t.Cleanup(func() { q.Close() })
	return q
}

// All operations continue after the server was restarted on its directory.
func TestServerRestart(t *testing.T) {
	t.Run("in process", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			s := startServer(t, embedded.Options{})
			logged := newLines()
			restarted(t, s, dialLog(t, s, slog.New(logged)), logged)
		})
	})
	t.Run("over a network", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			s := startServer(t, embedded.Options{})
			logged := newLines()
			restarted(t, s, newCable(t, s).dial(t, slog.New(logged)), logged)
		})
	})
}

func restarted(t *testing.T, s *embedded.Server, c *Conn, logged *lines) {
	t.Helper()
	l, w := openLog(t, c), openWork(t, c, 1000)
	var worked atomic.Int64
	appendN(t, l, 10)
	f := follow(t, l, Position{})
	ctx, cancel := cancelled(t)
	consumed := make(chan error, 1)
	go func() {
		consumed <- w.Consume(ctx, "x.pages.0", "i-0", 1, ConsumeOptions{}, countTo(&worked))
	}()
	sendN(t, w, "x.pages.0", 10)
	eventually(t, "before the restart", func() bool { return f.pos().Seq == 10 && worked.Load() >= 10 })

	var wg sync.WaitGroup
	wg.Go(func() { // appends continue during the restart
		for range 200 {
			if _, err := l.Append(ctx, nil); err != nil {
				t.Errorf("Append during the restart: %v", err)
			}
			time.Sleep(time.Millisecond)
		}
	})
	time.Sleep(20 * time.Millisecond)
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	sendN(t, w, "x.pages.0", 10)
	last, err := l.Last(ctx)
	if err != nil || last < 210 {
		t.Errorf("Last = %d, %v", last, err)
	}
	eventually(t, "after the restart", func() bool { return f.pos().Seq == last && worked.Load() >= 20 })
	if logged.count("is back") == 0 {
		t.Error("no message that the connection is back")
	}
	f.stop()
	cancel()
	if err := errors.Join(f.wait(t), <-consumed); err != nil {
		t.Error(err)
	}
}

// A server that returns without its store does not continue the log.
func TestServerLosesItsStore(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := startServer(t, embedded.Options{Dir: dir})
		wire := newCable(t, s)
		c := wire.dial(t, testLog(t))
		l := openLog(t, c)
		appendN(t, l, 10)
		f := follow(t, l, Position{})
		eventually(t, "ten messages", func() bool { return f.pos().Seq == 10 })
		s.Shutdown()
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		nextInstant()
		s2 := startServer(t, embedded.Options{Dir: dir})
		wire.plug(s2)
		eventually(t, "reconnect", c.NC.IsConnected)
		l2 := openLog(t, dial(t, s2))
		appendN(t, l2, 10)
		if err := f.wait(t); !errors.Is(err, ErrAnchor) {
			t.Errorf("Follow = %v, want ErrAnchor", err)
		}
		at, err := l.Rewind(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readTo(t, l, at, 10); err != nil || len(got) != 10 {
			t.Errorf("after Rewind: %d messages, %v", len(got), err)
		}
	})
}

// The connection breaks again and again. Nothing is lost, and nothing arrives twice or out of
// order.
func TestFlappingConnection(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		c := wire.dial(t, testLog(t))
		l := openLog(t, dial(t, s))
		const n = 2000
		for range n {
			_, err := l.Append(t.Context(), make([]byte, 1000))
			check(t, err)
		}
		near := &Log{c: c, cfg: l.cfg}
		var breaks atomic.Int64
		wire.breakEvery(n*1000/6, func() { breaks.Add(1) })
		f := follow(t, near, Position{})
		eventually(t, "all of them", func() bool { return f.pos().Seq >= n })
		wire.breakEvery(0, nil)
		if breaks.Load() < 5 {
			t.Errorf("the connection broke %d times", breaks.Load())
		}
		// A message that was being sent when the connection broke may be in the log twice, as the
		// comment of Append says.
		last, err := near.Append(t.Context(), nil)
		check(t, err)
		if last < n+1 {
			t.Errorf("Append = %d behind %d messages", last, n)
		}
		eventually(t, "the last one", func() bool { return f.pos().Seq >= last })
		f.stop()
		if err := f.wait(t); err != nil {
			t.Error(err)
		}
	})
}

// A peer that is gone stops reading. A writer must not wait a minute for it while everybody else
// waits for the writer: nats.go holds its lock meanwhile. The test therefore uses nats.go with our
// options and only one goroutine, because a goroutine that waits for a mutex stops virtual time.
func TestPeerThatTakesNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		wire := newCable(t, startServer(t, embedded.Options{}))
		c := &Conn{log: testLog(t)}
		c.session, c.end = context.WithCancel(t.Context())
		lost := make(chan bool, 1)
		opts, err := wire.options().options(c)
		check(t, err)
		nc, err := nats.Connect("nats://"+at, append(opts, nats.PingInterval(time.Hour),
			nats.DisconnectErrHandler(func(*nats.Conn, error) { lost <- true }))...)
		check(t, err)
		t.Cleanup(nc.Close)
		synctest.Wait()
		wire.net.Cut(at, true)
		began := time.Now()
		if err := nc.Publish("x", make([]byte, 900<<10)); err == nil {
			t.Error("900 KiB were written, although the peer reads nothing")
		}
		if took := time.Since(began); took != writeWithin {
			t.Errorf("the write ended after %v, want %v", took, writeWithin)
		}
		wire.net.Cut(at, false)
		<-lost
		if took := time.Since(began); took != writeWithin {
			t.Errorf("the connection was given up after %v, want %v", took, writeWithin)
		}
		eventually(t, "a new connection", nc.IsConnected)
	})
}

func TestClosedConnectionEndsEverything(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := dial(t, startServer(t, embedded.Options{}))
		l, w := openLog(t, c), openWork(t, c, 10)
		f := follow(t, l, Position{})
		ctx, _ := cancelled(t)
		done := make(chan error, 1)
		go func() { done <- w.Consume(ctx, "x.pages.0", "i-0", 1, ConsumeOptions{}, countTo(new(atomic.Int64))) }()
		appendN(t, l, 1)
		sendN(t, w, "x.pages.0", 1)
		drained(t, w, "x.pages.0")
		c.Close()
		if err := f.wait(t); !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("Follow = %v", err)
		}
		if err := <-done; !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("Consume = %v", err)
		}
		if _, err := l.Append(ctx, nil); !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("Append = %v", err)
		}
	})
}
