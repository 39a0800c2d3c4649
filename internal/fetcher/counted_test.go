package fetcher

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Responses are counted by their codes, of which a site cannot invent new ones. Requests are
// counted by how long they took, and robots.txt files by what their answer means.
func TestRequestsAreCounted(t *testing.T) {
	virtual(t, func(t *testing.T) {
		codes := map[string]int{"/robots.txt": 200, "/a": 200, "/gone": 410, "/made-up": 477, "/b": 200}
		srv := wiretest.HTTP(t, simnet.Of(t), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Second)
			w.WriteHeader(codes[r.URL.Path])
		}))
		defer srv.Close()
		reg := prometheus.NewPedanticRegistry()
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, strings.TrimPrefix(srv.URL, "http://")), Options{Registerer: reg})
		id := d.grant(visitTo(t, "http://h.example/a", "http://h.example/gone", "http://h.example/made-up", "http://h.example/b"))
		if out := d.outcome(id); out.Requests != 5 {
			t.Fatalf("%d requests", out.Requests)
		}
		all, err := reg.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]float64{}
		for _, f := range all {
			for _, m := range f.Metric {
				key := f.GetName()
				for _, l := range m.Label {
					key += " " + l.GetValue()
				}
				switch f.GetType().String() {
				case "COUNTER":
					got[key] = m.Counter.GetValue()
				case "HISTOGRAM":
					got[key] = float64(m.Histogram.GetSampleCount())
					if sum := m.Histogram.GetSampleSum(); f.GetName() == "curtsy_fetcher_request_seconds" && sum != 5 || sum < 0 || sum > 10 {
						t.Errorf("%s took %v s in all", key, sum)
					}
				}
			}
		}
		for key, want := range map[string]float64{
			"curtsy_fetcher_responses_total 200": 3, "curtsy_fetcher_responses_total 410": 1, "curtsy_fetcher_responses_total 4xx": 1,
			"curtsy_fetcher_responses_total 477": 0, "curtsy_fetcher_request_seconds": 5, "curtsy_fetcher_requests_total": 5,
			"curtsy_fetcher_robots_total " + crawl.RobotsParsed.String(): 1, "curtsy_fetcher_robots_total " + crawl.RobotsUnreachable.String(): 0,
		} {
			if got[key] != want {
				t.Errorf("%s is %v, want %v", key, got[key], want)
			}
		}
	})
}
