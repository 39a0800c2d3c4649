package wire

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// check is the second opinion on politeness. It is asked when the bytes of a request are about to
// go out (conn.Write). It keeps its own record of running requests and of when they ended: the
// connections themselves report that an answer was read to its end or the socket was closed. It
// computes the least delay by itself, from what the visit was granted and from the address of the
// other end. It shares no code with the Gate. A mistake there, or in the order of a visit, is found
// here before the origin notices it. The check must never object.
type check struct {
	mu     sync.Mutex // guards hosts and sweep
	hosts  map[canon.Host]*traffic
	sweep  int
	fired  atomic.Int64
	onFire func(why string) // called with each violation; may be nil
}

// traffic is what the check knows of one host.
type traffic struct {
	inFlight int           // running requests
	ended    time.Time     // when the last one ended
	delay    time.Duration // the least delay when it began
}

// violation is the error of a request that was not sent because it would have been impolite.
type violation struct {
	host canon.Host
	why  string
}

func (v *violation) Error() string {
	return fmt.Sprintf("fetcher: request to %s not sent: %s", v.host, v.why)
}

// begin is called before the first byte of a request to a host goes out. Unless it returns nil,
// nothing may be sent.
func (c *check) begin(host canon.Host, owed time.Duration) error {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.hosts[host]
	if t == nil {
		if c.hosts == nil {
			c.hosts = make(map[canon.Host]*traffic)
		}
		// This comes before the host is added, because nothing is known of it yet and it would be
		// forgotten at once.
		c.tidy(now)
		t = new(traffic)
		c.hosts[host] = t
	}
	switch {
	case t.inFlight > 0:
		return c.fire(host, "another request is running")
	case !t.ended.IsZero() && now.Sub(t.ended) < owed:
		return c.fire(host, fmt.Sprintf("only %v passed since the last response ended; the delay is %v", now.Sub(t.ended), owed))
	}
	t.inFlight++
	t.delay = owed
	return nil
}

// least returns the delay that a grant requires for an address, whatever else asks for more.
func least(granted time.Duration, hurried, isPrivate bool) time.Duration {
	if hurried || isPrivate {
		return granted
	}
	return max(granted, PoliteDelay)
}

// end is called once for each begin that returned nil, when the answer was read to its end or the
// connection was closed.
func (c *check) end(host canon.Host) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.hosts[host]; t != nil && t.inFlight > 0 {
		t.inFlight--
		t.ended = now
	}
}

func (c *check) fire(host canon.Host, why string) error {
	c.fired.Add(1)
	if c.onFire != nil {
		c.onFire(why)
	}
	return &violation{host, why}
}

// tidy forgets hosts whose delay ended long ago. It does so from time to time. mu must be locked.
func (c *check) tidy(now time.Time) {
	if c.sweep++; c.sweep < 1024 || c.sweep < len(c.hosts)/2 {
		return
	}
	c.sweep = 0
	for h, t := range c.hosts {
		if t.inFlight == 0 && now.Sub(t.ended) > t.delay+time.Hour {
			delete(c.hosts, h)
		}
	}
}
