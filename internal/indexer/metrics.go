package indexer

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
)

// metrics follow the conventions of Prometheus. No label contains a host or a URL.
type metrics struct {
	pagesStored, unchanged, deleted, late, bytes, failed, unreadable, rebuilds, notMoved prometheus.Counter
	commit                                                                               prometheus.Histogram
	// By direction.
	moves *prometheus.HistogramVec
	// By step and outcome, and by step. No label contains a query.
	questions *prometheus.CounterVec
	searching *prometheus.HistogramVec
}

func newMetrics(reg prometheus.Registerer, x *Indexer) (*metrics, error) {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "curtsy", Subsystem: "indexer", Name: name, Help: help})
	}
	m := &metrics{
		pagesStored: counter("pages_stored_total", "New and changed pages that were stored."),
		unchanged:   counter("pages_unchanged_total", "Pages that were fetched again and had not changed."),
		deleted:     counter("pages_deleted_total", "Pages forgotten, or recorded as not to be stored."),
		late:        counter("pages_late_total", "Pages received that were not newer than the stored copy."),
		bytes:       counter("bytes_total", "Bytes of the stored bodies, compressed."),
		failed:      counter("pages_failed_total", "Pages lost because they could not be stored."),
		unreadable:  counter("pages_unreadable_total", "Pages quarantined because reading them crashed the process or would have."),
		rebuilds:    counter("rebuilds_total", "Shards started with an empty page store because theirs was lost."),
		notMoved:    counter("move_failures_total", "Moves of a shard's pages that failed; they stayed here."),
		moves: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "indexer", Name: "move_seconds",
			Help: "Time to copy a shard's pages to or from the object store.", Buckets: prometheus.ExponentialBuckets(0.01, 3, 12),
		}, []string{"direction"}),
		commit: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "curtsy", Subsystem: "indexer", Name: "commit_seconds",
			Help: "Time to store a batch of pages, its fsync included.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}),
	}
	m.questions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "curtsy", Subsystem: "indexer", Name: "search_questions_total",
		Help: "Questions of searches by step (a search asks each indexer several) and by outcome: answered, failed, given_up (the search did not wait).",
	}, []string{"step", "outcome"})
	m.searching = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: "curtsy", Subsystem: "indexer", Name: "search_seconds",
		Help: "Time to answer a question of a search.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
	}, []string{"step"})
	for _, step := range []search.Step{search.StepTerms, search.StepSimilar, search.StepWords, search.StepRank, search.StepShow, search.StepSuggest} {
		m.searching.WithLabelValues(string(step))
		for _, outcome := range []string{"answered", "failed", "given_up"} {
			m.questions.WithLabelValues(string(step), outcome)
		}
	}
	if reg == nil {
		return m, nil
	}
	for _, c := range []prometheus.Collector{m.pagesStored, m.unchanged, m.deleted, m.late, m.bytes, m.failed, m.unreadable, m.rebuilds, m.notMoved, m.moves, m.commit,
		m.questions, m.searching, &collector{x}} {
		if err := reg.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// stored counts a commit.
func (m *metrics) stored(res pages.Result, batch []pages.Page, took time.Duration) {
	m.pagesStored.Add(float64(res.Stored))
	m.unchanged.Add(float64(res.Unchanged))
	m.deleted.Add(float64(res.Deleted))
	m.late.Add(float64(res.Late))
	n := 0
	for i := range batch {
		n += len(batch[i].Body)
	}
	m.bytes.Add(float64(n))
	m.commit.Observe(took.Seconds())
}

// moved counts a move; direction is in or out.
func (m *metrics) moved(direction string, took time.Duration) {
	m.moves.WithLabelValues(direction).Observe(took.Seconds())
}

// searched counts a search. ctx is that of the question, and ends when its sender is gone. A step
// that this version does not know is not counted under its name, because the name came from
// outside.
func (m *metrics) searched(ctx context.Context, step search.Step, err error, took time.Duration) {
	switch step {
	case search.StepTerms, search.StepSimilar, search.StepWords, search.StepRank, search.StepShow:
	default:
		step = "unknown"
	}
	outcome := "answered"
	switch {
	case err != nil && ctx.Err() != nil:
		outcome = "given_up"
	case err != nil:
		outcome = "failed"
	}
	m.questions.WithLabelValues(string(step), outcome).Inc()
	m.searching.WithLabelValues(string(step)).Observe(took.Seconds())
}

var (
	pagesDesc  = prometheus.NewDesc("curtsy_indexer_pages", "Pages stored.", nil, nil)
	storedDesc = prometheus.NewDesc("curtsy_indexer_pages_bytes", "Bytes of the stored pages, decoded.", nil, nil)
	fileDesc   = prometheus.NewDesc("curtsy_indexer_store_bytes", "Size of the page stores' files.", nil, nil)
	shardsDesc = prometheus.NewDesc("curtsy_indexer_shards", "Shards owned.", nil, nil)
	pausedDesc = prometheus.NewDesc("curtsy_indexer_paused", "1 while nothing is stored because the disk has too little free space.", nil, nil)
	behindDesc = prometheus.NewDesc("curtsy_indexer_search_behind_pages", "Page changes that are not in the search index yet.", nil, nil)
)

// collector reads the figures of the stores when Prometheus asks for them.
type collector struct{ x *Indexer }

// Describe is for prometheus.Collector.
func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{pagesDesc, storedDesc, fileDesc, shardsDesc, behindDesc, pausedDesc} {
		ch <- d
	}
}

// Collect is for prometheus.Collector.
func (c *collector) Collect(ch chan<- prometheus.Metric) {
	var n, bytes, file, behind int64
	held := c.x.ownShards()
	for _, s := range held {
		st := s.store.Stats()
		n, bytes, file = n+st.Pages, bytes+st.Bytes, file+st.FileBytes
		behind += s.behind(c.x.o.Search)
	}
	var paused int64
	if full, _ := c.x.space(); full != nil {
		paused = 1
	}
	for d, v := range map[*prometheus.Desc]int64{pagesDesc: n, storedDesc: bytes, fileDesc: file, shardsDesc: int64(len(held)),
		behindDesc: behind, pausedDesc: paused} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v))
	}
}
