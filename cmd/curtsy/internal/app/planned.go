package app

import (
	"time"

	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/pkg/canon"
)

// PlannedSpec is the crawl that settings and seeds ask for: a new one, or old with the given
// settings replaced. It refuses a crawl without a contact.
func PlannedSpec(p config.Plan, n config.NATS, given func(string) bool, old *crawl.Spec, seeds []canon.URL) (crawl.Spec, error) {
	s := p.Spec(old, given)
	switch {
	case old == nil:
		s.Name, s.Shards, s.Created = n.Crawl, p.Shards, time.Now().UTC().Truncate(time.Second)
		if s.Shards == 0 && n.URL == "" {
			s.Shards = crawl.EmbeddedShards
		} else if s.Shards == 0 {
			s.Shards = crawl.ClusterShards
		}
	case given("shards") && p.Shards != 0 && p.Shards != old.Shards:
		return s, Usage("the crawl was created with %d shards, which cannot be changed; leave --shards out, or use another --dir or --crawl", old.Shards)
	}
	if err := addSeeds(&s, seeds); err != nil {
		return s, err
	}
	if len(s.Seeds) == 0 {
		return s, Usage("a new crawl needs a URL to start from; use for example: curtsy crawl --contact me@example.org https://example.org/")
	}
	if s.Contact == "" && !s.AllowPrivate {
		return s, Usage(`a crawl needs an address at which webmasters reach you; it is sent with every request:
    --contact me@example.org   or   --contact https://example.org/about-our-crawler
Without it, only private addresses are crawled, with --allow-private.`)
	}
	if err := service.CheckPassword(s, n.Queue("curtsy")); err != nil {
		return s, Usage("%w", err)
	}
	return s, nil
}
