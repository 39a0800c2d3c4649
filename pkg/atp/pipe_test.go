package atp_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
)

// pipes is a network in memory, for bubbles: a listener whose connections are pipes.
type pipes struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
	from  netip.AddrPort // of all clients
}

func newPipes() *pipes {
	return &pipes{conns: make(chan net.Conn), done: make(chan struct{}), from: netip.MustParseAddrPort("192.0.2.1:4000")}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return net.TCPAddrFromAddrPort(p.from) }

// dial connects as the client address from.
func (p *pipes) dial(ctx context.Context, from netip.AddrPort) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case p.conns <- addressed{server, net.TCPAddrFromAddrPort(from)}:
		return client, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pipes) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	return p.dial(ctx, p.from)
}

type addressed struct {
	net.Conn
	remote net.Addr
}

func (a addressed) RemoteAddr() net.Addr { return a.remote }
