package shard

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Links applies links in one shard.
type Links struct {
	ledger   *hosts.Ledger
	mirrors  *mirrors.Mirrors
	polite   *polite.Polite
	recrawl  *urls.Recrawl
	rupsites *updates.RUPSites
	urls     *urls.URLs

	DecidedAt time.Time // when the last pass that decides about all URLs again began
	Recent    Recent    // links seen lately, which need not be looked up
	forgot    time.Time // when Recent was emptied because of its age

	// Buffers for the next page; nil while a page is applied.
	offers []offer
	record *urls.Record
}

// Decided notes that a pass began which decides all URLs again.
func (s *Links) Decided(now time.Time) { s.DecidedAt = now }

// ForgetRecent makes every link be looked up again.
func (s *Links) ForgetRecent() { s.Recent = Recent{} }

// NewLinks returns the links of one shard.
func NewLinks(ledger *hosts.Ledger, mirrors *mirrors.Mirrors, polite *polite.Polite, recrawl *urls.Recrawl, rupsites *updates.RUPSites, urls *urls.URLs) *Links {
	return &Links{ledger: ledger, mirrors: mirrors, polite: polite, recrawl: recrawl, rupsites: rupsites, urls: urls}
}
