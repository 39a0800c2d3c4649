package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// connectTimeout is the error of a name lookup, connect or handshake that took longer than
// Options.ConnectTimeout.
type connectTimeout struct{ err error }

func (e *connectTimeout) Error() string { return "connect: " + e.err.Error() }
func (e *connectTimeout) Unwrap() error { return e.err }

// Dial opens a connection, as net.Dialer's DialContext does. The host of the address is an IP
// address that passed the guard, and the peer of the connection is compared with it. Only the
// address of a proxy may have a name; then the peer passes the guard.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// connect makes a connection to addr for a request of a session, with the TLS handshake if it is to
// be secure. So a conn's Write gets requests only.
func (c *Client) connect(h *Session, addr string, secure bool) (*conn, error) {
	t := &allowance{deadline: time.Now().Add(c.opt.ConnectTimeout)}
	if old := c.conns.get(h.host); old != nil {
		old.Close() // a host has one connection at a time, also while connecting
	}
	l, err := c.connectRaw(h, t, "tcp", addr)
	if err != nil {
		return nil, err
	}
	conn := &conn{Conn: l.Conn, raw: l.socket, client: c, cfg: h.cfg, host: h.host, port: portOf(addr), secure: secure, addr: l.addr,
		private: !unknownBlock.Contains(l.addr) && c.Reach(l.addr) != Public}
	conn.peek = newPeek(l.socket)
	conn.safe = secure || conn.private && l.closed
	if secure {
		if err := c.handshake(h, t, conn, addr); err != nil {
			l.socket.Close()
			return nil, err
		}
	}
	c.conns.put(conn)
	return conn, nil
}

// handshake adds TLS to a connection to addr.
func (c *Client) handshake(h *Session, t *allowance, conn *conn, addr string) error {
	ctx, cancel := t.context(h.ctx)
	defer cancel()
	name, _, _ := net.SplitHostPort(addr)
	origin := canon.Origin{Scheme: "https", Host: conn.host, Port: conn.port}
	cfg := c.tlsFor(origin).Clone()
	cfg.ServerName = name
	if h.talking {
		cfg.NextProtos = nil // what is spoken is not HTTP
	}
	none, asked := cfg.GetClientCertificate == nil && len(cfg.Certificates) == 0, false
	if none {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			asked = true
			return new(tls.Certificate), nil // none
		}
	}
	secured := tls.Client(conn.Conn, cfg)
	if err := secured.HandshakeContext(ctx); err != nil {
		return timedOut(ctx, &tlsError{err, origin.String()})
	}
	conn.Conn = secured
	conn.certWanted = none && c.credentialStore.wants(origin, asked, secured.ConnectionState().DidResume)
	return nil
}

// portOf returns the port of host:port.
func portOf(addr string) int {
	_, port, _ := net.SplitHostPort(addr)
	n, _ := strconv.Atoi(port) // it is the port of a canonical URL
	return n
}

// allowance is the time that name lookup, connect and handshake may take together. The wait for a
// token is not included, because it is not caused by the site.
type allowance struct{ deadline time.Time }

func (t *allowance) context(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, t.deadline)
}

// waited excludes the time since start.
func (t *allowance) waited(start time.Time) { t.deadline = t.deadline.Add(time.Since(start)) }

// share returns a context for the next of n addresses: an equal part of the remaining time, unless
// that is very short.
func (t *allowance) share(ctx context.Context, n int) (context.Context, context.CancelFunc) {
	left := time.Until(t.deadline)
	return context.WithTimeout(ctx, min(left, max(left/time.Duration(n), leastTry)))
}

const (
	// maxAddresses is how many addresses of a name are tried for one request. A name server can
	// list thousands, and those of other people.
	maxAddresses = 8
	// leastTry is the least time for each of a name's addresses, if so much is left.
	leastTry = 2 * time.Second
)

