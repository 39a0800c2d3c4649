package rup

import (
	"net/netip"
	"sync"
	"time"
)

// maxClients is how many addresses a limiter counts separately; all others share one limit.
const maxClients = 10_000

// limiter limits requests by address. Each address has a number of requests, which become available
// again evenly within an hour. IPv6 addresses count by their /64, which belongs to one customer. It
// may be used concurrently.
type limiter struct {
	each time.Duration // time after which one request becomes available again
	hour int           // number at once

	mu      sync.Mutex                 // guards clients
	clients map[netip.Prefix]time.Time // when all requests will be available again
}

func newLimiter(perHour int) *limiter {
	return &limiter{each: time.Hour / time.Duration(perHour), hour: perHour, clients: map[netip.Prefix]time.Time{}}
}

// take counts a request, or returns how long the client must wait.
func (l *limiter) take(now time.Time, client netip.Addr) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := blockOf(client)
	if _, ok := l.clients[key]; !ok && len(l.clients) >= maxClients {
		l.forget(now)
		if len(l.clients) >= maxClients {
			key = netip.Prefix{}
		}
	}
	full := later(now, l.clients[key])
	if wait := full.Add(l.each).Sub(now) - time.Duration(l.hour)*l.each; wait > 0 {
		return wait
	}
	l.clients[key] = full.Add(l.each)
	return 0
}

// forget removes the addresses that have all their requests again.
func (l *limiter) forget(now time.Time) {
	for key, full := range l.clients {
		if !full.After(now) {
			delete(l.clients, key)
		}
	}
}

func blockOf(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := 32
	if a.Is6() {
		bits = 64
	}
	p, _ := a.Prefix(bits) // without an address: the zero Prefix, which works like any other
	return p
}
