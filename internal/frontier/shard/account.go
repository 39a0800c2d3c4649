package shard

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// Account answers the questions about one shard.
type Account struct {
	datafiles *wellknown.DataFiles
	feeds     *wellknown.Feeds
	history   *History
	indexnow  *updates.IndexNow
	ledger    *hosts.Ledger
	links     *Links
	mirrors   *mirrors.Mirrors
	passes    *Passes
	polite    *polite.Polite
	recrawl   *urls.Recrawl
	rupsites  *updates.RUPSites
	sitemaps  *wellknown.Sitemaps
	urls      *urls.URLs
	visits    *schedule.Visits
	websub    *updates.WebSub
}

// NewAccount returns the Account of one shard.
func NewAccount(datafiles *wellknown.DataFiles, feeds *wellknown.Feeds, history *History, indexnow *updates.IndexNow, ledger *hosts.Ledger, links *Links, mirrors *mirrors.Mirrors, passes *Passes, polite *polite.Polite, recrawl *urls.Recrawl, rupsites *updates.RUPSites, sitemaps *wellknown.Sitemaps, urls *urls.URLs, visits *schedule.Visits, websub *updates.WebSub) *Account {
	return &Account{datafiles: datafiles, feeds: feeds, history: history, indexnow: indexnow, ledger: ledger, links: links, mirrors: mirrors, passes: passes, polite: polite, recrawl: recrawl, rupsites: rupsites, sitemaps: sitemaps, urls: urls, visits: visits, websub: websub}
}
