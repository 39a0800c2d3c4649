// Package account says what a shard knows: status, hosts, why a URL ended as it did, mirrors,
// updates.
package account

import (
	"github.com/curtsy/curtsy/internal/frontier/datafiles"
	"github.com/curtsy/curtsy/internal/frontier/feeds"
	"github.com/curtsy/curtsy/internal/frontier/history"
	"github.com/curtsy/curtsy/internal/frontier/indexnow"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/links"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/passes"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/recrawl"
	"github.com/curtsy/curtsy/internal/frontier/rupsites"
	"github.com/curtsy/curtsy/internal/frontier/sitemaps"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/visits"
	"github.com/curtsy/curtsy/internal/frontier/websub"
)

// Account answers the questions about one shard.
type Account struct {
	datafiles *datafiles.DataFiles
	feeds     *feeds.Feeds
	history   *history.History
	indexnow  *indexnow.IndexNow
	ledger    *ledger.Ledger
	links     *links.Links
	mirrors   *mirrors.Mirrors
	passes    *passes.Passes
	polite    *polite.Polite
	recrawl   *recrawl.Recrawl
	rupsites  *rupsites.RUPSites
	sitemaps  *sitemaps.Sitemaps
	urls      *urls.URLs
	visits    *visits.Visits
	websub    *websub.WebSub
}

// New returns them for one shard, with the rooms they stand on.
func New(datafiles *datafiles.DataFiles, feeds *feeds.Feeds, history *history.History, indexnow *indexnow.IndexNow, ledger *ledger.Ledger, links *links.Links, mirrors *mirrors.Mirrors, passes *passes.Passes, polite *polite.Polite, recrawl *recrawl.Recrawl, rupsites *rupsites.RUPSites, sitemaps *sitemaps.Sitemaps, urls *urls.URLs, visits *visits.Visits, websub *websub.WebSub) *Account {
	return &Account{datafiles: datafiles, feeds: feeds, history: history, indexnow: indexnow, ledger: ledger, links: links, mirrors: mirrors, passes: passes, polite: polite, recrawl: recrawl, rupsites: rupsites, sitemaps: sitemaps, urls: urls, visits: visits, websub: websub}
}
