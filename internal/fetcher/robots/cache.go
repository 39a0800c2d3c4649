package robots

import (
	"container/list"
	"sync"

	"github.com/curtsy/curtsy/pkg/canon"
)

// rulesBytes bounds the text of all robots.txt files whose rules are kept, as ruleset.size counts
// it. Parsed they take up to eight times as much memory.
const rulesBytes = 64 << 20

// rulesKey identifies parsed rules. The same file has other rules for another product token, and on
// another origin (Host lines).
type rulesKey struct {
	digest string
	origin canon.Origin
	token  string
}

// Cache keeps the parsed rules that were used last. It may be used concurrently. Rules never
// change.
type Cache struct {
	max   int
	mu    sync.Mutex // guards the fields below
	byKey map[rulesKey]*list.Element
	order list.List // of *cachedRules, the latest used first
	bytes int
}

// NewCache returns a cache for the rules of at most max files.
func NewCache(max int) *Cache { return &Cache{max: max} }

type cachedRules struct {
	key   rulesKey
	rules *ruleset
	size  int
}

func (c *Cache) get(k rulesKey) *ruleset {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedRules).rules
}

func (c *Cache) put(k rulesKey, r *ruleset, size int) {
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
