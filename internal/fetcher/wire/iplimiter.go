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

// What one public address is asked to bear, however many names lead to it.
const (
	// addressShare is which part of a host's delay passes between two requests to one address: the
	// delay divided by this.
	addressShare = 8
	// fewNames, severalNames and manyNames are how many names of an address, met within namesTime,
	// double the rest each.
	fewNames     = 64
	severalNames = 512
	manyNames    = 4096
	namesTime    = time.Hour
	// slotsShare is which part of all hands may be at one address: the hands divided by this.
	slotsShare = 4
	// limiterPatience is how long a visit waits for a place at an address. One that would wait
	// longer is given back, and its hand serves another host.
	limiterPatience = 2 * time.Second
	// leastNotBefore and mostNotBefore bound after what time a visit that was given
	// back is wanted again.
	leastNotBefore = time.Second
	mostNotBefore  = 2 * time.Minute
	// forgetAddress is how long an address is remembered after its last request, when
	// few names lead to it.
	forgetAddress = time.Minute
)

// ipLimiters spaces the requests to each public address, which may serve thousands of hosts: so
// many under way at once, so many connections open, a rest after each answer. Requests to private
// addresses need no place. A place is taken before anything is dialled and given back when the
// answer has ended. Safe for concurrent use.
type ipLimiters struct {
	limit  int // requests at once to an address, and connections open
	visits int // visits at once

	mu    sync.Mutex // guards what follows, and all that is in it
	all   map[netip.Addr]*address
	calls int // since the last sweep
}

// address is what is known of one address.
type address struct {
	key      netip.Addr
	visits   int           // that are here
	inFlight int           // places taken
	queue    []*waiter     // in the order they came
	free     time.Time     // no place is given sooner
	timer    *time.Timer   // goes off at free; nil: nobody waits for that
	idle     []*conn       // kept for their hosts' next requests, the longest unused first
	took     time.Duration // how long a place is held, smoothed
	promised time.Time     // until when its places are spoken for by visits that were given back

	// Names met since since, and how many were in the time before that. One alone needs no map.
	only    uint64
	names   map[uint64]struct{}
	earlier int
	since   time.Time
}

// waiter is a request that waits for a place.
type waiter struct {
	token *ipToken
	kept  *conn
	ready chan struct{} // closed when the place is its own
	given bool
	evict []*conn // to be closed before the request goes on
}

// LimiterTimeout is the error of a request that was not sent because its address has too
// much to do with others.
type LimiterTimeout struct {
	at   netip.Addr
	Wait time.Duration // until a visit is likely to find a place
}

// Error says which address is busy, and for how long.
func (e *LimiterTimeout) Error() string {
	who := "other hosts at " + e.at.String()
	if unknownBlock.Contains(e.at) {
		who = "other hosts of its domain"
	}
	return fmt.Sprintf("fetcher: %s keep it busy; the visit is returned for %v", who, e.Wait.Round(time.Millisecond))
}

// limiterKey is the address that shares places with a: IPv6 counts by /64, which is what one
// customer has; an IPv4 address carried by an IPv6 one counts as itself.
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

// ipToken is where a visit is: at which address it counts, and whether its request has a place
// there.
type ipToken struct {
	ipLimiters *ipLimiters
	name       uint64        // of the host
	requests   int           // that its visit may want
	patience   time.Duration // 0: as long as the context

	mu    sync.Mutex    // guards what follows; held while waiting. Before places.mu.
	open  bool          // a request is under way
	pace  time.Duration // the least delay of its kind of host, which the rest is a part of
	at    *address      // nil: not known yet, or private
	since time.Time     // a place is held since then; zero: none
}

// begin says that a request is under way, which may take a place.
func (s *ipToken) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
}

// take waits for a place at a public address. kept is the connection the request is likely to
// use, if there is one. A request that has a place there keeps it; one that has a place
// elsewhere gives that back.
func (s *ipToken) take(ctx context.Context, addr netip.Addr, pace time.Duration, kept *conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pace = pace
	if !s.open {
		return errUnarmed // a dial that outlives its request
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

// done says that the request under way is over. c, if not nil, is its connection, which stays open.
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
		// a place is wanted, and this one's connection would be one too many
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

// leave says that the visit is over.
func (s *ipToken) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ipLimiters.mu.Lock()
	defer s.ipLimiters.mu.Unlock()
	s.ipLimiters.quit(s, time.Now())
}

// closed forgets a connection that is kept no more.
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

// All that follows is called with mu held.

// enter returns an address, and notes that a name leads to it.
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

// count is how many names were met in the time that runs.
func (a *address) count() int { return max(len(a.names), 1) }

// toIdle is how long no request starts after another one has started or ended.
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

// step is how long a request keeps the address from the next one, on average.
func (p *ipLimiters) step(a *address, s *ipToken) time.Duration {
	return max(a.toIdle(s.pace), a.took/time.Duration(p.limit))
}

// wait is how long a request that comes now will wait, about.
func (p *ipLimiters) wait(a *address, s *ipToken, now time.Time) time.Duration {
	ahead := len(a.queue)
	d := max(a.free.Sub(now), 0) + time.Duration(ahead)*p.step(a, s)
	if ahead == 0 && a.inFlight >= p.limit {
		d += a.took / time.Duration(p.limit)
	}
	return d
}

// serve gives places to those who wait, as far as there are any.
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

// giveBack gives a place back; the next one rests from now.
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

// quit takes a visit away from its address.
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

// refuse makes the error of a visit that is given back. Those given back are wanted again one
// after the other, at the pace at which the address takes requests, so that they do not all come
// back at once and in vain.
func (p *ipLimiters) refuse(a *address, s *ipToken, now time.Time) error {
	if a.promised.Before(now) {
		a.promised = now
	}
	// A promise further away than the longest wait would be kept by nobody.
	a.promised = minTime(a.promised.Add(time.Duration(s.requests)*p.step(a, s)), now.Add(mostNotBefore))
	return &LimiterTimeout{at: a.key, Wait: max(a.promised.Sub(now), leastNotBefore)}
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// sweep forgets, now and then, addresses that nothing hangs on any more.
func (p *ipLimiters) sweep(now time.Time) {
	if p.calls++; p.calls < 1024 || p.calls < len(p.all)/2 {
		return // each call pays for looking at two addresses, at most
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

// newIPToken makes the seat of a visit.
func (c *Client) newIPToken(host string) ipToken {
	return ipToken{ipLimiters: &c.ipLimiters, name: maphash.String(nameSeed, host), requests: 1}
}
