package agenthost

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/mobile"
)

// metrics are the metrics of a Host.
type metrics struct {
	runs, refusals        *prometheus.CounterVec
	documents, read, sent prometheus.Counter
	cpu                   prometheus.Counter
}

func newMetrics(reg *prometheus.Registry, running func() float64) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	m := &metrics{
		runs:      prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_agenthost_runs_total", Help: "Runs of robots that have ended, by outcome."}, []string{"outcome"}),
		refusals:  prometheus.NewCounterVec(prometheus.CounterOpts{Name: "curtsy_agenthost_refusals_total", Help: "Requests that were refused, by status."}, []string{"status"}),
		documents: counter("curtsy_agenthost_documents_total", "Documents that robots opened."),
		read:      counter("curtsy_agenthost_read_bytes_total", "Bytes of documents that robots read."),
		sent:      counter("curtsy_agenthost_result_bytes_total", "Bytes of results of robots, compressed."),
		cpu:       counter("curtsy_agenthost_cpu_seconds_total", "Processor time of robots."),
	}
	if reg != nil {
		reg.MustRegister(m.runs, m.refusals, m.documents, m.read, m.sent, m.cpu,
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "curtsy_agenthost_running", Help: "Robots that run now."}, running))
	}
	return m
}

func (m *metrics) ended(s mobile.Summary) {
	m.runs.WithLabelValues(s.Outcome).Inc()
	m.documents.Add(float64(s.Documents))
	m.read.Add(float64(s.Read))
	m.sent.Add(float64(s.Sent))
	m.cpu.Add(s.CPU)
}

func (m *metrics) refused(status int) { m.refusals.WithLabelValues(strconv.Itoa(status)).Inc() }
