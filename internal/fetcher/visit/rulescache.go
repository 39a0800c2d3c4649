package visit

import (
	"container/list"
	"sync"

	"github.com/curtsy/curtsy/internal/uses"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// rulesBytes bounds the text of all robots.txt files whose rules are kept; parsed they take
// about twice as much.
const rulesBytes = 64 << 20

// rulesKey names parsed rules: the same file means different things to another token, and on
// another origin (Host lines).
type rulesKey struct {
	digest string
	origin canon.Origin
	token  string
}

// ruleset is what a robots.txt says to us on one origin.
type ruleset struct {
	*robots.Rules
	file *robots.File // if it has Clean-param lines; else nil
	// what it tells those who train models (formats §8.21); nil: nothing
	inferred usage.Statements
	// What its lines about use say, by line, and what they would say together (formats §8.1).
	directives map[int]usage.Statements
	together   usage.Preferences
}

// newRuleset reads what a robots.txt says to us.
func newRuleset(file *robots.File, token string, origin canon.Origin) *ruleset {
	r := &ruleset{Rules: file.Rules(token, RobotsOrigin(origin))}
	if len(file.CleanParams) > 0 {
		r.file = file
	}
	for _, l := range file.UsageFor(token) {
		var stated usage.Set
		if uses.Line(&stated, l); r.directives == nil {
			r.directives = map[int]usage.Statements{}
		}
		r.directives[l.Line] = stated.Statements()
		r.together = r.together.Merge(stated.Preferences())
	}
	var stated usage.Set
	uses.Training(&stated, file, RobotsOrigin(origin))
	r.inferred = stated.Statements()
	return r
}

// addUsage adds what the file says of a URL.
func (r *ruleset) addUsage(stated *usage.Set, pathQuery string) {
	for _, l := range r.Usage(pathQuery) {
		stated.Add(r.directives[l.Line])
	}
	stated.Add(r.inferred)
}

// allowAll is the ruleset of an origin without a robots.txt.
var allowAll = &ruleset{Rules: new(robots.Rules)}

// cleaned returns a path with query without the parameters that robots.txt calls meaningless.
func (r *ruleset) cleaned(pathQuery string) string {
	if r.file == nil {
		return pathQuery
	}
	return r.file.CleanURL(pathQuery)
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
	rules *ruleset
	size  int
}

func (c *rulesCache) get(k rulesKey) *ruleset {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byKey[k]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cachedRules).rules
}

func (c *rulesCache) put(k rulesKey, r *ruleset, size int) {
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
