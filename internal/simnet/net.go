package simnet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"time"
)

// Options configure a network without faults. The zero value is a network that delivers everything
// at once.
type Options struct {
	Seed    uint64        // seed of Jitter
	Latency time.Duration // of each write, in one direction; also of opening a connection
	Jitter  time.Duration // added to Latency, from nothing up to this much
	// Window is how many unread bytes one direction of a connection can contain; further writes
	// wait, as with TCP. 0 means 256 KiB. With Latency it must be large if a writer has locked a
	// mutex that others need, as in nats.go: in a bubble time does not advance while they wait for
	// it.
	Window int
}

// Net is an in-memory network. Its methods may be called from any goroutine of one bubble, or from
// any goroutine at all outside of bubbles.
type Net struct {
	opt Options

	mu        sync.Mutex // guards what is below
	random    *rand.Rand
	port      int // the last one that was assigned
	listeners map[netip.AddrPort]*listener
	faults    map[netip.AddrPort]*fault
	conns     map[*Conn]struct{} // the ends that listeners accepted
}

// fault is the set of faults at the address of a listener.
type fault struct {
	refused bool
	cut     bool
	rate    int // bytes a second; 0: no limit
}

// New makes a network.
func New(o Options) *Net {
	o.Window = cmp.Or(o.Window, window)
	return &Net{
		opt: o, random: rand.New(rand.NewPCG(o.Seed, 1)), port: 20000,
		listeners: make(map[netip.AddrPort]*listener), faults: make(map[netip.AddrPort]*fault), conns: make(map[*Conn]struct{}),
	}
}

// Listen listens at an address, which is an IP and a port. Port 0 means any free port. The network
// must be a TCP network.
func (n *Net) Listen(network, address string) (net.Listener, error) {
	at, err := parse(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if at.Port() == 0 {
		at = netip.AddrPortFrom(at.Addr(), n.nextPort())
	}
	addr := net.TCPAddrFromAddrPort(at)
	if n.listeners[at] != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: addr, Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}
	}
	l := &listener{n: n, at: at, addr: addr, queue: make(chan *Conn, backlog), done: make(chan struct{})}
	n.listeners[at] = l
	return l, nil
}

// backlog is how many connections may wait to be accepted; further ones are refused.
const backlog = 4096

// nextPort returns a port that was not assigned before. The caller has locked mu.
func (n *Net) nextPort() uint16 {
	n.port++
	return uint16(n.port%45000 + 20000)
}

func parse(network, address string) (netip.AddrPort, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return netip.AddrPort{}, net.UnknownNetworkError(network)
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("simnet knows no names: %w", err)
	}
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port()), nil
}

// Dial connects to an address. It has the signature of net.Dialer's DialContext and returns the
// same errors: connection refused where nobody listens, and the context's error where the address
// is cut off.
func (n *Net) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return n.DialFrom(ctx, netip.Addr{}, network, address)
}

// DialFrom is Dial from a machine with another address than the listener's.
func (n *Net) DialFrom(ctx context.Context, from netip.Addr, network, address string) (net.Conn, error) {
	at, err := parse(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	to := net.TCPAddrFromAddrPort(at)
	failed := func(err error) error { return &net.OpError{Op: "dial", Net: network, Addr: to, Err: err} }
	if d := n.latency(); d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, failed(mapContext(ctx.Err()))
		}
	}
	for n.isCut(at) {
		select {
		case <-time.After(resend):
		case <-ctx.Done():
			return nil, failed(mapContext(ctx.Err()))
		}
	}
	if ctx.Err() != nil {
		return nil, failed(mapContext(ctx.Err()))
	}
	refused := failed(os.NewSyscallError("connect", syscall.ECONNREFUSED))
	n.mu.Lock()
	defer n.mu.Unlock()
	l, f := n.listeners[at], n.faults[at]
	if l == nil || f != nil && f.refused {
		return nil, refused
	}
	if !from.IsValid() {
		from = at.Addr()
	}
	me := net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, n.nextPort()))
	client, server := n.pair(at, me, to)
	select {
	case l.queue <- server:
	default:
		return nil, refused
	}
	n.conns[server] = struct{}{}
	return client, nil
}

// resend is the interval at which connecting to an address that is cut off is retried, as TCP does.
const resend = time.Second

// mapContext returns the error that a net.Dialer would return.
func mapContext(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return err
}

func (n *Net) latency() time.Duration {
	d := n.opt.Latency
	if n.opt.Jitter > 0 {
		n.mu.Lock()
		d += time.Duration(n.random.Int64N(int64(n.opt.Jitter)))
		n.mu.Unlock()
	}
	return d
}

// forget removes a connection whose two ends are closed.
func (n *Net) forget(c *Conn) {
	n.mu.Lock()
	delete(n.conns, c)
	n.mu.Unlock()
}

type listener struct {
	n     *Net
	at    netip.AddrPort
	addr  *net.TCPAddr
	queue chan *Conn
	once  sync.Once
	done  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case <-l.done: // also when connections wait
		return nil, l.closed("accept")
	default:
	}
	select {
	case c := <-l.queue:
		return c, nil
	case <-l.done:
		return nil, l.closed("accept")
	}
}

func (l *listener) closed(op string) error {
	return &net.OpError{Op: op, Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
}

// Close refuses new connections, and resets those that were not accepted.
func (l *listener) Close() error {
	err := l.closed("close")
	l.once.Do(func() {
		err = nil
		l.n.mu.Lock()
		delete(l.n.listeners, l.at)
		l.n.mu.Unlock()
		close(l.done)
		for {
			select {
			case c := <-l.queue:
				c.Reset()
			default:
				return
			}
		}
	})
	return err
}

func (l *listener) Addr() net.Addr { return l.addr }
