// Package recrawl says when a page is fetched again: how often it changes, what in it changes
// always and means nothing, what sites and sitemaps say of it, and which pages a visit takes first.
package recrawl

import (
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Recrawl plans when the pages of one shard are fetched again.
type Recrawl struct {
	ledger *ledger.Ledger
	polite *polite.Polite
	urls   *urls.URLs

	Sooner int64 // URLs that updates brought forward, or that were new in them

	Vouched func(h *ledger.Host, r *urls.Record) int64 // how long reports vouch: rupsites
}

// New returns them for one shard, with the rooms they stand on.
func New(ledger *ledger.Ledger, polite *polite.Polite, urls *urls.URLs) *Recrawl {
	return &Recrawl{ledger: ledger, polite: polite, urls: urls}
}
