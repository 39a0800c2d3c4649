package store

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the counters of one frontier process.
type Metrics struct {
	Takes, Visits, Expired, Links, Forwarded, Accepted prometheus.Counter
	Checkpoints, CheckpointsFailed, CheckpointBytes    prometheus.Counter
	HandedOver                                         prometheus.Counter
	Claims, Dissolved                                  prometheus.Counter
	LeftOut                                            *prometheus.CounterVec // by reason
	Merged                                             *prometheus.CounterVec // by evidence
	Again                                              *prometheus.CounterVec // by result
	Dispatches                                         *prometheus.CounterVec // by state
	Compared                                           *prometheus.CounterVec // by result
	DispatchDropped                                    prometheus.Counter
	// By what was waited for before work continued
	Taken                             *prometheus.CounterVec
	Reports                           *prometheus.CounterVec // by outcome
	Commit, CheckpointTime, ReadyTime prometheus.Histogram
}

// NewMetrics makes the metrics, and registers them if reg is not nil.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "curtsy", Subsystem: "frontier", Name: name, Help: help})
	}
	m := &Metrics{
		Takes:     counter("takes_total", "Requests of fetchers for visits that were processed."),
		Visits:    counter("visits_total", "Visits granted."),
		Expired:   counter("visits_expired_total", "Visits without a result within their lease."),
		Links:     counter("links_total", "Links offered to the seen set."),
		Forwarded: counter("links_forwarded_total", "Links found by visits to hosts of a shard that were passed on to another shard."),
		Accepted:  counter("urls_accepted_total", "URLs that were new."),
		Commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "frontier", Name: "commit_seconds", Help: "Time of a commit, its fsync included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 12),
		}),
	}
	seconds := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "frontier", Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		})
	}
	m.Checkpoints = counter("checkpoints_total", "Checkpoints of shards written to the object store.")
	m.CheckpointsFailed = counter("checkpoints_failed_total", "Checkpoints of shards that could not be written to the object store.")
	m.CheckpointBytes = counter("checkpoint_bytes_total", "Bytes of the checkpoints written, compressed.")
	m.CheckpointTime = seconds("checkpoint_seconds", "Time to write a checkpoint.")
	m.HandedOver = counter("shards_handed_over_total", "Shards handed over to their next owner.")
	m.Taken = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "shards_taken_total",
		Help: "Shards acquired, by the wait before work continued: nothing (clean), a delay, or a lease and a delay.",
	}, []string{"owed"})
	m.Again = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "pages_again_total",
		Help: "Stored pages that were fetched again, by result: the same page, a changed page, a page that differs only in parts that always change (noise), or no usable result (the copy is kept).",
	}, []string{"found"})
	m.LeftOut = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "links_left_out_total",
		Help: "Links that are not recorded, by reason: their domain has too many hosts (hosts), too many URLs of their host are queued (waiting), or too many have the same hash (hash).",
	}, []string{"why"})
	m.Claims = counter("mirror_claims_total", "Origins whose robots.txt started to name another origin as their main mirror.")
	m.Merged = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "mirrors_merged_total",
		Help: "Origins found to be mirrors, by evidence: the Host line of their robots.txt (host), redirect, www.",
	}, []string{"by"})
	m.Dissolved = counter("mirrors_dissolved_total", "Origins that are no longer mirrors.")
	m.Reports = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "rup_reports_total",
		Help: "Reports of sites about their changes (RUP), by outcome: applied (mailed), fetched (requested), held (until the site confirms its number), ignored (a duplicate), refused (sent to an address that the site was not given).",
	}, []string{"outcome"})
	for _, outcome := range []string{"applied", "fetched", "held", "ignored", "refused"} {
		m.Reports.WithLabelValues(outcome)
	}
	m.Dispatches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "dispatches_total",
		Help: "Mobile robots that were sent, by how that ended: all arrived (done), it ended early (cut), the server could not be reached (failed) or did not accept it (refused), or it was not wanted any more (dropped).",
	}, []string{"state"})
	for _, state := range []string{"done", "cut", "failed", "refused", "dropped"} {
		m.Dispatches.WithLabelValues(state)
	}
	m.Compared = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "frontier", Name: "dispatch_pages_compared_total",
		Help: "Pages of mobile robots that were compared with those of the site, by result: the same (confirmed), another page (differs), or not comparable (unclear).",
	}, []string{"result"})
	for _, result := range []string{"confirmed", "differs", "unclear"} {
		m.Compared.WithLabelValues(result)
	}
	m.DispatchDropped = counter("dispatch_servers_dropped_total", "Servers of mobile robots that are not used for a while, because what they sent was wrong.")
	m.ReadyTime = seconds("shard_ready_seconds", "Time from acquiring a shard to having read its whole log.")
	if reg != nil {
		reg.MustRegister(m.Takes, m.Visits, m.Expired, m.Links, m.Forwarded, m.Accepted, m.Commit, m.Checkpoints, m.CheckpointsFailed,
			m.CheckpointBytes, m.CheckpointTime, m.HandedOver, m.Taken, m.Again, m.ReadyTime,
			m.LeftOut, m.Reports, m.Claims, m.Merged, m.Dissolved, m.Dispatches, m.Compared, m.DispatchDropped)
	}
	return m
}
