// Package broker is an embedded NATS server for tests, which does not listen, with connections that
// can be cut. In a bubble of package simnet its time is virtual.
package broker

import (
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Room is the total size of the streams that a test may reserve, in bytes.
const Room = 1 << 30

// Start starts a server that ends with the test. Its files are then removed.
func Start(t testing.TB) *embedded.Server { return StartIn(t, t.TempDir()) }

// StartIn is Start in a directory that the caller chooses, as after a restart.
func StartIn(t testing.TB, dir string) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.Options{Dir: dir, MaxStore: Room, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// Dial connects to a server until the test ends.
func Dial(t testing.TB, s *embedded.Server) *queue.Conn {
	t.Helper()
	return dialWith(t, queue.Options{InProcess: s.InProcess(), User: s.User(), Password: s.Password()})
}

func dialWith(t testing.TB, o queue.Options) *queue.Conn {
	t.Helper()
	q, err := queue.Dial(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	return q
}

// Open starts a server and connects to it.
func Open(t testing.TB) (*embedded.Server, *queue.Conn) {
	t.Helper()
	s := Start(t)
	return s, Dial(t, s)
}

// Line is a connection to a server that can be cut, for one client or several. Its methods may be
// called from any goroutine.
type Line struct {
	to nats.InProcessConnProvider

	mu    sync.Mutex // guards what is below
	down  bool
	conns []net.Conn
}

// NewLine makes a line to a server.
func NewLine(s *embedded.Server) *Line { return &Line{to: s.InProcess()} }

// Dial is queue.Dial over the line, until the test ends.
func (l *Line) Dial(t testing.TB, s *embedded.Server) *queue.Conn {
	t.Helper()
	return dialWith(t, queue.Options{InProcess: l, User: s.User(), Password: s.Password()})
}

// InProcessConn opens a connection unless the line is cut.
func (l *Line) InProcessConn() (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("the line to the NATS server is cut")
	}
	c, err := l.to.InProcessConn()
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

// Move redirects the line to another server: later connections are to that one.
func (l *Line) Move(s *embedded.Server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to = s.InProcess()
}

// Cut ends all connections, and refuses new ones until it is called with false.
func (l *Line) Cut(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	if down {
		for _, c := range l.conns {
			c.Close()
		}
		l.conns = nil
	}
}