// connectRaw makes the socket. It looks the name up and tries its addresses in order, without those
// that the guard refuses. A public address is dialled after the request has its token, so nobody
// there sees a connection that waits.
func (c *Client) connectRaw(h *Session, t *allowance, network, addr string) (*link, error) {
	host, port, err := net.SplitHostPort(h.cfg.Resolve.target(addr))
	if err != nil {
		return nil, err
	}
	if p := c.opt.Proxy; p != nil && p.Resolves {
		if _, err := netip.ParseAddr(host); err != nil {
			return c.connectUnknown(h, t, host, port)
		}
	}
	list, err := c.lookup(h, t, host)
	if err != nil {
		return nil, err
	}
	tried := 0
	var first error
	for i, ip := range list {
		if tried >= maxAddresses || h.ctx.Err() != nil {
			break
		}
		isPrivate, err := guard(ip, c.Reach(ip), h.cfg.AllowPrivate, h.cfg.Contact)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		if err := h.token.arrive(ip, h.NewAddress && h.Requests <= 1); err != nil {
			return nil, err
		}
		h.dialled(isPrivate)
		if isPrivate {
			h.token.leave()
		} else {
			start := time.Now()
			if err := h.takeIPToken(ip, nil); err != nil {
				return nil, err
			}
			t.waited(start)
		}
		tried++
		l, err := c.dialTo(h, t, min(len(list)-i, maxAddresses-tried+1), network, ip, port)
		if err == nil {
			return l, nil
		}
		var useless *proxyError
		var not *notConnected
		if errors.As(err, &useless) || errors.As(err, &not) && not.barred {
			return nil, err
		}
		first = cmp.Or(first, err)
	}
	var refused *addressError
	if tried > 0 && errors.As(first, &refused) {
		// The first address was refused, and another one was tried and failed. An operator wants to
		// know the failure.
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no allowed address answered")}
	}
	return nil, cmp.Or(first, h.ctx.Err(), error(&net.DNSError{Err: "no address", Name: host, IsNotFound: true}))
}

// connectUnknown lets the proxy look a name up. The guard does not see the address, so it counts as
// a public one, and the hosts of a registered domain share its tokens.
func (c *Client) connectUnknown(h *Session, t *allowance, host, port string) (*link, error) {
	place, reach := unknownAddress(h.host), Public
	if inner(host) {
		reach = private
	}
	if _, err := guard(place, reach, h.cfg.AllowPrivate, h.cfg.Contact); err != nil {
		return nil, err
	}
	h.dialled(false)
	start := time.Now()
	if err := h.takeIPToken(place, nil); err != nil {
		return nil, err
	}
	t.waited(start)
	ctx, cancel := t.context(h.ctx)
	defer cancel()
	return c.dialProxy(ctx, h, net.JoinHostPort(host, port), place)
}

// lookup returns the addresses of a name, or the address that host is.
func (c *Client) lookup(h *Session, t *allowance, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	ctx, cancel := t.context(h.ctx)
	defer cancel()
	list, err := c.opt.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, timedOut(ctx, err)
	}
	return list, nil
}

// dialTo connects to an address that the guard allowed. n addresses are left to be tried, including
// this one.
func (c *Client) dialTo(h *Session, t *allowance, n int, network string, ip netip.Addr, port string) (*link, error) {
	ctx, cancel := t.share(h.ctx, n)
	defer cancel()
	if c.opt.Proxy != nil {
		return c.dialProxy(ctx, h, net.JoinHostPort(ip.Unmap().String(), port), ip.Unmap())
	}
	d := net.Dialer{
		FallbackDelay: -1,
		// The last check before the socket connects: the address is the one that the guard allowed.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if ap, err := netip.ParseAddrPort(address); err != nil || ap.Addr().Unmap() != ip.Unmap() {
				return &addressError{hint: fmt.Sprintf("%q is not the requested address", address)}
			}
			return nil
		},
	}
	dial := d.DialContext
	if c.opt.Dial != nil {
		dial = c.opt.Dial
	}
	raw, err := dial(ctx, network, net.JoinHostPort(ip.String(), port))
	if err != nil {
		return nil, timedOut(ctx, err)
	}
	// The peer of the socket is unknown, so the guard cannot have allowed it.
	remote, err := netip.ParseAddrPort(raw.RemoteAddr().String())
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("address of the connection to %s: %w", ip, err)
	}
	if remote.Addr().Unmap().WithZone("") != ip.Unmap().WithZone("") {
		raw.Close()
		return nil, &addressError{hint: fmt.Sprintf("%q is not the requested address", remote)}
	}
	return &link{Conn: raw, socket: raw, addr: remote.Addr().Unmap(), closed: true}, nil
}

// timedOut marks an error that was caused by the connect timeout. Name servers have timeouts of
// their own, which are DNS failures.
func timedOut(ctx context.Context, err error) error {
	var dns *net.DNSError
	var timeout net.Error
	if errors.As(err, &dns) && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return &connectTimeout{err}
	}
	return err
}
