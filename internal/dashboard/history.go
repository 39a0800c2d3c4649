package dashboard

import (
	"math"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/crawl"
)

// spans are how far back the overview's charts may go.
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

// spanOf is the span that a request asks for, and links to all there are. Of a crawl that is over
// it is all of its time unless the request names another.
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
		return 0, nil, wrong("There is no span %q; use 30m, 6h, 7d or all.", text(asked, 20))
	}
	return span, links, nil
}

// chartsOf draws how a crawl went: how fast, and how much was before it. over says that it has
// ended, so that its last rate is no news.
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
		// The last sample is of now. Compared with a moment before, a visit that has just reported
		// all it did would be a rate that nobody ever had.
		if soon := time.Duration(h.StepS * float64(time.Second) / 2); i == n-1 && i > 1 && !was.Silent && s.At.Sub(was.At) < soon {
			was = h.Samples[i-2]
		}
		if took := s.At.Sub(was.At).Seconds(); took > 0 {
			requests[i] = max(float64(s.Requests-was.Requests), 0) / took
			// Pages that are gone from their sites make them fewer.
			stored[i] = max(float64(s.Stored-was.Stored), 0) / took
		}
	}
	// A crawl that began a moment ago has one rate, which was that of all the time.
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
