package search

import (
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

// Searches are counted by their outcome, asked for as a page or as JSON, and answered ones are
// timed. Requests that are no search are not counted.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	ends := map[string]error{"fine": nil, "partly": &ask.IncompleteError{Missing: []int{1}, Shards: 4}, "nobody": &ask.IncompleteError{Missing: []int{0, 1}, Shards: 2},
		"broken": errors.New("it is damaged"), "busy": web.ErrBusy}
	f := &fake{answer: func(ctx context.Context, r crawl.SearchRequest) (crawl.SearchAnswer, error) {
		if r.Query == "gone" {
			return crawl.SearchAnswer{}, ctx.Err()
		}
		return crawl.SearchAnswer{}, ends[r.Query]
	}}
	w := New(Options{Crawl: f, Metrics: m})
	for q := range ends {
		for _, path := range []string{"/search?q=", "/api/v1/search?q="} {
			get(t, w, path+q)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	w.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(gone, "GET", "/search?q=gone", nil))
	for _, path := range []string{"/search", "/api/v1/search", "/api/v1/search?q=x&page=none", "/opensearch.xml"} {
		get(t, w, path)
	}
	got, want := map[string]float64{}, map[string]float64{"answered": 2, "partial": 2, "busy": 2, "failed": 4, "given_up": 1}
	for _, outcome := range outcomes {
		got[outcome] = testutil.ToFloat64(m.searches.WithLabelValues(outcome))
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "curtsy_searchweb_search_seconds" && f.GetMetric()[0].GetHistogram().GetSampleCount() != 4 {
			t.Errorf("timed: %v, want four", f)
		}
	}
	if problems, err := testutil.GatherAndLint(reg); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
	if _, err := NewMetrics(reg); err == nil {
		t.Error("they are registered twice")
	}
}
