package fetcher

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// tlsError is a failed handshake, certificates included.
type tlsError struct{ err error }

func (e *tlsError) Error() string { return e.err.Error() }
func (e *tlsError) Unwrap() error { return e.err }

// connectTimeout is a name lookup, connect or handshake that took longer than Options.ConnectTimeout.
type connectTimeout struct{ err error }

func (e *connectTimeout) Error() string { return "connect: " + e.err.Error() }
func (e *connectTimeout) Unwrap() error { return e.err }

type holdKey struct{}

// dial connects for the hold whose request needs a connection.
func (c *client) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.connect(ctx, network, addr, false)
}

// dialTLS is dial with the handshake. It is done here, not by net/http, so that a conn's Write sees requests only.
func (c *client) dialTLS(ctx context.Context, network, addr string) (net.Conn, error) {
	return c.connect(ctx, network, addr, true)
}

func (c *client) connect(ctx context.Context, network, addr string, secure bool) (net.Conn, error) {
	h, _ := ctx.Value(holdKey{}).(*hold)
	if h == nil {
		return nil, errors.New("fetcher: a connection nobody asked for")
	}
	// net/http lets a dial outlive its request, hoping for another use. Ours end with the visit.
	ctx, cancel := context.WithTimeout(h.ctx, c.opt.ConnectTimeout)
	defer cancel()
	raw, err := c.connectRaw(ctx, h, network, addr)
	if err != nil {
		return nil, timedOut(ctx, err)
	}
	// A socket whose peer we cannot name is not one we know to be allowed.
	remote, err := netip.ParseAddrPort(raw.RemoteAddr().String())
	if err != nil {
		raw.Close()
		return nil, fmt.Errorf("address of the connection to %s: %w", addr, err)
	}
	ip := remote.Addr().Unmap()
	conn := &conn{Conn: raw, raw: raw, client: c, cfg: h.cfg, host: h.host, addr: ip, private: c.reach(ip) != public}
	if secure {
		name, _, _ := net.SplitHostPort(addr)
		cfg := c.tls.Clone()
		cfg.ServerName = name
		t := tls.Client(raw, cfg)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			return nil, timedOut(ctx, &tlsError{err})
		}
		conn.Conn = t
	}
	c.conns.put(conn)
	return conn, nil
}

// maxAddresses is how many addresses of a name are tried for a request. A name server can list thousands, and other people's.
const maxAddresses = 8

// connectRaw makes the socket. The guard is asked in Control, after name lookup and for each address tried.
func (c *client) connectRaw(ctx context.Context, h *hold, network, addr string) (net.Conn, error) {
	tried := 0
	d := net.Dialer{
		Resolver:      c.opt.Resolver,
		FallbackDelay: -1, // one connection at a time, also while connecting
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			if tried >= maxAddresses {
				return errors.New("none of the first addresses answered")
			}
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return &addressError{hint: fmt.Sprintf("%q is no address", address)}
			}
			isPrivate, err := guard(ap.Addr(), c.reach(ap.Addr()), h.cfg.allowPrivate, h.cfg.contact)
			if err != nil {
				return err
			}
			h.dialled(isPrivate)
			tried++
			return nil
		},
	}
	raw, err := d.DialContext(ctx, network, h.cfg.resolve.target(addr))
	var refused *addressError
	if err != nil && tried > 0 && errors.As(err, &refused) {
		// The first address was refused, another one was tried and failed: the failure is what an operator wants to know.
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("no permitted address answered")}
	}
	return raw, err
}

// timedOut marks an error that came of the connect timeout. Name servers have their own timeouts, which are DNS failures.
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
