package look

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// The recent activity of a crawl is described for the time for which it is known.
func TestSinceText(t *testing.T) {
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	was := crawl.HistorySample{At: at, Requests: 1000, Stored: 800, Failed: 7}
	for _, tt := range []struct {
		after time.Duration
		is    crawl.HistorySample
		want  string
	}{
		{time.Minute, crawl.HistorySample{Requests: 1060, Stored: 850, Failed: 9}, "in the last minute: 60 requests, 50 pages stored, 2 failed"},
		{58 * time.Second, crawl.HistorySample{Requests: 1001, Stored: 801, Failed: 7}, "in the last minute: 1 request, 1 page stored"},
		{14 * time.Second, crawl.HistorySample{Requests: 1000, Stored: 790, Failed: 7}, "in the last 14 seconds: 0 requests, 0 pages stored"},
		{time.Second, crawl.HistorySample{Requests: 1002, Stored: 800, Failed: 8}, "in the last second: 2 requests, 0 pages stored, 1 failed"},
		{100 * time.Millisecond, crawl.HistorySample{Requests: 1002}, ""},
	} {
		tt.is.At = at.Add(tt.after)
		if got := sinceText(was, tt.is); got != tt.want {
			t.Errorf("after %v: %q, want %q", tt.after, got, tt.want)
		}
	}
}
