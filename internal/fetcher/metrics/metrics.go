// Package metrics has the counters of a fetcher. They may be used concurrently.
package metrics

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Stage is a part of the work on a page, for the table of what a page costs.
type Stage int

// The stages.
const (
	Fetch    Stage = iota // from asking the gate to the last byte; waiting included
	Scan                  // charset, one tokenizer pass, resolving and sorting links
	Pack                  // compressing and digest
	Document              // reading documents that are no pages, in processes of their own
	Rules                 // reading pages by site rules
	Render                // running the scripts of pages; what they request is in Fetch
	Publish               // encoding messages and waiting for their acknowledgements
	stages
)

var stageNames = [stages]string{"fetch", "scan", "pack", "document", "rules", "render", "publish"}

// Metrics are the counters of a fetcher. No label ever names a host or a URL.
type Metrics struct {
	stageTime  [stages]nanos
	Requests   prometheus.Counter
	Signed     prometheus.Counter
	Bytes      prometheus.Counter
	Visits     prometheus.Counter
	Aux        prometheus.Counter
	Dropped    prometheus.Counter
	Lost       prometheus.Counter
	Returned   prometheus.Counter
	Limited    prometheus.Counter
	Skipped    prometheus.Counter
	Violations prometheus.Counter
	Running    prometheus.Gauge
	results    *prometheus.CounterVec
	responses  *prometheus.CounterVec // by code
	took       prometheus.Histogram
	Robots     *prometheus.CounterVec // by state

	Dispatches    *prometheus.CounterVec // of mobile robots, by state
	DispatchPages prometheus.Counter
	DispatchBytes prometheus.Counter
}

// New makes a fetcher's counters and registers them. With nil they are registered nowhere.
func New(r prometheus.Registerer) (*Metrics, error) {
	m := new(Metrics)
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
		Name: "curtsy_fetcher_results_total", Help: "URLs by their outcome in a visit.",
	}, []string{"class", "reason"})
	m.Running = prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "curtsy_fetcher_visits_running", Help: "Running visits.",
	})
	m.responses = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "curtsy_fetcher_responses_total", Help: "Responses of sites by status code; unregistered codes count as their class, such as 5xx.",
	}, []string{"code"})
	m.took = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "curtsy_fetcher_request_seconds", Help: "Time from the first byte of a request sent to a site to the last byte of its response, or to its failure.",
		Buckets: prometheus.ExponentialBuckets(0.005, 2, 15),
	})
	m.Robots = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "curtsy_fetcher_robots_total",
		Help: "Requests for robots.txt files, by the resulting state: parsed, unavailable (everything is allowed), unreachable (nothing is allowed), pending (it is on another host).",
	}, []string{"state"})
	for _, s := range []crawl.RobotsState{crawl.RobotsParsed, crawl.RobotsUnavailable, crawl.RobotsUnreachable, crawl.RobotsPending} {
		m.Robots.WithLabelValues(s.String())
	}
	m.Dispatches = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "curtsy_fetcher_dispatches_total",
		Help: "Mobile robots that were sent, by how that ended: done, cut (what arrived counts), failed (the server may accept one later), refused, dropped (not wanted any more).",
	}, []string{"state"})
	for _, s := range []string{crawl.DispatchDone, crawl.DispatchCut, crawl.DispatchFailed, crawl.DispatchRefused, crawl.DispatchDropped} {
		m.Dispatches.WithLabelValues(s)
	}
	all = append(all, m.results, m.Running, m.responses, m.took, m.Robots, m.Dispatches)
	m.DispatchPages = counter("curtsy_fetcher_dispatch_pages_total", "Pages that mobile robots brought, unchanged ones included.")
	m.DispatchBytes = counter("curtsy_fetcher_dispatch_bytes_total", "Bytes that were sent to servers for mobile robots or received from them.")
	m.Requests = counter("curtsy_fetcher_requests_total", "Requests sent to sites, robots.txt included.")
	m.Signed = counter("curtsy_fetcher_requests_signed_total", "Requests that were signed.")
	m.Bytes = counter("curtsy_fetcher_body_bytes_total", "Body bytes read from the wire.")
	m.Visits = counter("curtsy_fetcher_visits_total", "Visits that are over.")
	m.Aux = counter("curtsy_fetcher_errands_total", "Auxiliary requests that are done.")
	m.Dropped = counter("curtsy_fetcher_visits_dropped_total", "Visits whose results could not be published.")
	m.Lost = counter("curtsy_fetcher_visits_lost_total", "Visits whose lease the shard's owner did not renew.")
	m.Returned = counter("curtsy_fetcher_visits_turned_away_total", "Visits returned at once because the page queue of their shard was full.")
	m.Limited = counter("curtsy_fetcher_visits_without_place_total", "Visits returned because other hosts at the same address keep it busy.")
	m.Skipped = counter("curtsy_fetcher_header_lines_skipped_total", "Lines in response headers that could not be read and were ignored.")
	m.Violations = counter("curtsy_politeness_violations_total", "Requests stopped at the last moment because they would have been impolite. Must be 0.")
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

// Spent adds the time since start to a stage.
func (m *Metrics) Spent(s Stage, start time.Time) { m.stageTime[s].Add(int64(time.Since(start))) }

// Count counts the results of a visit.
func (m *Metrics) Count(results []crawl.Result) {
	for i := range results {
		m.results.WithLabelValues(results[i].Class.String(), string(results[i].Reason)).Inc()
	}
}

// Over counts a request that has ended.
func (m *Metrics) Over(x *crawl.Exchange) {
	if x.Status != 0 {
		m.responses.WithLabelValues(codeLabel(x.Status)).Inc()
	}
	if !x.Unsent {
		m.took.Observe(x.End.Sub(x.Start).Seconds())
	}
}

// codeLabel returns the label of a status code. A site that invents codes makes no new labels.
func codeLabel(status int) string {
	if http.StatusText(status) != "" {
		return strconv.Itoa(status)
	}
	return strconv.Itoa(status/100) + "xx"
}

// StageSeconds returns the time spent on pages so far, by stage ("fetch", which includes waiting,
// "scan", "pack", "document", "publish").
func (m *Metrics) StageSeconds() map[string]float64 {
	out := make(map[string]float64, stages)
	for i := range m.stageTime {
		out[stageNames[i]] = m.stageTime[i].seconds()
	}
	return out
}

// nanos adds up durations.
type nanos struct{ atomic.Int64 }

func (n *nanos) seconds() float64 { return time.Duration(n.Load()).Seconds() }
