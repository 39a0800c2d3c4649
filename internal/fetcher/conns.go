package fetcher

import (
	"context"
	"net/netip"
	"sync"

	"github.com/curtsy/curtsy/pkg/canon"
)

// connRecord keeps the one connection of each host. net/http would keep one per origin, and a host may have several.
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

// ipCap bounds the requests at once to one address, which may serve thousands of hosts.
type ipCap struct {
	limit int
	mu    sync.Mutex // guards slots
	slots map[netip.Addr]*ipSlot
}

type ipSlot struct {
	users int // holding or waiting
	sem   chan struct{}
}

// acquire waits for a place; release gives it back.
func (p *ipCap) acquire(ctx context.Context, a netip.Addr) error {
	p.mu.Lock()
	s := p.slots[a]
	if s == nil {
		if p.slots == nil {
			p.slots = make(map[netip.Addr]*ipSlot)
		}
		s = &ipSlot{sem: make(chan struct{}, p.limit)}
		p.slots[a] = s
	}
	s.users++
	p.mu.Unlock()
	select {
	case s.sem <- struct{}{}:
		return nil
	case <-ctx.Done():
		p.leave(a, s)
		return ctx.Err()
	}
}

func (p *ipCap) release(a netip.Addr) {
	p.mu.Lock()
	s := p.slots[a]
	p.mu.Unlock()
	<-s.sem
	p.leave(a, s)
}

func (p *ipCap) leave(a netip.Addr, s *ipSlot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.users--; s.users == 0 {
		delete(p.slots, a)
	}
}
