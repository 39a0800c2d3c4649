package shard

import (
	"github.com/curtsy/curtsy/internal/frontier/dispatch"
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
	datafiles  *wellknown.DataFiles
	dispatches *dispatch.Dispatches
	feeds      *wellknown.Feeds
	history    *History
	indexnow   *updates.IndexNow
	ledger     *hosts.Ledger
	links      *Links
	mirrors    *mirrors.Mirrors
	passes     *Passes
	polite     *polite.Polite
	recrawl    *urls.Recrawl
	rupsites   *updates.RUPSites
	sitemaps   *wellknown.Sitemaps
	urls       *urls.URLs
	visits     *schedule.Visits
	websub     *updates.WebSub
}

// NewAccount returns the account of a shard, whose parts below this package are made, and of this
// package the history, the links and the passes.
func NewAccount(p *Parts) *Account {
	return &Account{datafiles: p.DataFiles, dispatches: p.Dispatches, feeds: p.Feeds, history: p.History, indexnow: p.IndexNow, ledger: p.Ledger, links: p.Links, mirrors: p.Mirrors,
		passes: p.Passes, polite: p.Polite, recrawl: p.Recrawl, rupsites: p.RUPSites, sitemaps: p.Sitemaps, urls: p.URLs, visits: p.Visits, websub: p.WebSub}
}
