package fetcher

import (
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// clocks are the differences between our clock and those of the owners of shards. They are used for
// the times of requests, which people compare. Nothing is decided by them. They may be used
// concurrently.
type clocks struct {
	mu     sync.Mutex // guards aheads
	aheads map[int]time.Duration
}

// clocksAgree is the largest difference that is ignored.
const clocksAgree = time.Second

// answered uses an answer to a question that was sent, and answered, at these times of our clock,
// in Unix microseconds. The other clock was read in between. A difference is only assumed if the
// time that the answer took cannot explain it.
func (c *clocks) answered(g *crawl.Grants, asked, came int64) {
	if len(g.Visits) == 0 || g.Now.IsZero() {
		return
	}
	now := g.Now.UnixMicro()
	least, most := time.Duration(now-came)*time.Microsecond, time.Duration(now-asked)*time.Microsecond
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range g.Visits {
		shard := g.Visits[i].Shard
		switch was := c.aheads[shard]; {
		case least > clocksAgree || most < -clocksAgree:
			if c.aheads == nil {
				c.aheads = map[int]time.Duration{}
			}
			// The smallest possible difference is used. Answers seldom take long, so it seldom
			// changes.
			if was < least || was > most {
				c.aheads[shard] = least
			}
		case was != 0 && (was < least || was > most):
			delete(c.aheads, shard)
		}
	}
}

// ahead returns by how much the clock of a shard's owner is known to be ahead of ours.
func (c *clocks) ahead(shard int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aheads[shard]
}
