package fetcher

import (
	"container/list"
	"sync"

	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// rulesBytes bounds the text of all robots.txt files whose rules are kept; parsed they take about twice as much.
const rulesBytes = 64 << 20

// rulesKey names parsed rules: the same file means different things to another token, and on another origin (Host lines).
type rulesKey struct {
	digest string
	origin canon.Origin
	token  string
}

// rulesCache keeps the rules used last. Safe for concurrent use; rules themselves never change.
type rulesCache struct {
	max   int
	mu    sync.Mutex // guards what follows
	byKey map[rulesKey]*list.Element
	order list.List // the latest used first; of *cachedRules
	bytes int
}

type cachedRules struct {
	key   rulesKey
	rules *robots.Rules
	size  int
}

func (c *rulesCache) get(k rulesKey) *robots.Rules {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedRules).rules
}

func (c *rulesCache) put(k rulesKey, r *robots.Rules, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey == nil {
		c.byKey = make(map[rulesKey]*list.Element)
	}
	if e := c.byKey[k]; e != nil {
		c.order.MoveToFront(e)
		return
	}
	c.byKey[k] = c.order.PushFront(&cachedRules{k, r, size})
	c.bytes += size
	for c.order.Len() > c.max || c.bytes > rulesBytes && c.order.Len() > 1 {
		old := c.order.Remove(c.order.Back()).(*cachedRules)
		delete(c.byKey, old.key)
		c.bytes -= old.size
	}
}
