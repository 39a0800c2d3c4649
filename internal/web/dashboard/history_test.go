package dashboard

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// past is the history of a crawl that began at some time, paused, and continued.
func past(at time.Time) crawl.History {
	sample := func(minute int, requests, stored, queued int64, silent bool) crawl.HistorySample {
		return crawl.HistorySample{At: at.Add(time.Duration(minute) * time.Minute), Requests: requests, Stored: stored, Queued: queued, Silent: silent}
	}
	return crawl.History{Since: at, StepS: 60, Samples: []crawl.HistorySample{
		sample(0, 0, 0, 10, false), sample(1, 120, 60, 100, false), sample(2, 120, 60, 100, true), sample(3, 360, 30, 50, false),
	}}
}

// A rate is the difference of two samples, and never below 0. While the crawl does not run there is
// none.
func TestChartsOf(t *testing.T) {
	all := chartsOf(past(time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)), false)
	if len(all) != 2 || len(all[0].Lines) != 2 {
		t.Fatalf("%+v", all)
	}
	if got := all[0].Lines[0]; got.Last != "4/s" || strings.Count(got.Path, "M") != 2 || strings.Count(got.Path, "L") != 1 {
		t.Errorf("requests %+v", got)
	}
	if got := all[0].Lines[1]; got.Last != "0/s" {
		t.Errorf("pages stored %+v", got)
	}
	if got := chartsOf(past(time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local)), true)[0].Lines[1]; got.Last != "peak 1/s" {
		t.Errorf("pages stored, of a crawl that is over: %+v", got)
	}
	if got := all[1].Lines[0]; got.Last != "50" || strings.Count(got.Path, "L") != 3 {
		t.Errorf("queued %+v", got)
	}
	if chartsOf(crawl.History{}, false) != nil {
		t.Error("of nothing there is a chart")
	}
}

// The last sample is of this moment, and may follow the one before at once: by itself it gives no
// rate.
func TestARateTakesTime(t *testing.T) {
	h := past(time.Date(2026, 11, 22, 12, 0, 0, 0, time.Local))
	last := h.Samples[3]
	last.At, last.Requests = last.At.Add(time.Second), last.Requests+366
	h.Samples = append(h.Samples[:3:3], crawl.HistorySample{At: h.Samples[3].At, Requests: 360, Silent: true}, last)
	if got := chartsOf(h, false)[0].Lines[0]; got.Last != "366/s" {
		t.Errorf("with nothing to be put together with: %+v", got)
	}
	h.Samples[2].Silent, h.Samples[3].Silent = false, false
	if got := chartsOf(h, false)[0].Lines[0]; got.Last != "9.9/s" {
		t.Errorf("606 requests in 61 s: %+v", got)
	}
}

// The span is one of the known ones.
func TestSpan(t *testing.T) {
	c := browse(t, shows(Options{}, running()))
	for query, on := range map[string]string{"": "30 min", "?span=7d": "7 days", "?span=all": "all"} {
		if code, body := c.get("/" + query); code != 200 || !strings.Contains(body, `aria-current="true">`+on+"<") {
			t.Errorf("%q: %d %s", query, code, body)
		}
	}
	if code, body := c.get("/?span=%3Cb%3E"); code != http.StatusBadRequest || !strings.Contains(body, "use 30m, 6h, 7d or all") || strings.Contains(body, "<b>\"") {
		t.Errorf("another: %d %s", code, body)
	}
}
