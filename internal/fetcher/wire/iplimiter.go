package wire

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Limits for one public address, however many names lead to it.
const (
	// addressShare determines the pause between two requests to one address: it is a host's delay
	// divided by this.
	addressShare = 8
	// fewNames, severalNames and manyNames are how many names of an address, seen within namesTime,
	// double the pause each.
	fewNames     = 64
	severalNames = 512
	manyNames    = 4096
	namesTime    = time.Hour
	// slotsShare determines how many visits may be at one address: all slots divided by this.
	slotsShare = 4
	// limiterPatience is how long a visit waits for a token of an address. A visit that would wait
	// longer is returned, and its slot is used for another host.
	limiterPatience = 2 * time.Second
	// leastNotBefore and mostNotBefore bound the time until a visit that was returned is granted
	// again.
	leastNotBefore = time.Second
	mostNotBefore  = 2 * time.Minute
	// forgetAddress is how long an address is remembered after its last request, if few names lead
	// to it.
	forgetAddress = time.Minute
)

// ipLimiters spaces the requests to each public address, which may serve thousands of hosts. It
// limits the requests that run at the same time and the open connections, and adds a pause after
// each answer. Requests to private addresses need no token. A token is taken before anything is
// dialled, and returned when the answer has ended. It may be used concurrently.
type ipLimiters struct {
	limit  int // requests to an address at the same time, and open connections
	visits int // visits at the same time

	mu    sync.Mutex // guards the fields below and their contents
	all   map[netip.Addr]*address
	calls int // since the last sweep
	// How many visits are at each address, private ones included, wherever there is one.
	visitsAt map[netip.Addr]int
}

// address is what is known of one address.
type address struct {
	key      netip.Addr
	visits   int           // that are at the address
	inFlight int           // tokens taken
	queue    []*waiter     // in the order they came
	free     time.Time     // no token is given before
	timer    *time.Timer   // fires at free; nil: nobody waits
	idle     []*conn       // kept for the next requests of their hosts, the longest unused first
	took     time.Duration // how long a token is used, smoothed
	promised time.Time     // until when its tokens are promised to visits that were returned

	// Names seen after since, and how many were seen in the period before that. One name alone
	// needs no map.
	only    uint64
	names   map[uint64]struct{}
	earlier int
	since   time.Time
}

// waiter is a request that waits for a token.
type waiter struct {
	token *ipToken
	kept  *conn
	ready chan struct{} // closed when it has the token
	given bool
	evict []*conn // to be closed before the request continues
}

// LimiterTimeout is the error of a request that was not sent because its address is busy with other
// hosts.
type LimiterTimeout struct {
	at   netip.Addr
	Wait time.Duration // until a visit is likely to get a token
}

// Error says which address is busy, and for how long.
func (e *LimiterTimeout) Error() string {
	who := "other hosts at " + e.at.String()
	if unknownBlock.Contains(e.at) {
		who = "other hosts of its domain"
	}
	return fmt.Sprintf("fetcher: %s keep it busy; the visit is returned for %v", who, e.Wait.Round(time.Millisecond))
}

// limiterKey returns the address that shares tokens with a. IPv6 addresses count by /64, which is
// what one customer has. An IPv4 address inside an IPv6 address counts as itself.
func limiterKey(a netip.Addr) netip.Addr {
	a = a.Unmap().WithZone("")
	if !a.Is6() {
		return a
	}
	if b := a.As16(); nat64.Contains(a) {
		return netip.AddrFrom4([4]byte(b[12:]))
	}
	p, _ := a.Prefix(64)
	return p.Addr()
}

var nameSeed = maphash.MakeSeed()

// ipToken is the position of a visit: the address at which it counts, and whether its request has a
// token there.
type ipToken struct {
	ipLimiters *ipLimiters
	name       uint64        // of the host
	requests   int           // that its visit may send
	patience   time.Duration // 0: until the context ends

	mu    sync.Mutex    // guards the fields below; locked while waiting, and before ipLimiters.mu
	open  bool          // a request is running
	pace  time.Duration // the least delay of its kind of host, of which the pause is a part
	at    *address      // nil: not known yet, or private
	since time.Time     // when the token was taken; zero: it has none
	block netip.Addr    // where the visit is, also if it is private; invalid: not known yet
}

// arrive notes that the visit is at an address. With few, an address at which a quarter of all
// visits are already is refused. The visit knows then where it would have been.
func (s *ipToken) arrive(addr netip.Addr, few bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, key := s.ipLimiters, limiterKey(addr)
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.block == key {
		return nil
	}
	p.departed(s.block)
	if p.visitsAt == nil {
		p.visitsAt = make(map[netip.Addr]int)
	}
	s.block = key
	p.visitsAt[key]++
	if few && p.visitsAt[key] > p.visits {
		return &LimiterTimeout{at: key}
	}
	return nil
}

