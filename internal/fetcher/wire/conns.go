package wire

import (
	"container/list"
	"sync"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// maxIdle is how many connections may wait for the next request of their hosts.
const maxIdle = 1024

// connRecord has the one connection of each host, to whichever of the host's origins.
type connRecord struct {
	mu    sync.Mutex // guards the fields below
	conns map[canon.Host]*conn
	idle  list.List // of *conn: those without a request, the longest unused first
}

// put makes c its host's connection and closes the earlier one.
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

// drop removes a connection that is being closed.
func (r *connRecord) drop(c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c.host] == c {
		delete(r.conns, c.host)
	}
	r.busy(c)
}

// busy removes a connection from those that wait. mu must be locked.
func (r *connRecord) busy(c *conn) {
	if c.idle != nil {
		r.idle.Remove(c.idle)
		c.idle = nil
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

// get returns the host's open connection, or nil.
func (r *connRecord) get(host canon.Host) *conn {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.conns[host]
}

// toIdle makes a connection wait for another request, no longer than limit. If too many wait, the
// one that was unused for longest is closed.
func (r *connRecord) toIdle(c *conn, limit time.Duration) {
	r.mu.Lock()
	var surplus *conn
	if r.conns[c.host] == c {
		c.idle = r.idle.PushBack(c)
		if c.expiry == nil {
			c.expiry = time.AfterFunc(limit, func() {
				if r.wake(c) {
					c.Close()
				}
			})
		} else {
			c.expiry.Reset(limit)
		}
		if r.idle.Len() > maxIdle {
			surplus = r.idle.Front().Value.(*conn)
			r.busy(surplus)
		}
	}
	r.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
}

// wake removes a connection from those that wait, because there is a request for it. It returns
// false if the connection did not wait.
func (r *connRecord) wake(c *conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns[c.host] != c || c.idle == nil {
		return false
	}
	r.busy(c)
	return true
}

// closeIdle closes the connections that wait for a request.
func (r *connRecord) closeIdle() {
	r.mu.Lock()
	var all []*conn
	for e := r.idle.Front(); e != nil; e = e.Next() {
		all = append(all, e.Value.(*conn))
	}
	r.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}
