// Package visits decides who is visited now: the schedule of due hosts, the grants with their
// leases, whose turn it is on a host, and the hands that one domain may have.
package visits

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/features"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/recrawl"
	"github.com/curtsy/curtsy/internal/frontier/sitemaps"
	"github.com/curtsy/curtsy/internal/frontier/timeline"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// Visits are the outstanding visits of one shard, and the schedule of its hosts.
type Visits struct {
	features *features.Features
	ledger   *ledger.Ledger
	polite   *polite.Polite
	recrawl  *recrawl.Recrawl
	sitemaps *sitemaps.Sitemaps
	timeline *timeline.Timeline
	urls     *urls.URLs

	passedOver   []*ledger.Host // due, but passed over for hosts of other domains
	passedOverAt time.Time
	AllSlots     *Slots // of all shards of this process
	lookSoonAt   time.Time

	// Visits, and what they may still cost.
	Outstanding map[crawl.VisitID]*ledger.Visit // those of earlier epochs came with the shard
	Expired     []ExpiredVisit                  // visits that expired lately
	Digests     map[string]ledger.RobotsRef     // robots.txt files that fetchers may ask for

	// Signalled (not closed) when something may be due earlier than thought; nil in a Reader.
	Notify chan struct{}
}

// New returns them for one shard, with the rooms they stand on.
func New(features *features.Features, ledger *ledger.Ledger, polite *polite.Polite, recrawl *recrawl.Recrawl, sitemaps *sitemaps.Sitemaps, timeline *timeline.Timeline, urls *urls.URLs) *Visits {
	return &Visits{features: features, ledger: ledger, polite: polite, recrawl: recrawl, sitemaps: sitemaps, timeline: timeline, urls: urls}
}
