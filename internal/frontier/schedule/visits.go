package schedule

import (
	"slices"
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

	// Hosts that are due and were passed over, by the party that has too many slots, and how many.
	waiting  map[party][]*hosts.Host
	nWaiting int
	// When the last host of each party was postponed to.
	postponed  map[party]time.Time
	AllSlots   *Slots // of all shards of this process
	lookSoonAt time.Time

	// Visits, and what they may still cost.
	// Visits of earlier epochs were handed over with the shard
	Outstanding map[crawl.VisitID]*hosts.Visit
	Expired     []ExpiredVisit // visits that expired lately
	// robots.txt files that fetchers may request by digest
	Digests map[string]hosts.RobotsRef

	// Signalled (not closed) when something may be due earlier than expected; nil in a Reader.
	Notify chan struct{}
}

// Attach gives the visits what all shards of a process share: its slots, and a channel that is
// signalled when a host may be due earlier than was expected.
func (s *Visits) Attach(slots *Slots, notify chan struct{}) { s.AllSlots, s.Notify = slots, notify }

// Ended notes that the outcome of a visit arrived after its lease was over.
func (s *Visits) Ended(id crawl.VisitID) {
	s.Expired = slices.DeleteFunc(s.Expired, func(g ExpiredVisit) bool { return g.ID == id })
}

// NewVisits returns the visits of one shard.
func NewVisits(features *hosts.Features, ledger *hosts.Ledger, polite *polite.Polite, recrawl *urls.Recrawl, sitemaps *wellknown.Sitemaps, timeline *Timeline, urls *urls.URLs) *Visits {
	return &Visits{Outstanding: map[crawl.VisitID]*hosts.Visit{}, waiting: map[party][]*hosts.Host{}, postponed: map[party]time.Time{}, Digests: map[string]hosts.RobotsRef{}, AllSlots: NewSlots(), features: features, ledger: ledger, polite: polite, recrawl: recrawl, sitemaps: sitemaps, timeline: timeline, urls: urls}
}
