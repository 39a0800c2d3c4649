// Package mirrors carries out what package mirror decides: it sends requests to other origins,
// compares pages, and passes the URLs of a mirror on to its main host.
package mirrors

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Mirrors are the origins of one shard that are mirrors, or may be.
type Mirrors struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	recrawl  *urls.Recrawl
	urls     *urls.URLs

	Mirrors    map[Ref]struct{} // origins with a mirror record
	Settling   map[Ref]struct{} // of them, those whose URLs are being moved
	MirrorsDue time.Time        // when the first of them is due; zero: none

	pages    pages
	forwards forwards
}

// New returns the Mirrors of one shard.
func New(features *hosts.Features, ledger *hosts.Ledger, recrawl *urls.Recrawl, urls *urls.URLs) *Mirrors {
	return &Mirrors{
		features: features, ledger: ledger, recrawl: recrawl, urls: urls, pages: pages{ledger, urls}, forwards: forwards{ledger: ledger},
	}
}
