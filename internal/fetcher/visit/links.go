package visit

import (
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// outlinks gathers the links of a visit by the shard they belong to. Most links of a page are
// out of scope or were on the page before, and end here; what is left costs the frontier a
// look into its store.
type outlinks struct {
	// seen has the links of the visit with the least depth and hops they were offered at. A link
	// met again nearer to the seeds is offered again: it may be within the depth limit now.
	seen   map[canon.URL]position
	known  int // bytes of seen, about
	shards []shardLinks
	used   []int // shards with links
	bytes  int   // of all shards
}

type position struct{ depth, redirects int32 }

type shardLinks struct {
	links  []crawl.Links
	bytes  int  // about what they take in a message
	listed bool // in outlinks.used
}

// linkOverhead is what a link or a group of links takes in a message beside its text, at most.
const linkOverhead = 8

// seenOverhead is what remembering a link takes beside its text.
const seenOverhead = 48

// Bounds on what one visit remembers; only pages made to hurt come near. Forgetting what was seen
// costs repeats, nothing else.
const (
	maxKnown = 4 << 20 // bytes
	maxLinks = 4 << 20 // bytes of links held back for all shards together
)

func (o *outlinks) reset(shards int) {
	if o.known > maxKnown/8 {
		o.seen = nil // a map does not shrink
	}
	if o.seen == nil {
		o.seen = make(map[canon.URL]position)
	}
	clear(o.seen)
	o.known = 0
	if len(o.shards) != shards {
		o.shards = make([]shardLinks, shards)
		o.used = nil
	}
	for _, s := range o.used {
		o.drop(s)
		o.shards[s].listed = false
	}
	o.used, o.bytes = o.used[:0], 0
}

// drop forgets a shard's links, once they are published. It may be called for
// several shards at once.
func (o *outlinks) drop(shard int) {
	s := &o.shards[shard]
	for i := range s.links {
		clear(s.links[i].URLs) // they would keep the strings alive
		s.links[i] = crawl.Links{URLs: s.links[i].URLs[:0]}
	}
	s.links, s.bytes = s.links[:0], 0
	if cap(s.links) > 1<<10 {
		s.links = nil
	}
}

// add offers the links of one page. It returns a shard whose links fill a message, or -1; the
// caller looks at bytes, too.
func (o *outlinks) add(cfg *Config, from canon.URL, depth, redirects int, links []canon.URL) (full int) {
	full = -1
	for _, u := range links {
		p, ok := o.seen[u]
		if ok && p.depth <= int32(depth) && p.redirects <= int32(redirects) {
			continue
		}
		if !ok && !cfg.Scope.Decide(u).In {
			continue // not remembered: asking again is as cheap
		}
		if !ok {
			if o.known += len(u) + seenOverhead; o.known > maxKnown {
				clear(o.seen)
				o.known = len(u) + seenOverhead
			}
		}
		o.seen[u] = position{int32(depth), int32(redirects)}
		n := crawl.ShardOf(u.Host(), cfg.spec.Shards)
		s := &o.shards[n]
		if !s.listed {
			s.listed = true
			o.used = append(o.used, n)
		}
		if k := len(s.links); k == 0 || s.links[k-1].FoundOn != from || s.links[k-1].Redirects != redirects {
			s.grow(from, depth, redirects)
			s.bytes += len(from) + linkOverhead
			o.bytes += len(from) + linkOverhead
		}
		last := &s.links[len(s.links)-1]
		last.URLs = append(last.URLs, u)
		o.bytes += len(u) + linkOverhead
		if s.bytes += len(u) + linkOverhead; s.bytes >= crawl.MaxEventBytes {
			full = n
		}
	}
	return full
}

// grow appends a group, using the memory of an old one.
func (s *shardLinks) grow(from canon.URL, depth, redirects int) {
	var urls []canon.URL
	if n := len(s.links); n < cap(s.links) {
		urls = s.links[:n+1][n].URLs[:0]
	}
	s.links = append(s.links, crawl.Links{FoundOn: from, Depth: depth, Redirects: redirects, URLs: urls})
}

// A message costs more than the few links that a page or two have for another shard. So these come
// along with the outcome, and the shard that applies it passes them on, those of many pages at
// once. Where they are more it is cheaper to send them to where they belong, before the outcome.
const (
	maxCarried    = 2 << 10                 // bytes of links for one other shard
	maxCarriedAll = crawl.MaxEventBytes / 4 // for all of them
)

// carried says of which other shards the links come along with what own is told, and to which they
// are sent by themselves.
func (o *outlinks) carried(own int) (along, alone []int) {
	room := maxCarriedAll
	for _, shard := range o.used {
		switch n := o.shards[shard].bytes; {
		case shard == own || n == 0:
		case n <= maxCarried && n <= room:
			room -= n
			along = append(along, shard)
		default:
			alone = append(alone, shard)
		}
	}
	return along, alone
}

// of gathers the links of some shards, until they are dropped.
func (o *outlinks) of(shards []int) (links []crawl.Links) {
	for _, shard := range shards {
		links = append(links, o.shards[shard].links...)
	}
	return links
}
