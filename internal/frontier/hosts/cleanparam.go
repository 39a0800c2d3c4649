package hosts

import (
	"container/list"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// cleanSteps limits the work on the Clean-param lines for one link to about two microseconds of the
// shard's time. Links that take longer are left to the fetcher, which has more processors and the
// larger limit robots.CleanSteps.
const cleanSteps = 4 << 10

// maxCleanText is the longest robots.txt in bytes that a shard parses for Clean-param, which takes
// half a millisecond. Longer ones, up to 512,000 bytes, are left to the fetcher.
const maxCleanText = 32 << 10

// maxCleanCost limits the memory of the parsed files in bytes, as cleanCost estimates it. A host
// may have 64 origins, and a shard has some thousand hosts in memory.
const maxCleanCost = 16 << 20

// cleanCost estimates the memory of a parsed robots.txt. Each name of a parameter is indexed.
func cleanCost(f *robots.File, text int) (cost int) {
	cost = 6*text + 1<<10
	for _, l := range f.CleanParams {
		cost += 256 * len(l.Params)
	}
	return cost
}

// cleanFiles has the robots.txt files whose Clean-param lines were used last.
type cleanFiles struct {
	byKey map[cleanKey]*list.Element
	order list.List // of *cleanFile, the one used last first
	cost  int
}

type cleanKey struct {
	host   store.HostID
	origin canon.Origin
}

type cleanFile struct {
	key  cleanKey
	file *robots.File
	cost int
}

// file returns the parsed robots.txt of an origin; nil if it is too long. read returns its text.
func (c *cleanFiles) file(k cleanKey, read func() []byte) *robots.File {
	if e := c.byKey[k]; e != nil {
		c.order.MoveToFront(e)
		return e.Value.(*cleanFile).file
	}
	text := read()
	if len(text) > maxCleanText {
		return nil
	}
	f := &cleanFile{key: k, file: robots.Parse(text)}
	f.cost = cleanCost(f.file, len(text))
	if c.byKey == nil {
		c.byKey = map[cleanKey]*list.Element{}
	}
	c.byKey[k] = c.order.PushFront(f)
	c.cost += f.cost
	for c.cost > maxCleanCost && c.order.Len() > 1 {
		c.forget(c.order.Back().Value.(*cleanFile).key)
	}
	return f.file
}

// forget removes the file of an origin, because the origin has another one now.
func (c *cleanFiles) forget(k cleanKey) {
	if e := c.byKey[k]; e != nil {
		c.cost -= c.order.Remove(e).(*cleanFile).cost
		delete(c.byKey, k)
	}
}

// CleanURL returns u without the query parameters that its host's robots.txt declares meaningless
// (Clean-param, formats §1.5). A URL that was accepted before robots.txt was known, or for which
// this would take too long, stays as it is until it is visited. The fetcher then turns it into a
// link to the clean URL.
func (s *Ledger) CleanURL(u canon.URL) canon.URL {
	q := strings.IndexByte(string(u), '?')
	if q < 0 {
		return u
	}
	h, err := s.HostNamed(u.Host())
	if h == nil || err != nil {
		return u // the error is reported when the link is applied
	}
	i := slices.IndexFunc(h.Origins, func(o Origin) bool { return o.Cleans && o.Origin == u.Origin() })
	if i < 0 {
		return u
	}
	o := &h.Origins[i]
	if o.Copy != crawl.RobotsParsed {
		return u
	}
	f := s.cleans.file(cleanKey{h.ID, o.Origin}, func() []byte { return RobotsCopy(s.Tx, h.ID, o.Origin) })
	if f == nil {
		return u
	}
	pathQuery := u.PathQuery()
	short, _ := f.CleanURLWithin(pathQuery, cleanSteps)
	if short == pathQuery {
		return u
	}
	v, err := o.Origin.URL(short)
	if err != nil {
		return u
	}
	return v
}
