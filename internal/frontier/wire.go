package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// wire makes the packages of a shard. Each gets those it stands on, and functions of those above
// it, which are called only when all are made.
func (s *Shard) wire(o hosts.Options) {
	o.Hooks = hosts.Hooks{
		Schedule:   func(now time.Time) { s.visits.Schedule(now) },
		Accept:     func(l *crawl.Links, now time.Time) error { return s.links.Apply(l, now) },
		ReadRobots: s.applyRobots, Uses: s.holdsHost, Loaded: s.hostLoaded,
	}
	s.ledger = hosts.New(o)
	s.features = hosts.NewFeatures(s.ledger)
	s.urls = urls.New(s.features, s.ledger, func(h *hosts.Host, r *urls.Record, at time.Time) error { return s.recrawl.Plan(h, r, at) })
	s.polite = polite.New(s.features, s.ledger)
	s.recrawl = urls.NewRecrawl(s.ledger, s.polite, s.urls, func(h *hosts.Host, r *urls.Record) int64 { return s.rupsites.VouchedUntil(h, r) })
	s.sitemaps = wellknown.NewSitemaps(s.features, s.ledger, s.polite, s.urls)
	s.datafiles = wellknown.NewDataFiles(s.features, s.ledger)
	s.robotsProxy = wellknown.NewRobotsProxy(s.features, s.ledger)
	s.mirrors = mirrors.New(s.features, s.ledger, s.recrawl, s.urls)
	s.indexnow = updates.NewIndexNow(s.features, s.ledger)
	s.feeds = wellknown.NewFeeds(s.features, s.ledger, s.polite, s.urls, wellknown.Hubs{
		Named: func(h *hosts.Host, feed canon.URL, depth int, f *crawl.Feed, now time.Time) error {
			return s.websub.Names(h, feed, depth, f, now)
		},
		Pushed: func(feed canon.URL) bool { return s.websub.Pushed(feed) },
	})
	s.websub = updates.NewWebSub(s.features, s.feeds, s.ledger)
	s.rupsites = updates.NewRUPSites(s.features, s.ledger, s.recrawl, s.urls)
	s.timeline = schedule.NewTimeline(s.ledger)
	s.links = shard.NewLinks(s.ledger, s.mirrors, s.polite, s.recrawl, s.rupsites, s.urls)
	s.visits = schedule.NewVisits(s.features, s.ledger, s.polite, s.recrawl, s.sitemaps, s.timeline, s.urls)
	s.passes = shard.NewPasses(s.datafiles, s.features, s.ledger, s.links, s.mirrors, s.recrawl, s.urls, s.visits)
	s.history = shard.NewHistory(s.ledger)
	s.account = shard.NewAccount(s.datafiles, s.feeds, s.history, s.indexnow, s.ledger, s.links, s.mirrors, s.passes, s.polite, s.recrawl, s.rupsites, s.sitemaps, s.urls, s.visits, s.websub)
	s.features.Register(s.allFeatures())
	s.passes.Register(s.features.List)
}
