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

	Sooner int64 // URLs that updates brought forward, or that were new in them

	Vouched func(h *hosts.Host, r *Record) int64 // how long reports vouch: rupsites
}

// New returns them for one shard, with the rooms they stand on.
func NewRecrawl(ledger *hosts.Ledger, polite *polite.Polite, urls *URLs) *Recrawl {
	return &Recrawl{ledger: ledger, polite: polite, urls: urls}
}
