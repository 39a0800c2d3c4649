//go:build external

package deploytest

import (
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// relay stands between a feed and the server of a sink. It kills the server, and cuts all
// connections, in the middle of a request or before its answer. Its address stays the same.
type relay struct {
	name   string
	ln     net.Listener
	dial   func() (net.Conn, error) // connects to the server
	kill   func()                   // kills the server
	revive func()                   // starts it again, with what it has stored
	steps  int                      // an armed relay kills within so many packets
	moved  atomic.Int64             // packets
	faults atomic.Int64             // kills
	open   sync.WaitGroup           // its goroutines

	mu      sync.Mutex // guards what follows
	random  *rand.Rand
	conns   map[net.Conn]bool
	left    int  // packets until the next kill; 0: none is due
	writes  bool // a batch was sent since the relay was armed; packets count from then on
	answer  bool // count packets of the server, and lose the last one
	refuses int  // connections that are refused before the server is back
	closed  bool
}

// newRelay makes a relay that listens. All its randomness is from random.
func newRelay(t *testing.T, name string, random *rand.Rand, steps int) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{name: name, ln: ln, random: random, steps: steps, conns: map[net.Conn]bool{}, kill: func() {}, revive: func() {}}
	t.Cleanup(func() {
		_ = ln.Close()
		r.mu.Lock()
		r.closed = true
		r.cut()
		r.mu.Unlock()
		r.open.Wait()
	})
	return r
}

// serve accepts connections from now on.
func (r *relay) serve() {
	r.open.Go(func() {
		for {
			c, err := r.ln.Accept()
			if err != nil {
				return
			}
			r.open.Go(func() { r.connect(c) })
		}
	})
}

func (r *relay) addr() string { return r.ln.Addr().String() }

// arm makes the relay kill the server while batches are sent, after a random number of packets in a
// random direction.
func (r *relay) arm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes, r.left, r.answer = false, 1+r.random.IntN(r.steps), r.random.IntN(2) == 0
}

// armed reports whether a kill is still due.
func (r *relay) armed() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.left > 0 || r.refuses > 0
}

// disarm takes back a kill that is still due, and refuses nothing more.
func (r *relay) disarm() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left, r.refuses = 0, 0
}

func (r *relay) connect(client net.Conn) {
	r.mu.Lock()
	refused := r.refuses > 0 || r.closed
	r.refuses = max(0, r.refuses-1)
	r.mu.Unlock()
	if refused {
		reset(client)
		return
	}
	server, err := r.dial()
	if err != nil {
		reset(client)
		return
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		reset(client)
		reset(server)
		return
	}
	r.conns[client], r.conns[server] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { r.pass(client, server, false) })
	both.Go(func() { r.pass(server, client, true) })
	both.Wait()
	r.mu.Lock()
	delete(r.conns, client)
	delete(r.conns, server)
	r.mu.Unlock()
}

// pass passes packets on, until one side closes the connection or a kill cuts it.
func (r *relay) pass(from, to net.Conn, answers bool) {
	defer func() { reset(from); reset(to) }()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			r.moved.Add(1)
			if r.due(answers, n) {
				if !answers { // of a request the server has the beginning
					_, _ = to.Write(buf[:n/2])
				}
				r.strike()
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// much is how many bytes a packet of a batch has at least. What a feed sends before, to prepare the
// sink, has less.
const much = 1500

// due counts a packet of n bytes, and reports whether the server is to be killed now.
func (r *relay) due(answers bool, n int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.writes = r.writes || !answers && n >= much
	if r.left == 0 || !r.writes || answers != r.answer {
		return false
	}
	r.left--
	return r.left == 0
}

// strike kills the server, cuts its connections and starts it again.
func (r *relay) strike() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kill()
	r.cut()
	r.revive()
	r.refuses = r.random.IntN(3)
	r.faults.Add(1)
}

// cut cuts all connections. The caller has mu.
func (r *relay) cut() {
	for c := range r.conns {
		reset(c)
	}
}

// reset closes a connection like a process that was killed.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
