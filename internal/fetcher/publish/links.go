package publish

import (
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Links offers URLs that were found at from to the frontiers, at a depth, and behind so many
// redirects. They are published with the next report, or at once when they fill a message.
func (p *Publisher) Links(from canon.URL, depth, redirects int, links []canon.URL) {
	full := p.buf.links.add(p.Scope, from, depth, redirects, links)
	switch {
	case p.buf.links.bytes > maxLinks:
		p.flushLinks(p.buf.links.used...)
	case full >= 0:
		p.flushLinks(full)
	}
}

// flushLinks publishes links of some shards before the visit's next report, because they fill a
// message.
func (p *Publisher) flushLinks(shards ...int) {
	p.FlushPages() // a link is published only after the page that it is on
	for _, shard := range shards {
		p.buf.links.bytes -= p.buf.links.shards[shard].bytes
		p.sendLinks(shard)
	}
}

// sendLinks publishes a shard's links, in as many messages as they need. It may be called for
// several shards at once.
func (p *Publisher) sendLinks(shard int) {
	s := &p.buf.links.shards[shard]
	if len(s.links) == 0 || p.Lost() {
		return
	}
	splitLinks(s.links, LinksMessage, func(part []crawl.Links) bool {
		return p.Event(shard, &crawl.Event{Links: part})
	})
	p.buf.links.drop(shard)
}

// splitLinks calls yield with parts of links that take about limit bytes each at most, until it
// returns false.
func splitLinks(links []crawl.Links, limit int, yield func([]crawl.Links) bool) {
	var part []crawl.Links
	left := limit
	for _, l := range links {
		rest := l.URLs
		for len(rest) > 0 {
			n := 0
			left -= len(l.FoundOn) + linkOverhead
			for n < len(rest) && (left > 0 || n == 0 && len(part) == 0) {
				left -= len(rest[n]) + linkOverhead
				n++
			}
			if n > 0 {
				l.URLs, rest = rest[:n], rest[n:]
				part = append(part, l)
			}
			if left <= 0 {
				if !yield(part) {
					return
				}
				part, left = nil, limit
			}
		}
	}
	if len(part) > 0 {
		yield(part)
	}
}

// outlinks gathers the links of a visit by the shard to which they belong. Most links of a page are
// out of scope, or were on an earlier page, and are dropped here. Each of the others costs the
// frontier a look into its store.
type outlinks struct {
	// seen has the links of the visit, with the least depth and the fewest redirects at which they
	// were offered. A link that is found again nearer to the seeds is offered again, because it may
	// now be within the depth limit.
	seen   seenLinks
	shards []shardLinks
	used   []int // shards with links
	bytes  int   // of all shards
}

type shardLinks struct {
	links  []crawl.Links
	bytes  int  // about what they take in a message
	listed bool // in outlinks.used
}

// linkOverhead is the most that a link or a group of links takes in a message besides its text.
const linkOverhead = 8

// Bounds on what one visit gathers, after each page. For the links of one page that has more of
// them, memory was reserved (package page); they are published before it is returned. What a visit
// remembers has its own bound (maxSeen). A visit that forgets what it saw offers some links again,
// and does no other harm.
const (
	maxLinks = wire.KeepBuffer // bytes of links that wait for a report, of all shards together
	// LinksMessage is about the size of the largest message with nothing but links. While it is
	// published, it is in memory several times, also in the broker and in the frontier.
	LinksMessage = 128 << 10
	// keepLinks is how long lists of URLs may be if their memory is kept.
	keepLinks = 256
	// keepLists is how many of them are kept for a shard.
	keepLists = 8
)

func (o *outlinks) reset(shards int) {
	o.seen.reset()
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

// drop forgets a shard's links after they were published. It may be called for several shards at
// once.
func (o *outlinks) drop(shard int) {
	s := &o.shards[shard]
	for i := range s.links {
		urls := s.links[i].URLs
		clear(urls) // they would keep the strings alive
		if i >= keepLists || cap(urls) > keepLinks {
			urls = nil
		}
		s.links[i] = crawl.Links{URLs: urls[:0]}
	}
	s.links, s.bytes = s.links[:0], 0
	if cap(s.links) > keepLinks {
		s.links = nil
	}
}

// add adds the links of one page. It returns a shard whose links fill a message, or -1. The caller
// checks o.bytes as well.
func (o *outlinks) add(in *scope.Scope, from canon.URL, depth, redirects int, links []canon.URL) (full int) {
	full = -1
	at := position{int32(depth), int32(redirects)}
	var hashes [together]linkHash
	for part := range slices.Chunk(links, together) {
		o.seen.prepare(hashes[:], part)
		for i, u := range part {
			switch before := o.seen.find(hashes[i]); {
			case before == nil:
				if !in.Decide(u).In {
					continue // not remembered, because deciding again is as cheap
				}
				o.seen.put(hashes[i], at)
			case before.depth <= at.depth && before.redirects <= at.redirects:
				continue
			default:
				*before = at
			}
			if n := o.offer(u, from, depth, redirects); n >= 0 {
				full = n
			}
		}
	}
	return full
}

// offer gathers a link for its shard. It returns the shard if its links fill a message, or -1.
func (o *outlinks) offer(u, from canon.URL, depth, redirects int) (full int) {
	n := crawl.ShardOf(u.Host(), len(o.shards))
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
	if s.bytes += len(u) + linkOverhead; s.bytes >= LinksMessage {
		return n
	}
	return -1
}

// grow appends a group of links. It uses the memory of an earlier group again.
func (s *shardLinks) grow(from canon.URL, depth, redirects int) {
	var urls []canon.URL
	if n := len(s.links); n < cap(s.links) {
		urls = s.links[:n+1][n].URLs[:0]
	}
	s.links = append(s.links, crawl.Links{FoundOn: from, Depth: depth, Redirects: redirects, URLs: urls})
}

// A message costs more than the few links that a page or two have for another shard. Such links are
// published with the outcome, and the shard that applies it forwards them, those of many pages at
// once. If there are more, it is cheaper to publish them to their own shard before the outcome.
const (
	maxCarried    = 2 << 10                 // bytes of links for one other shard
	maxCarriedAll = crawl.MaxEventBytes / 4 // for all of them
)

// carried returns the other shards whose links are published with the outcome of shard own, and
// those whose links are published alone.
func (o *outlinks) carried(own int) (along, alone []int) {
	left := maxCarriedAll
	for _, shard := range o.used {
		switch n := o.shards[shard].bytes; {
		case shard == own || n == 0:
		case n <= maxCarried && n <= left:
			left -= n
			along = append(along, shard)
		default:
			alone = append(alone, shard)
		}
	}
	return along, alone
}

// of returns the links of some shards. They are valid until the shards are dropped.
func (o *outlinks) of(shards []int) (links []crawl.Links) {
	for _, shard := range shards {
		links = append(links, o.shards[shard].links...)
	}
	return links
}
