package updates

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
)

// open is what a shard knows of the reports of its sites, on empty records.
type open struct {
	*shardtest.Shard
	t        *testing.T
	sites    *RUPSites
	indexnow *IndexNow
	websub   *WebSub
}

// updatesSpec is the spec of a crawl that accepts reports of every kind.
func updatesSpec() crawl.Spec {
	spec := shardtest.Spec()
	spec.Recrawl, spec.Feeds, spec.Updates = true, true, true
	spec.UpdatesMail, spec.UpdatesWebSub = "curtsy@crawler.example", "https://crawler.example/hooks"
	return spec
}

func opened(t *testing.T, spec crawl.Spec) *open {
	t.Helper()
	o := &open{t: t}
	o.Shard = shardtest.Open(t, spec, func(s *shardtest.Shard) shardtest.Tested {
		o.sites = NewRUPSites(s.Features, s.Ledger, s.Recrawl, s.URLs)
		o.indexnow = NewIndexNow(s.Features, s.Ledger)
		feeds := wellknown.NewFeeds(s.Features, s.Ledger, s.Polite, s.URLs, wellknown.Hubs{})
		o.websub = NewWebSub(s.Features, feeds, s.Ledger)
		o.sites.SetSecret([]byte("a crawl's secret"))
		o.websub.SetSecret([]byte("a crawl's secret"))
		return shardtest.Tested{
			Features: []hosts.Feature{o.sites.UpdatesFeature(), o.indexnow.Feature(), o.websub.Feature()},
			Vouched:  o.sites.VouchedUntil, Uses: o.sites.Knows,
		}
	})
	return o
}

func (o *open) check(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

// waiting returns the only auxiliary request that waits at a.example.
func (o *open) waiting() crawl.AuxRequest {
	o.t.Helper()
	h, _ := o.Host("a.example")
	if len(h.Aux) != 1 {
		o.t.Fatalf("%d auxiliary requests wait, want one: %+v", len(h.Aux), h.Aux)
	}
	return h.Aux[0]
}

// answered has an auxiliary request of a.example been sent, and answered.
func (o *open) answered(a crawl.Answer) {
	o.t.Helper()
	h, _ := o.Host("a.example")
	now := time.Now()
	o.check(o.Features.ApplyAnswer(&a, now, now))
	o.check(o.Features.DropAux(h, a.Aux, now))
}

// upkeep does what is due.
func (o *open) upkeep() {
	o.t.Helper()
	o.check(o.Features.Upkeep(time.Now()))
}
