package updates

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/fair"
)

// The limits for one peer of a listener, and for a connection that has not named a recipient of
// ours yet.
const (
	maxPerPeer = 8                // connections of one block of addresses
	unknown    = 20 * time.Second // until it names a recipient of ours; after that idle applies
)

// limited limits the connections of a listener.
func limited(ln net.Listener, refuse func(net.Conn), log *slog.Logger) net.Listener {
	return fair.Listener(ln, fair.ListenerOptions{Most: maxConns, PerBlock: maxPerPeer, Refuse: refuse, Log: log})
}

// guests is a net.Listener for mail. A connection that its peer has too many of gets a reply that
// says so, and is closed.
type guests struct{ net.Listener }

func newGuests(ln net.Listener, log *slog.Logger) guests {
	return guests{limited(ln, func(c net.Conn) {
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		// the reply fits into the socket's buffer
		_, _ = c.Write([]byte("421 4.7.0 too many connections, try again later\r\n"))
	}, log)}
}

// Accept waits for a connection that is within the limits.
func (l guests) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &guest{Conn: c, until: time.Now().Add(unknown)}, nil
}

// guest is a connection that guests accepted. Until it has named a recipient of ours, it ends after
// the time unknown, whatever its peer sends.
type guest struct {
	net.Conn
	until time.Time
	known atomic.Bool
}

// SetReadDeadline sets the deadline, but no later than the connection may stay.
func (g *guest) SetReadDeadline(t time.Time) error {
	if !g.known.Load() && (t.IsZero() || t.After(g.until)) {
		t = g.until
	}
	return g.Conn.SetReadDeadline(t)
}
