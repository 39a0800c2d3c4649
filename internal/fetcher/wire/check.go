package wire

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

// check is the second opinion on politeness, asked at the moment a request's bytes would go out
// (conn.Write). It keeps its own record of what is under way and when it ended, told by the
// connections themselves when an answer was read to its end or the socket closed, and computes by
// itself the delay that is owed at least, from what the visit was granted and the address on the
// other end. It shares no code with the Gate: a mistake there, or in the order a visit does things,
// shows here before it shows at the origin. It must never fire.
type check struct {
	mu     sync.Mutex // guards hosts and sweep
	hosts  map[canon.Host]*traffic
	sweep  int
	fired  atomic.Int64
	onFire func(why string) // told of each violation; may be nil
}

// traffic is what was seen of one host.
type traffic struct {
	inFlight int           // requests under way
	ended    time.Time     // end of the last
	delay    time.Duration // the delay that was owed when it began
}

// violation is the error of a request that was not sent because it would have been impolite.
type violation struct {
	host canon.Host
	why  string
}

func (v *violation) Error() string {
	return fmt.Sprintf("fetcher: request to %s not sent: %s", v.host, v.why)
}

// begin is called before the first byte of a request to host goes out. Unless it returns nil
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
		// Before the host is there: nothing is known of it yet, so it would be forgotten at once.
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

// least is the delay that a grant owes an address, whatever else may ask for more.
func least(granted time.Duration, hurried, isPrivate bool) time.Duration {
	if hurried || isPrivate {
		return granted
	}
	return max(granted, PoliteDelay)
}

// end is called once for each begin that returned nil, when the answer was read to its end or
// its connection closed.
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

// tidy forgets hosts whose delay is long over, once in a while. Called with mu held.
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
