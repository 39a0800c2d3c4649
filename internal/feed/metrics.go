package feed

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics count what the feeds of a process do, by the name of the sink.
type Metrics struct {
	behind                 *prometheus.GaugeVec
	sent, refused, failure *prometheus.CounterVec
}

// NewMetrics registers the metrics of feeds.
func NewMetrics(reg prometheus.Registerer) (*Metrics, error) {
	label := []string{"feed"}
	m := &Metrics{
		behind:  prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "curtsy_feed_lag", Help: "Changes that the sink has not acknowledged."}, label),
		sent:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_feed_sent_total", Help: "Changes that the sink has acknowledged."}, label),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_feed_refused_total", Help: "Of these, changes that it refused for good."}, label),
		failure: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_feed_failures_total", Help: "Attempts that failed and are made again."}, label),
	}
	for _, c := range []prometheus.Collector{m.behind, m.sent, m.refused, m.failure} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Events are the events of a sink, which the metrics count.
func (m *Metrics) Events(sink string) Events {
	return Events{
		Sent: func(changes, refused int) {
			m.sent.WithLabelValues(sink).Add(float64(changes))
			m.refused.WithLabelValues(sink).Add(float64(refused))
		},
		Failed: func(error) { m.failure.WithLabelValues(sink).Inc() },
		Behind: func(changes int64) { m.behind.WithLabelValues(sink).Set(float64(changes)) },
	}
}
