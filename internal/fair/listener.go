package fair

import (
	"cmp"
	"errors"
	"log/slog"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/disk"
)

// Each connection that a stranger opens costs the process a file, and the files of a process are
// limited. The rest is for its own files, the embedded NATS server and requests.
const (
	strangersPart    = 4    // a quarter of the files that the process may open are for strangers
	leastConnections = 16   // connections, even if that is more than a quarter
	mostConnections  = 1024 // connections; more would only cost memory

	// BlockConns is how many connections one block of addresses has at a listener unless
	// ListenerOptions sets another number. A browser has six.
	BlockConns = 32
)

// Connections is a number of connections that several listeners share. Use NewConnections to make
// one. It may be used concurrently.
type Connections struct {
	most int

	mu    sync.Mutex // guards what follows
	conns map[*Conn]struct{}
	count uint64 // of all connections that there ever were
}

// NewConnections makes one for a number of connections.
func NewConnections(most int) *Connections {
	return &Connections{most: most, conns: map[*Conn]struct{}{}}
}

// Process returns the Connections of this process. There are as many as its limit of open files
// allows.
var Process = sync.OnceValue(func() *Connections { return NewConnections(connectionsOf(disk.MaxFiles())) })

// connectionsOf is how many connections of strangers a process may have that may open files.
func connectionsOf(files int) int {
	return min(max(files/strangersPart, leastConnections), mostConnections)
}

// Most is how many connections there may be at the same time.
func (d *Connections) Most() int { return d.most }

// Len is how many connections there are.
func (d *Connections) Len() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.conns)
}

// ListenerOptions limit the connections of a listener. A zero field means its default.
type ListenerOptions struct {
	Most        int          // connections at the same time; 0 = as many as Connections has
	PerBlock    int          // connections of one block of addresses; 0 = BlockConns
	Connections *Connections // shared with other listeners; nil = those of the process
	// Refuse is called with a connection that is about to be closed because its block has too many.
	// It must not wait. Nil does nothing.
	Refuse func(net.Conn)
	Log    *slog.Logger // nil: slog.Default()
}

// Listener limits the connections that strangers may have at ln. A block of addresses has
// PerBlock; its further connections are closed. Private and loopback addresses have no limit of
// their own, because a proxy for everybody may have such an address. If the listener or the process
// has no connection left, one is closed for the new one: of the block that has the most, the one
// that was sent nothing for the longest time. So those who send slowly, or only wait, do not keep
// others out. If the process has no file left for a connection, one is closed too.
func Listener(ln net.Listener, o ListenerOptions) net.Listener {
	if o.Connections == nil {
		o.Connections = Process()
	}
	if o.Most <= 0 {
		o.Most = math.MaxInt
	}
	if o.PerBlock <= 0 {
		o.PerBlock = BlockConns
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &listener{Listener: ln, o: o, closed: make(chan struct{})}
}

type listener struct {
	net.Listener
	o      ListenerOptions
	once   sync.Once
	closed chan struct{}
	warned time.Time // used by Accept
}

// Ours reports whether an address is in our own network: a proxy for everybody may have it.
func Ours(a netip.Addr) bool {
	a = a.Unmap()
	return a.IsPrivate() || a.IsLoopback()
}

// AddrOf is the IP address of the other end of a connection; the zero Addr if it has none.
func AddrOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}

// Pauses after a failure to accept, and how often it is logged.
const (
	acceptPause = 5 * time.Millisecond
	acceptMost  = time.Second
	warnEvery   = time.Minute
)

// Accept waits for a connection that is within the limits.
func (l *listener) Accept() (net.Conn, error) {
	for pause := acceptPause; ; pause = min(2*pause, acceptMost) {
		c, err := l.Listener.Accept()
		if err != nil {
			if !disk.OutOfFiles(err) {
				return nil, err
			}
			if now := time.Now(); now.Sub(l.warned) >= warnEvery {
				l.warned = now
				l.o.Log.Error("a connection could not be accepted", "address", l.Addr().String(), "err", disk.Explain(err))
			}
			l.o.Connections.makeRoom()
			select {
			case <-time.After(pause):
			case <-l.closed:
			}
			continue
		}
		if conn, ok := l.enter(c); ok {
			return conn, nil
		}
		if l.o.Refuse != nil {
			l.o.Refuse(c)
		}
		_ = c.Close()
	}
}

// Close closes the listener, but no connection.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// enter counts a connection, and closes others if that is necessary. ok is false if the block of
// the connection has too many.
func (l *listener) enter(c net.Conn) (conn *Conn, ok bool) {
	addr, d := AddrOf(c.RemoteAddr().String()), l.o.Connections
	conn = &Conn{Conn: c, ln: l, block: BlockOf(addr)}
	conn.active.Store(time.Now().UnixNano())
	var victim *Conn
	defer func() {
		if victim != nil {
			_ = victim.Close()
		}
	}()
	d.mu.Lock()
	defer d.mu.Unlock()
	here, block := 0, 0
	for other := range d.conns {
		if other.ln == l {
			here++
			if other.block == conn.block {
				block++
			}
		}
	}
	if block >= l.o.PerBlock && !Ours(addr) {
		return nil, false
	}
	d.count++
	conn.number = d.count
	d.conns[conn] = struct{}{}
	if here >= l.o.Most {
		victim = d.evict(func(other *Conn) bool { return other.ln == l && other != conn }, conn.block)
	} else if len(d.conns) > d.most {
		victim = d.evict(func(other *Conn) bool { return other != conn }, conn.block)
	}
	return conn, true
}

// makeRoom closes a connection so that a file can be opened.
func (d *Connections) makeRoom() {
	d.mu.Lock()
	c := d.evict(func(*Conn) bool { return true }, Party{})
	d.mu.Unlock()
	if c != nil {
		_ = c.Close()
	}
}

// evict no longer counts one of the connections that may be closed, and returns it: of the block
// that has the most, the one that was sent nothing for the longest time. newcomer has one more
// than is seen. It returns nil if there is none. The caller has locked mu.
func (d *Connections) evict(may func(*Conn) bool, newcomer Party) (victim *Conn) {
	has := map[Party]int{newcomer: 1}
	for c := range d.conns {
		if may(c) {
			has[c.block]++
		}
	}
	for c := range d.conns {
		if may(c) && (victim == nil || cmp.Or(-cmp.Compare(has[c.block], has[victim.block]),
			cmp.Compare(c.active.Load(), victim.active.Load()), cmp.Compare(c.number, victim.number)) < 0) {
			victim = c
		}
	}
	if victim != nil {
		delete(d.conns, victim)
	}
	return victim
}

// Conn is a connection that a Listener accepted.
type Conn struct {
	net.Conn
	ln     *listener
	block  Party
	number uint64       // counts up
	active atomic.Int64 // when something was sent last, in Unix nanoseconds
}

// Write sends b. Who is sent something is not idle.
func (c *Conn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if n > 0 {
		c.active.Store(time.Now().UnixNano())
	}
	return n, err
}

// CloseWrite ends the direction to the other end, if the connection can do that.
func (c *Conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close closes the connection, which then no longer counts.
func (c *Conn) Close() error {
	err := c.Conn.Close()
	d := c.ln.o.Connections
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.conns, c)
	return err
}
