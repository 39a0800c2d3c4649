// Package links takes in what pages, sitemaps and reports lead to: known links are dropped, wanted
// ones are queued with their host, the others are recorded with the reason.
package links

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/recrawl"
	"github.com/curtsy/curtsy/internal/frontier/rupsites"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Links takes links in for one shard.
type Links struct {
	ledger   *ledger.Ledger
	mirrors  *mirrors.Mirrors
	polite   *polite.Polite
	recrawl  *recrawl.Recrawl
	rupsites *rupsites.RUPSites
	urls     *urls.URLs

	DecidedAt time.Time // when judging all URLs anew began last
	Recent    Recent    // links seen lately: they need not be looked up
	forgot    time.Time // when Recent was emptied because of its age

	// Room for the next page, nil while one is taken in.
	offers []ledger.Link
	record *urls.Record
}

// New returns them for one shard, with the rooms they stand on.
func New(ledger *ledger.Ledger, mirrors *mirrors.Mirrors, polite *polite.Polite, recrawl *recrawl.Recrawl, rupsites *rupsites.RUPSites, urls *urls.URLs) *Links {
	return &Links{ledger: ledger, mirrors: mirrors, polite: polite, recrawl: recrawl, rupsites: rupsites, urls: urls}
}
