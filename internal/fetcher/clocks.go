package fetcher

import (
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// clocks are by how much the clocks of those who grant visits differ from ours, by shard: for the
// times at which requests were sent, which people compare. Nothing is decided by them. Safe for
// concurrent use.
type clocks struct {
	mu     sync.Mutex // guards aheads
	aheads map[int]time.Duration
}

// clocksAgree is how much of a difference is left alone.
const clocksAgree = time.Second

// answered takes in an answer to a question that was asked, and answered, at these times of our
// clock, in Unix microseconds. The other clock was read in between. So however long the answer was
// on its way, no difference is taken for one that need not be one.
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
			// As little of it as can be. Answers seldom take long, so one clock stays one clock.
			if was < least || was > most {
				c.aheads[shard] = least
			}
		case was != 0 && (was < least || was > most):
			delete(c.aheads, shard)
		}
	}
}

// ahead is by how much the clock of a shard's owner is known to be ahead of ours.
func (c *clocks) ahead(shard int) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.aheads[shard]
}
