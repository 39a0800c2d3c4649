package frontier

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// wire makes the rooms of a shard and tells each of those it stands on.
func (s *Shard) wire() {
	s.ledger = hosts.NewLedger()
	s.features = hosts.NewFeatures(s.ledger)
	s.urls = urls.New(s.features, s.ledger)
	s.polite = polite.New(s.features, s.ledger)
	s.recrawl = urls.NewRecrawl(s.ledger, s.polite, s.urls)
	s.sitemaps = wellknown.NewSitemaps(s.features, s.ledger, s.polite, s.urls)
	s.datafiles = wellknown.NewDataFiles(s.features, s.ledger)
	s.robotsProxy = wellknown.NewRobotsProxy(s.features, s.ledger)
	s.mirrors = mirrors.New(s.features, s.ledger, s.recrawl, s.urls)
	s.indexnow = updates.NewIndexNow(s.features, s.ledger)
	s.feeds = wellknown.NewFeeds(s.features, s.ledger, s.polite, s.urls)
	s.websub = updates.NewWebSub(s.features, s.feeds, s.ledger)
	s.rupsites = updates.NewRUPSites(s.features, s.ledger, s.recrawl, s.urls)
	s.timeline = schedule.NewTimeline(s.ledger)
	s.links = shard.NewLinks(s.ledger, s.mirrors, s.polite, s.recrawl, s.rupsites, s.urls)
	s.visits = schedule.NewVisits(s.features, s.ledger, s.polite, s.recrawl, s.sitemaps, s.timeline, s.urls)
	s.passes = shard.NewPasses(s.datafiles, s.features, s.ledger, s.links, s.mirrors, s.recrawl, s.urls, s.visits)
	s.history = shard.NewHistory(s.ledger)
	s.account = shard.NewAccount(s.datafiles, s.feeds, s.history, s.indexnow, s.ledger, s.links, s.mirrors, s.passes, s.polite, s.recrawl, s.rupsites, s.sitemaps, s.urls, s.visits, s.websub)
}
