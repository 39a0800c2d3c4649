package visit

import (
	"errors"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// batches are what a list of URLs has for each shard, told a batch at a time and before the answer
// that says that the list was read: what is told twice is taken once.
type batches struct {
	v      *Visit
	as     crawl.Links // FoundOn, Depth and Source of all
	shards []batch
}

// batch is what a shard is to be told.
type batch struct {
	shard int
	links crawl.Links
	dated bool // some of links.Mods are not 0
	aux   []crawl.AuxRequest
	bytes int
}

// of returns what a shard is to be told.
func (s *batches) of(shard int) *batch {
	i := slices.IndexFunc(s.shards, func(b batch) bool { return b.shard == shard })
	if i < 0 {
		i = len(s.shards)
		s.shards = append(s.shards, batch{shard: shard, links: crawl.Links{FoundOn: s.as.FoundOn, Depth: s.as.Depth, Source: s.as.Source}})
	}
	return &s.shards[i]
}

// add adds a URL that changed at mod, in Unix seconds; 0: not told.
func (b *batch) add(u canon.URL, mod int64) {
	b.bytes += len(u) + linkOverhead
	b.links.URLs, b.links.Mods = append(b.links.URLs, u), append(b.links.Mods, mod)
}

// flush tells the shards of all that is left.
func (s *batches) flush() error {
	for i := range s.shards {
		if err := s.send(&s.shards[i]); err != nil {
			return err
		}
	}
	return nil
}

var errNotPublished = errors.New("its entries cannot be published")

// send tells a shard of what was gathered for it.
func (s *batches) send(b *batch) error {
	ev := crawl.Event{Visit: s.v.job.ID, Fetcher: s.v.deps.opt.Fetcher, Aux: b.aux}
	if len(b.links.URLs) > 0 {
		links := b.links
		if !b.dated {
			links.Mods = nil
		}
		ev.Links = []crawl.Links{links}
	}
	if (len(ev.Links) > 0 || len(ev.Aux) > 0) && !s.v.publish(b.shard, &ev) {
		return errNotPublished
	}
	clear(b.links.URLs) // they would keep the strings alive
	b.links.URLs, b.links.Mods, b.dated, b.aux, b.bytes = b.links.URLs[:0], b.links.Mods[:0], false, b.aux[:0], 0
	return nil
}
