package frontier

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

var (
	mirrorsDesc = prometheus.NewDesc("curtsy_frontier_mirrors", "Origins of the owned shards that are mirrors or name a main mirror, by state.", []string{"state"}, nil)
	urlsDesc    = prometheus.NewDesc("curtsy_frontier_urls", "URLs of the owned shards, by class.", []string{"class"}, nil)
	pausedDesc  = prometheus.NewDesc("curtsy_frontier_paused", "1 while nothing is granted because the disk has too little free space.", nil, nil)
	renderDesc  = prometheus.NewDesc("curtsy_frontier_rendering", "Stored pages of the owned shards that have almost no text without scripts (needed), or whose scripts were run (done) or could not be (failed).", []string{"state"}, nil)
	shardsDesc  = prometheus.NewDesc("curtsy_frontier_shards", "Shards owned.", nil, nil)
)

// collector reads the counts when metrics are requested.
type collector struct{ f *Frontier }

// Describe implements prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- urlsDesc
	ch <- shardsDesc
	ch <- pausedDesc
	ch <- mirrorsDesc
	ch <- renderDesc
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	sum := map[string]int64{"queued": 0, "in_flight": 0, "stored": 0, "redirected": 0, "refused": 0, "failed": 0}
	var rendering crawl.RenderingCounts
	shards := 0
	mirrors := map[string]float64{mirror.OfMain: 0, mirror.Unconfirmed: 0}
	c.f.each(func(s *Shard) error {
		n := &s.Ledger.Meta.Counts
		sum["queued"] += n.Queued - s.URLs.InFlight
		sum["in_flight"] += s.URLs.InFlight
		sum["stored"] += n.Stored
		sum["redirected"] += n.Redirected
		sum["refused"] += n.Refused
		sum["failed"] += n.Failed
		rendering.Add(n.Rendering)
		for ref := range s.Mirrors.Mirrors {
			if state := ref.H.Origins[ref.I].Mirror.State; state == mirror.OfMain || state == mirror.Unconfirmed {
				mirrors[state]++
			}
		}
		shards++
		return nil
	})
	paused := 0.0
	if c.f.full() != nil {
		paused = 1
	}
	ch <- prometheus.MustNewConstMetric(pausedDesc, prometheus.GaugeValue, paused)
	ch <- prometheus.MustNewConstMetric(shardsDesc, prometheus.GaugeValue, float64(shards))
	for state, n := range mirrors {
		ch <- prometheus.MustNewConstMetric(mirrorsDesc, prometheus.GaugeValue, n, state)
	}
	for state, n := range map[crawl.Rendering]int64{
		crawl.RenderingNeeded: rendering.Needed, crawl.RenderingDone: rendering.Done, crawl.RenderingFailed: rendering.Failed,
	} {
		ch <- prometheus.MustNewConstMetric(renderDesc, prometheus.GaugeValue, float64(n), state.String())
	}
	for class, n := range sum {
		ch <- prometheus.MustNewConstMetric(urlsDesc, prometheus.GaugeValue, float64(n), class)
	}
}
