package frontier

import "github.com/prometheus/client_golang/prometheus"

// metrics follow Prometheus' conventions; no label ever holds a host or a URL.
type metrics struct {
	takes, visits, expired, links, accepted prometheus.Counter
	commit                                  prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, f *Frontier) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "curtsy", Subsystem: "frontier", Name: name, Help: help})
	}
	m := &metrics{
		takes:    counter("takes_total", "Requests of fetchers for visits, looked at."),
		visits:   counter("visits_total", "Visits granted."),
		expired:  counter("visits_expired_total", "Visits that were not answered within their lease."),
		links:    counter("links_total", "Links offered to the seen set."),
		accepted: counter("urls_accepted_total", "URLs that were new."),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "frontier", Name: "commit_seconds", Help: "Time of a commit, its fsync included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 12),
		}),
	}
	if reg != nil {
		reg.MustRegister(m.takes, m.visits, m.expired, m.links, m.accepted, m.commit, &collector{f: f})
	}
	return m
}

var urlsDesc = prometheus.NewDesc("curtsy_frontier_urls", "URLs of the shards held, by class.", []string{"class"}, nil)

// collector reads the accounting when it is asked for.
type collector struct{ f *Frontier }

// Describe is for prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) { ch <- urlsDesc }

// Collect is for prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	var sum counts
	var inFlight int64
	c.f.each(func(s *shard) error {
		n := &s.m.Counts
		sum.Queued += n.Queued - s.inFlight
		sum.Stored += n.Stored
		sum.Redirected += n.Redirected
		sum.Refused += n.Refused
		sum.Failed += n.Failed
		inFlight += s.inFlight
		return nil
	})
	for class, n := range map[string]int64{
		"queued": sum.Queued, "in_flight": inFlight, "stored": sum.Stored, "redirected": sum.Redirected,
		"refused": sum.Refused, "failed": sum.Failed,
	} {
		ch <- prometheus.MustNewConstMetric(urlsDesc, prometheus.GaugeValue, float64(n), class)
	}
}
