package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Links takes links in for one shard.
type Links struct {
	ledger   *hosts.Ledger
	mirrors  *mirrors.Mirrors
	polite   *polite.Polite
	recrawl  *urls.Recrawl
	rupsites *updates.RUPSites
	urls     *urls.URLs

	DecidedAt time.Time // when judging all URLs anew began last
	Recent    Recent    // links seen lately: they need not be looked up
	forgot    time.Time // when Recent was emptied because of its age

	// Room for the next page, nil while one is taken in.
	offers []hosts.Link
	record *urls.Record
}

// New returns them for one shard, with the rooms they stand on.
func NewLinks(ledger *hosts.Ledger, mirrors *mirrors.Mirrors, polite *polite.Polite, recrawl *urls.Recrawl, rupsites *updates.RUPSites, urls *urls.URLs) *Links {
	return &Links{ledger: ledger, mirrors: mirrors, polite: polite, recrawl: recrawl, rupsites: rupsites, urls: urls}
}
