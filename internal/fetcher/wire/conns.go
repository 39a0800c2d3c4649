package wire

import (
	"sync"

	"github.com/curtsy/curtsy/pkg/canon"
)

// connRecord keeps the one connection of each host. net/http would keep one per origin, and a
// host may have several.
type connRecord struct {
	mu    sync.Mutex // guards conns
	conns map[canon.Host]*conn
}

// put makes c its host's connection and closes the one before.
func (r *connRecord) put(c *conn) {
	r.mu.Lock()
	if r.conns == nil {
		r.conns = make(map[canon.Host]*conn)
	}
	old := r.conns[c.host]
	r.conns[c.host] = c
	r.mu.Unlock()
	if old != nil {
		old.Close()
	}
}

// drop forgets a connection that is being closed.
func (r *connRecord) drop(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c.host] == c {
		delete(r.conns, c.host)
	}
}

// get returns the host's open connection, or nil.
func (r *connRecord) get(host canon.Host) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns[host]
}
