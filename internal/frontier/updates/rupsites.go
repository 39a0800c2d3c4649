package updates

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RUPSites are the sites of one shard that tell what changed on them, or are asked whether they do.
type RUPSites struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	recrawl  *urls.Recrawl
	urls     *urls.URLs

	// Sites that tell what changed on them (sites.go).
	Sites      map[canon.Origin]*RUPSite
	SitesDue   time.Time // when the first of them is due; zero: none
	replanning bool      // all pages of some are to be fetched again
	Secret     []byte    // of the addresses they are told; nil: they are told none
}

// New returns them for one shard, with the rooms they stand on.
func NewRUPSites(features *hosts.Features, ledger *hosts.Ledger, recrawl *urls.Recrawl, urls *urls.URLs) *RUPSites {
	return &RUPSites{features: features, ledger: ledger, recrawl: recrawl, urls: urls}
}
