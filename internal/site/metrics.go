package site

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// metrics are the metrics of a Site.
type metrics struct {
	changes  *prometheus.CounterVec
	scans    prometheus.Counter
	scanTime prometheus.Gauge
	failures prometheus.Counter
	requests *prometheus.CounterVec
	mails    *prometheus.CounterVec
}

func newMetrics(reg *prometheus.Registry, db *boltfile.File, w *watcher) *metrics {
	m := &metrics{
		changes:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_rupd_changes_total", Help: "Files found new, changed or deleted."}, []string{"kind"}),
		scans:    prometheus.NewCounter(prometheus.CounterOpts{Name: "curtsy_rupd_scans_total", Help: "Complete scans of the document root."}),
		scanTime: prometheus.NewGauge(prometheus.GaugeOpts{Name: "curtsy_rupd_scan_seconds", Help: "How long the last complete scan took."}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "curtsy_rupd_scan_failures_total", Help: "Times that the document root could not be compared."}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_rupd_requests_total", Help: "Requests of robots, by status."}, []string{"status"}),
		mails:    prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_rupd_mails_total", Help: "Mails by outcome: sent, put off, refused, given up, dropped."}, []string{"result"}),
	}
	reg.MustRegister(m.changes, m.scans, m.scanTime, m.failures, m.requests, m.mails,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "curtsy_rupd_unwatched_directories", Help: "Directories that the kernel did not allow to watch; they are scanned instead."},
			func() float64 { return float64(w.unwatched()) }),
		size(db, bucketRobots, "curtsy_rupd_registrations", "Registered robots."),
		size(db, bucketSpool, "curtsy_rupd_spooled_mails", "Mails that were not accepted by the relay yet."))
	return m
}

// size is a metric with the number of keys of a small bucket.
func size(db *boltfile.File, bucket []byte, name, help string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
		n := 0
		// An error does not matter: the database is closed, and the process is ending.
		_ = db.View(func(tx *bolt.Tx) error {
			return tx.Bucket(bucket).ForEach(func(_, _ []byte) error { n++; return nil })
		})
		return float64(n)
	})
}

func (m *metrics) change(kinds []kind) {
	words := map[kind]string{added: "new", changed: "change", deleted: "delete"}
	for _, k := range kinds {
		m.changes.WithLabelValues(words[k]).Inc()
	}
}

func (m *metrics) scanned(took time.Duration) {
	m.scans.Inc()
	m.scanTime.Set(took.Seconds())
}

func (m *metrics) request(status int) { m.requests.WithLabelValues(strconv.Itoa(status)).Inc() }
func (m *metrics) mail(result string) { m.mails.WithLabelValues(result).Inc() }
