package frontier

import (
	"cmp"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
)

// metrics follow Prometheus' conventions; no label ever holds a host or a URL.
type metrics struct {
	takes, visits, expired, links, accepted         prometheus.Counter
	checkpoints, checkpointsFailed, checkpointBytes prometheus.Counter
	handedOver                                      prometheus.Counter
	claims, dissolved                               prometheus.Counter
	merged                                          *prometheus.CounterVec // by evidence
	again                                           *prometheus.CounterVec // by what was found
	taken                                           *prometheus.CounterVec // by how work went on
	commit, checkpointTime, readyTime               prometheus.Histogram
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
	seconds := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "frontier", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		})
	}
	m.checkpoints = counter("checkpoints_total", "Checkpoints of shards put into the object store.")
	m.checkpointsFailed = counter("checkpoints_failed_total", "Checkpoints of shards that could not be put there.")
	m.checkpointBytes = counter("checkpoint_bytes_total", "Bytes of the checkpoints put, compressed.")
	m.checkpointTime = seconds("checkpoint_seconds", "Time to put a checkpoint.")
	m.handedOver = counter("shards_handed_over_total", "Shards handed over to their next owner.")
	m.taken = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "shards_taken_total",
		Help: "Shards taken, by what was owed before work went on: nothing (clean), a delay, or a lease and a delay.",
	}, []string{"owed"})
	m.again = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "pages_again_total",
		Help: "Pages held that were asked for again, by what was found: the same page, another one, one that differs only in what always does (noise), or nothing that tells (the copy is kept).",
	}, []string{"found"})
	m.claims = counter("mirror_claims_total", "Origins whose robots.txt has come to name another as their main mirror.")
	m.merged = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "mirrors_merged_total",
		Help: "Origins found to be mirrors, by what they are recognised by: the Host line of their robots.txt (host), redirect, www.",
	}, []string{"by"})
	m.dissolved = counter("mirrors_dissolved_total", "Origins that are the mirrors they were no longer.")
	m.readyTime = seconds("shard_ready_seconds", "Time from taking a shard to knowing all that is in its log.")
	if reg != nil {
		reg.MustRegister(m.takes, m.visits, m.expired, m.links, m.accepted, m.commit, m.checkpoints, m.checkpointsFailed,
			m.checkpointBytes, m.checkpointTime, m.handedOver, m.taken, m.again, m.readyTime,
			m.claims, m.merged, m.dissolved, &collector{f: f})
	}
	return m
}

// mirrorStep counts what has become of a mirror record.
func (m *metrics) mirrorStep(was, is *mirror) {
	if is.Claim == crawl.ClaimTarget && (was.Claim != is.Claim || was.Target != is.Target) {
		m.claims.Inc()
	}
	if was.mirrored() == is.mirrored() && was.Main == is.Main {
		return
	}
	if was.mirrored() {
		m.dissolved.Inc()
	}
	if is.mirrored() {
		m.merged.WithLabelValues(cmp.Or(is.By, "host")).Inc()
	}
}

var (
	mirrorsDesc = prometheus.NewDesc("curtsy_frontier_mirrors", "Origins of the shards held that are mirrors, or name a main mirror, by state.", []string{"state"}, nil)
	urlsDesc    = prometheus.NewDesc("curtsy_frontier_urls", "URLs of the shards held, by class.", []string{"class"}, nil)
	pausedDesc  = prometheus.NewDesc("curtsy_frontier_paused", "1 while nothing is granted because the disk has too little room.", nil, nil)
	shardsDesc  = prometheus.NewDesc("curtsy_frontier_shards", "Shards held.", nil, nil)
)

// collector reads the accounting when it is asked for.
type collector struct{ f *Frontier }

// Describe is for prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	ch <- urlsDesc
	ch <- shardsDesc
	ch <- pausedDesc
	ch <- mirrorsDesc
}

// Collect is for prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	var sum counts
	var inFlight, shards int64
	mirrors := map[string]float64{mirrorOfMain: 0, mirrorUnconfirmed: 0}
	c.f.each(func(s *shard) error {
		n := &s.m.Counts
		sum.Queued += n.Queued - s.inFlight
		sum.Stored += n.Stored
		sum.Redirected += n.Redirected
		sum.Refused += n.Refused
		sum.Failed += n.Failed
		inFlight += s.inFlight
		for ref := range s.mirrors {
			if state := ref.h.Origins[ref.i].Mirror.State; state == mirrorOfMain || state == mirrorUnconfirmed {
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
	for class, n := range map[string]int64{
		"queued": sum.Queued, "in_flight": inFlight, "stored": sum.Stored, "redirected": sum.Redirected,
		"refused": sum.Refused, "failed": sum.Failed,
	} {
		ch <- prometheus.MustNewConstMetric(urlsDesc, prometheus.GaugeValue, float64(n), class)
	}
}
