package urls

import (
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
)

// Recrawl plans when the pages of one shard are fetched again.
type Recrawl struct {
	ledger *hosts.Ledger
	polite *polite.Polite
	urls   *URLs

	Sooner int64 // URLs that are fetched earlier because of updates, or that were new in them

	// Vouched is until when reports vouch for a page: rupsites
	vouched func(*hosts.Host, *Record) int64
}

// NewRecrawl returns the re-crawl of one shard. vouched returns until when (Unix s) the reports of
// a site vouch that a page has not changed.
func NewRecrawl(ledger *hosts.Ledger, polite *polite.Polite, urls *URLs, vouched func(*hosts.Host, *Record) int64) *Recrawl {
	return &Recrawl{ledger: ledger, polite: polite, urls: urls, vouched: vouched}
}
