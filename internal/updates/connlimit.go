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

// What one peer may have of a listener, and how long a connection may stay that has not named
// a recipient of ours.
const (
	maxPerPeer = 8                // connections of one address, for IPv6 of its /64
	unknown    = 20 * time.Second // until it names a recipient that is ours; after that idle counts
)

// connLimiter is a net.Listener that keeps one peer from taking all places. A connection beyond a
// limit is told so and closed.
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

// Accept waits for a connection for which there is a place.
func (d *connLimiter) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := peerOf(c.RemoteAddr())
		if !d.enter(peer) {
			_ = c.SetWriteDeadline(time.Now().Add(time.Second))
			// it fits into the socket's buffer
			_, _ = c.Write([]byte("421 4.7.0 too many connections, try again later\r\n"))
			_ = c.Close()
			continue
		}
		return &guest{Conn: c, leave: sync.OnceFunc(func() { d.leave(peer) }), until: time.Now().Add(unknown)}, nil
	}
}

// fair is a net.Listener for HTTP by which one peer from the internet has maxPerPeer connections at
// most, and all together have maxConns: others wait. Private and loopback addresses are spared, as
// a proxy that everybody comes through has one.
func fair(ln net.Listener) net.Listener {
	return netutil.LimitListener(peers{ln, &connLimiter{perPeer: maxPerPeer, inAll: math.MaxInt, peers: map[netip.Prefix]int{}}}, maxConns)
}

// beside reports whether a peer is next to us: it may be a proxy that everybody comes through.
func beside(peer netip.Prefix) bool { return peer.Addr().IsPrivate() || peer.Addr().IsLoopback() }

type peers struct {
	net.Listener
	limiter *connLimiter
}

// Accept waits for a connection for which its peer has a place.
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
		_ = c.Close() // it may come again
	}
}

// limitedConn is a connection that gives its place back when it is closed.
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

// peerOf is what counts as one peer. All addresses that are not IP addresses count as one.
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

// guest is a connection that a door let in. Until it has named a recipient of ours, nothing it does
// keeps it open for longer than unknown.
type guest struct {
	net.Conn
	leave func()
	until time.Time
	known atomic.Bool
}

// SetReadDeadline is net.Conn's, but never later than the guest may stay.
func (g *guest) SetReadDeadline(t time.Time) error {
	if !g.known.Load() && (t.IsZero() || t.After(g.until)) {
		t = g.until
	}
	return g.Conn.SetReadDeadline(t)
}

// Close gives the place back.
func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}
