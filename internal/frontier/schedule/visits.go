package schedule

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// Visits are the outstanding visits of one shard, and the schedule of its hosts.
type Visits struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	polite   *polite.Polite
	recrawl  *urls.Recrawl
	sitemaps *wellknown.Sitemaps
	timeline *Timeline
	urls     *urls.URLs

	passedOver   []*hosts.Host // due, but passed over for hosts of other domains
	passedOverAt time.Time
	AllSlots     *Slots // of all shards of this process
	lookSoonAt   time.Time

	// Visits, and what they may still cost.
	Outstanding map[crawl.VisitID]*hosts.Visit // those of earlier epochs came with the shard
	Expired     []ExpiredVisit                 // visits that expired lately
	Digests     map[string]hosts.RobotsRef     // robots.txt files that fetchers may ask for

	// Signalled (not closed) when something may be due earlier than thought; nil in a Reader.
	Notify chan struct{}
}

// New returns them for one shard, with the rooms they stand on.
func NewVisits(features *hosts.Features, ledger *hosts.Ledger, polite *polite.Polite, recrawl *urls.Recrawl, sitemaps *wellknown.Sitemaps, timeline *Timeline, urls *urls.URLs) *Visits {
	return &Visits{features: features, ledger: ledger, polite: polite, recrawl: recrawl, sitemaps: sitemaps, timeline: timeline, urls: urls}
}
