package updates

import (
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/netutil"
)

// The limits for one peer of a listener, and for a connection that has not named a recipient of
// ours yet.
const (
	maxPerPeer = 8                // connections of one address, or of one /64 for IPv6
	unknown    = 20 * time.Second // until it names a recipient of ours; after that idle applies
)

// connLimiter is a net.Listener that prevents one peer from using all connections. A connection
// beyond a limit gets a reply that says so, and is closed.
type connLimiter struct {
	net.Listener
	perPeer, inAll int

	mu    sync.Mutex // guards what follows
	conns int
	peers map[netip.Prefix]int
}

func newConnLimiter(ln net.Listener) *connLimiter {
	return &connLimiter{Listener: ln, perPeer: maxPerPeer, inAll: maxConns, peers: map[netip.Prefix]int{}}
}

// Accept waits for a connection that is within the limits.
func (d *connLimiter) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(c.RemoteAddr())
		if !d.enter(peer) {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			// the reply fits into the socket's buffer
			_, _ = c.Write([]byte("421 4.7.0 too many connections, try again later\r\n"))
			_ = c.Close()
			continue
		}
		return &guest{Conn: c, leave: sync.OnceFunc(func() { d.leave(peer) }), until: time.Now().Add(unknown)}, nil
	}
}

// fair is a net.Listener for HTTP. A peer from the internet has at most maxPerPeer connections. All
// peers together have at most maxConns; further connections wait. Private and loopback addresses
// have no limit of their own, because a proxy for everybody may have such an address.
func fair(ln net.Listener) net.Listener {
	return netutil.LimitListener(peers{ln, &connLimiter{perPeer: maxPerPeer, inAll: math.MaxInt, peers: map[netip.Prefix]int{}}}, maxConns)
}

// beside reports whether a peer is in our own network: it may be a proxy for everybody.
func beside(peer netip.Prefix) bool { return peer.Addr().IsPrivate() || peer.Addr().IsLoopback() }

type peers struct {
	net.Listener
	limiter *connLimiter
}

// Accept waits for a connection that is within the limit of its peer.
func (p peers) Accept() (net.Conn, error) {
	for {
		c, err := p.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(c.RemoteAddr())
		switch {
		case beside(peer):
			return c, nil
		case p.limiter.enter(peer):
			return &limitedConn{c, sync.OnceFunc(func() { p.limiter.leave(peer) })}, nil
		}
		_ = c.Close() // the peer may try again
	}
}

// limitedConn is a connection that no longer counts when it is closed.
type limitedConn struct {
	net.Conn
	leave func()
}

func (c *limitedConn) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

func (d *connLimiter) enter(peer netip.Prefix) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conns >= d.inAll || d.peers[peer] >= d.perPeer {
		return false
	}
	d.conns++
	d.peers[peer]++
	return true
}

func (d *connLimiter) leave(peer netip.Prefix) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns--
	if d.peers[peer]--; d.peers[peer] == 0 {
		delete(d.peers, peer)
	}
}

// peerOf returns what counts as one peer. All addresses that are not IP addresses count as one.
func peerOf(a net.Addr) netip.Prefix {
	from, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	ip := from.Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits)
	return p
}

// guest is a connection that a connLimiter accepted. Until it has named a recipient of ours, it
// ends after the time unknown, whatever its peer sends.
type guest struct {
	net.Conn
	leave func()
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

// Close closes the connection, which then no longer counts.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}
