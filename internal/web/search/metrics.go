package search

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/web"
)

// Metrics count the searches that people and programs ask for over HTTP. They follow the
// conventions of Prometheus; no label contains a query. They may be used by many goroutines.
type Metrics struct {
	searches *prometheus.CounterVec // by outcome
	took     prometheus.Histogram
}

// outcomes are those of a search.
var outcomes = []string{"answered", "partial", "busy", "failed", "given_up"}

// NewMetrics makes metrics and registers them.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "curtsy", Subsystem: "searchweb", Name: "searches_total",
			Help: "Searches over HTTP by outcome: answered, partial (shards were missing), busy (too many at the same time), failed, given_up (the client did not wait).",
		}, []string{"outcome"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "searchweb", Name: "search_seconds",
			Help: "Time to answer a search asked for over HTTP, in full or in part, waiting for a turn included.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	for _, outcome := range outcomes {
		m.searches.WithLabelValues(outcome)
	}
	return m, errors.Join(reg.Register(m.searches), reg.Register(m.took))
}

// searched counts a search that began at a time and ended with err. gone reports that the client
// had left.
func (m *Metrics) searched(began time.Time, err error, gone bool) {
	if m == nil {
		return
	}
	outcome := "failed"
	var missing *ask.IncompleteError
	switch {
	case err == nil:
		outcome = "answered"
	case errors.As(err, &missing) && len(missing.Missing) < missing.Shards:
		outcome = "partial"
	case gone: // perhaps while the question waited
		outcome = "given_up"
	case errors.Is(err, web.ErrBusy):
		outcome = "busy"
	}
	m.searches.WithLabelValues(outcome).Inc()
	if outcome == "answered" || outcome == "partial" {
		m.took.Observe(time.Since(began).Seconds())
	}
}
