package publish

import (
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// batchBytes is about how many bytes of a list's entries wait for one message to their shard.
const batchBytes = 32 << 10

// Batches publishes the URLs of a list, such as a sitemap, to their shards. The entries are
// gathered by shard and published in batches, all of them before the answer that says that the list
// was read. An entry that is published twice counts once.
type Batches struct {
	Publisher *Publisher
	As        crawl.Links // FoundOn, Depth and Source of all entries
	// Waited is called after a batch was published while the list was read, with when that began.
	Waited func(since time.Time)

	shards []batch
}

// batch is what is published to one shard next.
type batch struct {
	shard int
	links crawl.Links
	dated bool // some of links.Mods are not 0
	aux   []crawl.AuxRequest
	bytes int
}

// of returns the batch of a shard.
func (s *Batches) of(shard int) *batch {
	i := slices.IndexFunc(s.shards, func(b batch) bool { return b.shard == shard })
	if i < 0 {
		i = len(s.shards)
		s.shards = append(s.shards, batch{shard: shard, links: crawl.Links{FoundOn: s.As.FoundOn, Depth: s.As.Depth, Source: s.As.Source}})
	}
	return &s.shards[i]
}

// Link adds a URL that changed at mod, in Unix seconds. With 0 the time is unknown.
func (s *Batches) Link(u canon.URL, mod int64) error {
	b := s.of(crawl.ShardOf(u.Host(), s.Publisher.Shards))
	if mod != 0 {
		b.dated = true
		b.bytes += 5
	}
	b.bytes += len(u) + linkOverhead
	b.links.URLs, b.links.Mods = append(b.links.URLs, u), append(b.links.Mods, mod)
	return s.full(b)
}

// Request adds an auxiliary request. Its reply shard becomes that of its host.
func (s *Batches) Request(aux crawl.AuxRequest) error {
	b := s.of(crawl.ShardOf(aux.URL.Host(), s.Publisher.Shards))
	aux.ReplyShard = b.shard
	b.bytes += len(aux.URL) + linkOverhead + 100
	b.aux = append(b.aux, aux)
	return s.full(b)
}

// full publishes a batch that is large enough.
func (s *Batches) full(b *batch) error {
	if b.bytes < batchBytes {
		return nil
	}
	start := time.Now()
	err := s.send(b)
	s.Waited(start)
	return err
}

// Flush publishes the entries that are left. An error means that the list has to be read again.
func (s *Batches) Flush() error {
	for i := range s.shards {
		if err := s.send(&s.shards[i]); err != nil {
			return err
		}
	}
	return nil
}

var errNotPublished = errors.New("its entries cannot be published")

// send publishes a batch.
func (s *Batches) send(b *batch) error {
	ev := crawl.Event{Aux: b.aux}
	if len(b.links.URLs) > 0 {
		links := b.links
		if !b.dated {
			links.Mods = nil
		}
		ev.Links = []crawl.Links{links}
	}
	if (len(ev.Links) > 0 || len(ev.Aux) > 0) && !s.Publisher.Event(b.shard, &ev) {
		return errNotPublished
	}
	clear(b.links.URLs) // otherwise they would keep their strings in memory
	b.links.URLs, b.links.Mods, b.dated, b.aux, b.bytes = b.links.URLs[:0], b.links.Mods[:0], false, b.aux[:0], 0
	return nil
}
