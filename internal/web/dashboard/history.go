package dashboard

import (
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

// spans are the lengths of time that the charts of the overview can show.
var spans = []struct {
	word, text string
	span       time.Duration // 0: all there is
}{
	{"30m", "30 min", 30 * time.Minute}, {"6h", "6 h", 6 * time.Hour}, {"7d", "7 days", 7 * 24 * time.Hour}, {"all", "all", 0},
}

// spanLink leads to the same page with another span.
type spanLink struct {
	Text, URL string
	On        bool
}

// spanOf is the span that a request asks for, with links to all spans. The default for a crawl that
// has ended is all of its time.
func spanOf(r *request, over bool) (span time.Duration, links []spanLink, err error) {
	asked := r.URL.Query().Get("span")
	known := false
	for i, s := range spans {
		on := asked == s.word || asked == "" && (!over && i == 0 || over && s.span == 0)
		if on {
			span, known = s.span, true
		}
		links = append(links, spanLink{s.text, "/?span=" + s.word, on})
	}
	if !known {
		return 0, nil, web.Wrong("There is no span %q; use 30m, 6h, 7d or all.", text(asked, 20))
	}
	return span, links, nil
}

// chartsOf draws the course of a crawl: its rate, and its queue. over reports that the crawl has
// ended, so that its last rate is of no interest.
func chartsOf(h crawl.History, over bool) (all []chart) {
	n := len(h.Samples)
	if n < 2 {
		return nil
	}
	times := make([]time.Time, n)
	requests, stored, queued, done := nothing(n), nothing(n), nothing(n), nothing(n)
	for i, s := range h.Samples {
		times[i], queued[i], done[i] = s.At, float64(s.Queued), float64(s.Stored)
		if i == 0 || s.Silent {
			continue
		}
		was := h.Samples[i-1]
		// The last sample is of this moment. Compared with one a moment before, a visit that has
		// just reported its results would look like an impossible rate.
		if soon := time.Duration(h.StepS * float64(time.Second) / 2); i == n-1 && i > 1 && !was.Silent && s.At.Sub(was.At) < soon {
			was = h.Samples[i-2]
		}
		if took := s.At.Sub(was.At).Seconds(); took > 0 {
			requests[i] = max(float64(s.Requests-was.Requests), 0) / took
			// Pages that are gone from their sites reduce the number.
			stored[i] = max(float64(s.Stored-was.Stored), 0) / took
		}
	}
	// A crawl that has just started has only one rate, that of its whole time.
	requests[0], stored[0] = requests[1], stored[1]
	whole := func(v float64) string { return humanize.Comma(int64(math.Round(v))) }
	if c, ok := draw("Rate", "", over, times, rateOf, curve{"requests", "flight", requests}, curve{"pages stored", "stored", stored}); ok {
		all = append(all, c)
	}
	if c, ok := draw("URLs", "", false, times, whole, curve{"queued and in flight", "queued", queued}, curve{"pages stored", "stored", done}); ok {
		all = append(all, c)
	}
	return all
}

// nothing is a curve without values.
func nothing(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}
