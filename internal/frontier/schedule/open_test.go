package schedule

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// open is a schedule on the records of an empty shard.
type open struct {
	*shardtest.Shard
	t        *testing.T
	visits   *Visits
	timeline *Timeline
}

func opened(t *testing.T, spec crawl.Spec) *open {
	t.Helper()
	o := &open{t: t}
	o.Shard = shardtest.Open(t, spec, func(s *shardtest.Shard) shardtest.Tested {
		o.timeline = NewTimeline(s.Ledger)
		sitemaps := wellknown.NewSitemaps(s.Features, s.Ledger, s.Polite, s.URLs)
		o.visits = NewVisits(s.Features, s.Ledger, s.Polite, s.Recrawl, sitemaps, o.timeline, s.URLs)
		o.visits.Attach(NewSlots(), make(chan struct{}, 1))
		return shardtest.Tested{Features: []hosts.Feature{o.timeline.Feature()}, Schedule: o.visits.Schedule}
	})
	return o
}

// grant grants visits as a request for n of them does.
func (o *open) grant(n int) (visits []crawl.Visit) {
	o.t.Helper()
	err := o.Ledger.Guarded(func() (err error) {
		visits, _, err = o.visits.Grant(n, MaxGrantBytes, time.Now())
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return visits
}

// one grants a visit, which must be the only one.
func (o *open) one() crawl.Visit {
	o.t.Helper()
	visits := o.grant(2)
	if len(visits) != 1 {
		o.t.Fatalf("%d visits, want one: %+v", len(visits), visits)
	}
	return visits[0]
}

// urlsOf returns the URLs of a visit.
func urlsOf(v crawl.Visit) (all []canon.URL) {
	for _, u := range v.URLs {
		all = append(all, u.URL)
	}
	return all
}
