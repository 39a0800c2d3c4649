package asker

import (
	"context"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
)

// historyPoints is the approximate number of samples in an answer.
const historyPoints = 400

// History is the past of the crawl: the last span before now or, of a stopped crawl, before its
// end. A span of 0 is its whole time. The samples of all shards are added up at the same moments.
// Their distance is the smallest of crawl.HistorySteps that gives no more than a few hundred
// samples. Each shard reads a few thousand short records at most.
func (c *Crawl) History(ctx context.Context, span time.Duration) (crawl.History, error) {
	if span <= 0 {
		// The step depends on how long the crawl has run.
		all, err := c.history(ctx, crawl.HistoryRequest{Step: crawl.HistorySteps[len(crawl.HistorySteps)-1]})
		if err != nil || len(all.Samples) == 0 {
			return all, err
		}
		span = max(all.Samples[len(all.Samples)-1].At.Sub(all.Since), time.Second)
	}
	step := crawl.HistorySteps[len(crawl.HistorySteps)-1]
	for _, s := range crawl.HistorySteps {
		if span <= historyPoints*s {
			step = s
			break
		}
	}
	return c.history(ctx, crawl.HistoryRequest{Span: span, Step: step})
}

func (c *Crawl) history(ctx context.Context, q crawl.HistoryRequest) (crawl.History, error) {
	shards := map[int]crawl.HistoryPart{}
	err := questions.History.Each(ctx, c, q, func(p crawl.HistoryPart) error {
		was, there := shards[p.Shard]
		switch {
		case there && was.Epoch == p.Epoch:
			was.Samples = append(was.Samples, p.Samples...)
			shards[p.Shard] = was
		case !there || was.Epoch < p.Epoch:
			shards[p.Shard] = p
		}
		return nil
	})
	return sumHistory(shards, q), err
}

// sumHistory adds up the samples of shards. A sample is valid until the next sample of its shard.
func sumHistory(shards map[int]crawl.HistoryPart, q crawl.HistoryRequest) crawl.History {
	h := crawl.History{StepS: q.Step.Seconds(), Samples: []crawl.HistorySample{}}
	var end time.Time
	for _, p := range shards {
		if h.Since.IsZero() || p.Since.Before(h.Since) {
			h.Since = p.Since
		}
		for _, s := range p.Samples {
			if s.At.After(end) {
				end = s.At
			}
		}
	}
	if end.IsZero() {
		return h
	}
	from := h.Since
	if q.Span > 0 && end.Add(-q.Span).After(from) {
		from = end.Add(-q.Span)
	}
	var times []time.Time
	for t := end.Truncate(q.Step); !t.Before(from); t = t.Add(-q.Step) {
		times = append(times, t)
	}
	slices.Reverse(times)
	if len(times) == 0 || times[len(times)-1].Before(end) {
		times = append(times, end)
	}
	h.Samples = make([]crawl.HistorySample, len(times))
	for i, t := range times {
		h.Samples[i] = crawl.HistorySample{At: t, Silent: true}
	}
	for _, p := range shards {
		next := 0
		var last crawl.HistorySample
		for i, t := range times {
			for next < len(p.Samples) && !p.Samples[next].At.After(t) {
				last = p.Samples[next]
				next++
			}
			h.Samples[i].Add(last)
			if !last.At.IsZero() && t.Sub(last.At) < max(q.Step, silence) {
				h.Samples[i].Silent = false
			}
		}
	}
	return h
}

// silence is the longest time between two samples of a running frontier, with a margin.
const silence = 80 * time.Second
