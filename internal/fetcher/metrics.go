package fetcher

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
)

// stage is a part of the work on a page, for the table of what a page costs.
type stage int

const (
	stageFetch   stage = iota // from asking the gate to the last byte; waiting included
	stageScan                 // charset, one tokenizer pass, resolving and sorting links
	stagePack                 // compressing and digest
	stagePublish              // encoding messages and waiting for their acknowledgements
	stages
)

var stageNames = [stages]string{"fetch", "scan", "pack", "publish"}

// metrics are a fetcher's counters. No label ever names a host or a URL.
type metrics struct {
	stageTime  [stages]nanos
	requests   prometheus.Counter
	bytes      prometheus.Counter
	visits     prometheus.Counter
	errands    prometheus.Counter
	dropped    prometheus.Counter
	lost       prometheus.Counter
	turnedAway prometheus.Counter
	violations prometheus.Counter
	running    prometheus.Gauge
	results    *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := new(metrics)
	var all []prometheus.Collector
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
		all = append(all, c)
		return c
	}
	for i := range m.stageTime {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "curtsy_fetcher_stage_seconds_total", Help: "Time spent on pages, by stage; fetch includes waiting.",
			ConstLabels: prometheus.Labels{"stage": stageNames[i]},
		}, m.stageTime[i].seconds))
	}
	m.results = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "curtsy_fetcher_results_total", Help: "URLs by what became of them in a visit.",
	}, []string{"class", "reason"})
	m.running = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "curtsy_fetcher_visits_running", Help: "Visits being carried out.",
	})
	all = append(all, m.results, m.running)
	m.requests = counter("curtsy_fetcher_requests_total", "Requests sent to sites, robots.txt included.")
	m.bytes = counter("curtsy_fetcher_body_bytes_total", "Body bytes read from the wire.")
	m.visits = counter("curtsy_fetcher_visits_total", "Visits carried out.")
	m.errands = counter("curtsy_fetcher_errands_total", "Errands done.")
	m.dropped = counter("curtsy_fetcher_visits_dropped_total", "Visits whose results could not be published.")
	m.lost = counter("curtsy_fetcher_visits_lost_total", "Visits whose lease was not prolonged by the shard's owner.")
	m.turnedAway = counter("curtsy_fetcher_visits_turned_away_total", "Visits given back at once because the pages of their shard found no room.")
	m.violations = counter("curtsy_politeness_violations_total", "Requests stopped at the last moment because they would have been impolite. Must be 0.")
	if r == nil {
		return m, nil
	}
	for _, c := range all {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// stage adds the time since start to a stage.
func (m *metrics) stage(s stage, start time.Time) { m.stageTime[s].Add(int64(time.Since(start))) }

func (m *metrics) count(results []crawl.Result) {
	for i := range results {
		m.results.WithLabelValues(results[i].Class.String(), string(results[i].Reason)).Inc()
	}
}

// StageSeconds is the time spent on pages so far, by stage ("fetch", which includes waiting, "scan", "pack", "publish").
// It may be called at any time.
func (f *Fetcher) StageSeconds() map[string]float64 {
	out := make(map[string]float64, stages)
	for i := range f.met.stageTime {
		out[stageNames[i]] = f.met.stageTime[i].seconds()
	}
	return out
}

// nanos adds up durations.
type nanos struct{ atomic.Int64 }

func (n *nanos) seconds() float64 { return time.Duration(n.Load()).Seconds() }
