package main

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
)

// proxy passes connections on to a server and counts what it passes, in both directions. The
// headers of TCP and IP are not counted.
type proxy struct {
	l           net.Listener
	to          string
	connections atomic.Int64
	octets      atomic.Int64
}

func newProxy(to string) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{l: l, to: to}
	go p.run()
	return p, nil
}

func (p *proxy) address() string { return p.l.Addr().String() }

func (p *proxy) close() error { return p.l.Close() }

// run ends when the listener is closed.
func (p *proxy) run() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		p.connections.Add(1)
		go p.pass(client.(*net.TCPConn))
	}
}

func (p *proxy) pass(client *net.TCPConn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Go(func() { p.copy(server.(*net.TCPConn), client) })
	both.Go(func() { p.copy(client, server.(*net.TCPConn)) })
	both.Wait()
}

// copy counts before it passes on, so that nothing is missing when a crawl has ended.
func (p *proxy) copy(to, from *net.TCPConn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.octets.Add(int64(n))
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				_ = to.CloseWrite() // the other side may have closed it
				return
			}
			break
		}
	}
	_, _ = to.Close(), from.Close() // both copies end
}
