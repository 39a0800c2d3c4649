package dashboard

import (
	"context"
	"fmt"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
)

// endedView is how a crawl ended.
type endedView struct {
	At     time.Time // zero: not known
	TookS  float64   // seconds in which it ran; 0: not known
	Rate   string    // URLs a second while it ran; "": not known
	Result string    // in sentences
}

// endingOf describes how a crawl ended; nil while it runs, or if it may continue by itself.
func endingOf(ctx context.Context, c *asker.Crawl, st crawl.Status, all crawl.History) *endedView {
	if st.State != "done" && st.State != "stopped" || st.Discovered == 0 {
		return nil
	}
	e := &endedView{Result: resultOf(st)}
	// The log has the exact time; samples of the history may be minutes apart. If the log does not
	// answer, the history is good enough.
	if log, err := c.Log(ctx, crawl.LogQuery{Limit: lastLines}); err == nil {
		for _, l := range log.Lines {
			if l.Audit == "" && l.Time.After(e.At) {
				e.At = l.Time
			}
		}
	}
	n := len(all.Samples)
	if e.At.IsZero() && n > 0 {
		e.At = all.Samples[n-1].At
	}
	began := c.Spec.Created
	if began.IsZero() || began.After(e.At) {
		began = all.Since
	}
	if !began.IsZero() && e.At.After(began) {
		e.TookS = (e.At.Sub(began) - silent(all, began, e.At)).Seconds()
	}
	if e.TookS > 0 {
		e.Rate = rateOf(float64(st.Stored+st.Redirected+st.Refused+st.Failed) / e.TookS)
	}
	return e
}

// lastLines is how many lines of the log are searched for the last one about a URL.
const lastLines = 20

// silent is how long the crawl did not run between two times, by its history.
func silent(h crawl.History, from, to time.Time) (d time.Duration) {
	for i := 1; i < len(h.Samples); i++ {
		was, is := h.Samples[i-1].At, h.Samples[i].At
		if h.Samples[i].Silent && was.After(from) && !is.After(to) {
			d += is.Sub(was)
		}
	}
	return d
}

// resultOf describes the result of a crawl in one or two sentences.
func resultOf(st crawl.Status) string {
	s := fmt.Sprintf("%s of %s %s stored. %s %s refused and %s failed.",
		count(st.Stored, "page"), count(st.Hosts, "host"), isOrAre(st.Stored), count(st.Refused, "URL"), wasOrWere(st.Refused), humanize.Comma(st.Failed))
	if st.Queued > 0 {
		s += " " + count(st.Queued, "URL") + " " + isOrAre(st.Queued) + " still queued."
	}
	return s
}

func isOrAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func wasOrWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