// depart is called when the visit has ended.
func (s *ipToken) depart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ipLimiters.mu.Lock()
	defer s.ipLimiters.mu.Unlock()
	s.ipLimiters.departed(s.block)
	s.block = netip.Addr{}
}

// blockName returns where the visit is.
func (s *ipToken) blockName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.block.IsValid() {
		return ""
	}
	return s.block.String()
}

// begin is called when a request begins, which may then take a token.
func (s *ipToken) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// take waits for a token of a public address. kept is the connection that the request will probably
// use, if there is one. A request that has a token of the address keeps it. A token of another
// address is returned.
func (s *ipToken) take(ctx context.Context, addr netip.Addr, pace time.Duration, kept *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace = pace
	if !s.open {
		return errUnarmed // the dial lasted longer than its request
	}
	p, now, key := s.ipLimiters, time.Now(), limiterKey(addr)
	p.mu.Lock()
	if s.at != nil && s.at.key != key {
		p.quit(s, now)
	}
	if !s.since.IsZero() {
		p.mu.Unlock()
		return nil
	}
	if s.at == nil {
		a := p.enter(key, s.name, now)
		if a.visits >= p.visits {
			defer p.mu.Unlock()
			return p.refuse(a, s, now)
		}
		a.visits++
		s.at = a
	}
	a := s.at
	if s.patience > 0 && p.wait(a, s, now) > s.patience {
		defer p.mu.Unlock()
		return p.refuse(a, s, now)
	}
	w := &waiter{token: s, kept: kept, ready: make(chan struct{})}
	a.queue = append(a.queue, w)
	p.serve(a, now)
	p.mu.Unlock()

	var late <-chan time.Time
	if s.patience > 0 {
		t := time.NewTimer(s.patience)
		defer t.Stop()
		late = t.C
	}
	var err error
	select {
	case <-w.ready:
	default:
		select {
		case <-w.ready:
		case <-late:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	p.mu.Lock()
	now = time.Now()
	switch {
	case w.given:
		s.since = now
		if err != nil {
			p.giveBack(s, now)
		}
	default:
		a.queue = slices.DeleteFunc(a.queue, func(o *waiter) bool { return o == w })
		if err == nil {
			err = p.refuse(a, s, now)
		}
	}
	p.mu.Unlock()
	for _, c := range w.evict {
		c.Close()
	}
	return err
}

// done is called when the running request has ended. c, if not nil, is its connection, which stays
// open.
func (s *ipToken) done(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	if s.since.IsZero() {
		return
	}
	p := s.ipLimiters
	p.mu.Lock()
	a := s.at
	var surplus *conn
	if c != nil && !c.shut.Load() {
		a.idle = append(a.idle, c)
		// a token is wanted, and this connection would be one too many
		if len(a.queue) > 0 && a.inFlight+len(a.idle) > p.limit {
			surplus = a.idle[0]
			a.idle = slices.Delete(a.idle, 0, 1)
		}
	}
	p.giveBack(s, time.Now())
	p.mu.Unlock()
	if surplus != nil {
		surplus.Close()
	}
}

// leave is called when the visit has ended.
func (s *ipToken) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ipLimiters.mu.Lock()
	defer s.ipLimiters.mu.Unlock()
	s.ipLimiters.quit(s, time.Now())
}

// closed removes a connection that is not kept any more.
func (p *ipLimiters) closed(c *conn) {
	if c.private {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.all[limiterKey(c.addr)]; a != nil {
		a.idle = slices.DeleteFunc(a.idle, func(o *conn) bool { return o == c })
	}
}

// The functions below are called with mu locked.

// departed counts one visit less at an address.
func (p *ipLimiters) departed(key netip.Addr) {
	if !key.IsValid() {
		return
	}
	if p.visitsAt[key]--; p.visitsAt[key] <= 0 {
		delete(p.visitsAt, key)
	}
}

// enter returns an address and records that a name leads to it.
func (p *ipLimiters) enter(key netip.Addr, name uint64, now time.Time) *address {
	a := p.all[key]
	if a == nil {
		p.sweep(now)
		if p.all == nil {
			p.all = make(map[netip.Addr]*address)
		}
		a = &address{key: key, only: name, since: now}
		p.all[key] = a
		return a
	}
	if now.Sub(a.since) > namesTime {
		a.earlier = a.count()
		if now.Sub(a.since) > 2*namesTime {
			a.earlier = 0
		}
		a.only, a.names, a.since = name, nil, now
	}
	if a.names == nil && a.only != name {
		a.names = map[uint64]struct{}{a.only: {}}
	}
	if a.names != nil && len(a.names) < manyNames {
		a.names[name] = struct{}{}
	}
	return a
}

// count returns how many names were seen in the current period.
func (a *address) count() int { return max(len(a.names), 1) }

// toIdle returns how long no request starts after another one has started or ended.
func (a *address) toIdle(pace time.Duration) time.Duration {
	d := pace / addressShare
	n := max(a.count(), a.earlier)
	for _, step := range [...]int{fewNames, severalNames, manyNames} {
		if n >= step {
			d *= 2
		}
	}
	return d
}

// step returns how long one request delays the next at the address, on average.
func (p *ipLimiters) step(a *address, s *ipToken) time.Duration {
	return max(a.toIdle(s.pace), a.took/time.Duration(p.limit))
}

// wait returns about how long a request that comes now will wait.
func (p *ipLimiters) wait(a *address, s *ipToken, now time.Time) time.Duration {
	ahead := len(a.queue)
	d := max(a.free.Sub(now), 0) + time.Duration(ahead)*p.step(a, s)
	if ahead == 0 && a.inFlight >= p.limit {
		d += a.took / time.Duration(p.limit)
	}
	return d
}

// serve gives tokens to those who wait, as long as there are any.
func (p *ipLimiters) serve(a *address, now time.Time) {
	for len(a.queue) > 0 && a.inFlight < p.limit {
		if wait := a.free.Sub(now); wait > 0 {
			if a.timer == nil {
				a.timer = time.AfterFunc(wait, func() {
					p.mu.Lock()
					defer p.mu.Unlock()
					a.timer = nil
					p.serve(a, time.Now())
				})
			}
			return
		}
		w := a.queue[0]
		a.queue[0] = nil
		a.queue = a.queue[1:]
		a.inFlight++
		a.free = now.Add(a.toIdle(w.token.pace))
		w.given = true
		a.idle = slices.DeleteFunc(a.idle, func(c *conn) bool { return c == w.kept })
		if n := min(a.inFlight+len(a.idle)-p.limit, len(a.idle)); n > 0 {
			w.evict = slices.Clone(a.idle[:n])
			a.idle = slices.Delete(a.idle, 0, n)
		}
		close(w.ready)
	}
}

// giveBack returns a token. The next one is given after a pause.
func (p *ipLimiters) giveBack(s *ipToken, now time.Time) {
	a := s.at
	a.inFlight--
	if took := now.Sub(s.since); a.took == 0 {
		a.took = took
	} else {
		a.took += (took - a.took) / 4
	}
	s.since = time.Time{}
	if t := now.Add(a.toIdle(s.pace)); a.free.Before(t) {
		a.free = t
	}
	p.serve(a, now)
}

// quit removes a visit from its address.
func (p *ipLimiters) quit(s *ipToken, now time.Time) {
	if s.at == nil {
		return
	}
	if !s.since.IsZero() {
		p.giveBack(s, now)
	}
	s.at.visits--
	s.at = nil
}

// refuse makes the error of a visit that is returned. Visits that are returned are granted again
// one after the other, at the pace at which the address accepts requests. So they do not all come
// back at once, and in vain.
func (p *ipLimiters) refuse(a *address, s *ipToken, now time.Time) error {
	if a.promised.Before(now) {
		a.promised = now
	}
	// A time beyond the longest wait could not be kept.
	a.promised = minTime(a.promised.Add(time.Duration(s.requests)*p.step(a, s)), now.Add(mostNotBefore))
	return &LimiterTimeout{at: a.key, Wait: max(a.promised.Sub(now), leastNotBefore)}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// sweep forgets addresses that are not needed any more, from time to time.
func (p *ipLimiters) sweep(now time.Time) {
	if p.calls++; p.calls < 1024 || p.calls < len(p.all)/2 {
		return // so on average each call looks at two addresses at most
	}
	p.calls = 0
	for key, a := range p.all {
		keep := forgetAddress
		if max(a.count(), a.earlier) >= fewNames {
			keep = 2 * namesTime
		}
		last := maxTime(a.free, maxTime(a.promised, a.since))
		if a.visits == 0 && a.inFlight == 0 && len(a.queue) == 0 && len(a.idle) == 0 && now.Sub(last) > keep {
			delete(p.all, key)
		}
	}
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// newIPToken makes the token of a visit.
func (c *Client) newIPToken(host string) ipToken {
	return ipToken{ipLimiters: &c.ipLimiters, name: maphash.String(nameSeed, host), requests: 1}
}
