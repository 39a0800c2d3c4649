// Package rupsites knows the sites that speak the Remote Update Protocol: what is known of each,
// what it is asked next, and what a report of it means for its pages.
package rupsites

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/recrawl"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RUPSites are the sites of one shard that tell what changed on them, or are asked whether they do.
type RUPSites struct {
	features *features.Features
	ledger   *ledger.Ledger
	recrawl  *recrawl.Recrawl
	urls     *urls.URLs

	// Sites that tell what changed on them (sites.go).
	Sites      map[canon.Origin]*Site
	SitesDue   time.Time // when the first of them is due; zero: none
	replanning bool      // all pages of some are to be fetched again
	Secret     []byte    // of the addresses they are told; nil: they are told none
}

// New returns them for one shard, with the rooms they stand on.
func New(features *features.Features, ledger *ledger.Ledger, recrawl *recrawl.Recrawl, urls *urls.URLs) *RUPSites {
	return &RUPSites{features: features, ledger: ledger, recrawl: recrawl, urls: urls}
}
