package frontier

import (
	"github.com/curtsy/curtsy/internal/frontier/account"
	"github.com/curtsy/curtsy/internal/frontier/datafiles"
	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/feeds"
	"github.com/curtsy/curtsy/internal/frontier/history"
	"github.com/curtsy/curtsy/internal/frontier/indexnow"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/links"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/passes"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/recrawl"
	"github.com/curtsy/curtsy/internal/frontier/robotsproxy"
	"github.com/curtsy/curtsy/internal/frontier/rupsites"
	"github.com/curtsy/curtsy/internal/frontier/sitemaps"
	"github.com/curtsy/curtsy/internal/frontier/timeline"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/visits"
	"github.com/curtsy/curtsy/internal/frontier/websub"
)

// wire makes the rooms of a shard and tells each of those it stands on.
func (s *shard) wire() {
	s.ledger = ledger.New()
	s.features = features.New(s.ledger)
	s.urls = urls.New(s.features, s.ledger)
	s.polite = polite.New(s.features, s.ledger)
	s.recrawl = recrawl.New(s.ledger, s.polite, s.urls)
	s.sitemaps = sitemaps.New(s.features, s.ledger, s.polite, s.urls)
	s.datafiles = datafiles.New(s.features, s.ledger)
	s.robotsProxy = robotsproxy.New(s.features, s.ledger)
	s.mirrors = mirrors.New(s.features, s.ledger, s.recrawl, s.urls)
	s.indexnow = indexnow.New(s.features, s.ledger)
	s.feeds = feeds.New(s.features, s.ledger, s.polite, s.urls)
	s.websub = websub.New(s.features, s.feeds, s.ledger)
	s.rupsites = rupsites.New(s.features, s.ledger, s.recrawl, s.urls)
	s.timeline = timeline.New(s.ledger)
	s.links = links.New(s.ledger, s.mirrors, s.polite, s.recrawl, s.rupsites, s.urls)
	s.visits = visits.New(s.features, s.ledger, s.polite, s.recrawl, s.sitemaps, s.timeline, s.urls)
	s.passes = passes.New(s.datafiles, s.features, s.ledger, s.links, s.mirrors, s.recrawl, s.urls, s.visits)
	s.history = history.New(s.ledger)
	s.account = account.New(s.datafiles, s.feeds, s.history, s.indexnow, s.ledger, s.links, s.mirrors, s.passes, s.polite, s.recrawl, s.rupsites, s.sitemaps, s.urls, s.visits, s.websub)
}
