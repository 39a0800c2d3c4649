// Package mirrors carries out what package mirror decides: it asks the other origins, compares
// pages, and hands the URLs of a mirror to its main host.
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

	// Mirrors.
	Mirrors    map[Ref]struct{} // origins with a mirror record
	Settling   map[Ref]struct{} // of them, those whose URLs are being moved
	MirrorsDue time.Time        // when the first of them is due; zero: none
	forwards   []Forwarded      // links to hand on once the event is applied
}

// New returns them for one shard, with the rooms they stand on.
func New(features *hosts.Features, ledger *hosts.Ledger, recrawl *urls.Recrawl, urls *urls.URLs) *Mirrors {
	return &Mirrors{features: features, ledger: ledger, recrawl: recrawl, urls: urls}
}
