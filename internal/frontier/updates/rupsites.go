package updates

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RUPSites are the sites of one shard that report their changes, or are being asked whether they
// do.
type RUPSites struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	recrawl  *urls.Recrawl
	urls     *urls.URLs

	// Sites that report their changes (sites.go).
	Sites      map[canon.Origin]*RUPSite
	SitesDue   time.Time // when the first of them is due; zero: none
	replanning bool      // all pages of some sites are to be fetched again
	Secret     []byte    // key for the mail addresses given to sites; nil: none are given
}

// SetSecret sets the secret of the crawl, from which the addresses are made that sites may mail to;
// nil: they get none.
func (s *RUPSites) SetSecret(secret []byte) { s.Secret = secret }

// AskSites makes all sites be looked at, because something else may be wanted of them now.
func (s *RUPSites) AskSites(now time.Time) { s.SitesDue = now }

// NewRUPSites returns the sites of one shard.
func NewRUPSites(features *hosts.Features, ledger *hosts.Ledger, recrawl *urls.Recrawl, urls *urls.URLs) *RUPSites {
	return &RUPSites{features: features, ledger: ledger, recrawl: recrawl, urls: urls}
}
