package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// ending is how a run of a crawl ended.
type ending struct {
	spec   crawl.Spec
	first  crawl.Status // when it began
	status crawl.Status // when it ended
	took   time.Duration
	why    error     // nil: nothing more can be done now; errLimit, errStopped, or the context's
	missed []missed  // seeds that could not be fetched
	asked  int       // how many seeds were checked
	none   bool      // nothing could be fetched at all
	at     time.Time // when

	feeds []error // why systems of --feed do not have all pages

	datasets int64  // that sites announce, as far as is known
	failed   string // a URL that failed in this run or before; "": none is known
	refused  string // the same of one that was refused
}

// errLimit is why a crawl ends that has reached a limit; Status.Limit names the limit.
var errLimit = errors.New("a limit is reached")

// watcher watches a crawl until it has ended.
type watcher struct {
	c       *asker.Crawl
	p       *progress
	log     *slog.Logger
	maxTime time.Duration // 0: as long as it takes
	began   time.Time
	seeds   []canon.URL // given to this run
	end     ending

	notes notes // what was reported
	hooks *attention
	sent  *feeds // nil: there are none
}

// A look costs the frontier a pass over its hosts, so slow looks are made less often.
const (
	lookEvery   = 150 * time.Millisecond
	lookShare   = 25              // at most a 25th of the time
	lookAtLeast = 3 * time.Second // the end is noticed after that at the latest
)

// watch returns when the crawl is done, has reached a limit, or ctx has ended. None of these is an
// error.
func (w *watcher) watch(ctx context.Context, first crawl.Status) error {
	if first.Discovered > 0 {
		w.p.printLine("continuing with %s stored and %s queued", term.Count(first.Stored, "page"), term.Count(first.Queued, "URL"))
	}
	err := w.untilEnd(ctx, first)
	if err == nil {
		w.findExamples(ctx)
	}
	if err == nil && w.end.status.Stored > 0 {
		w.countDatasets(ctx)
	}
	return err
}

// countFor limits how long the end of a crawl is delayed by the questions for its last lines.
const countFor = time.Second

// findExamples finds a URL that failed and one that was refused, also after ctx has ended. The last
// lines of a crawl suggest to ask about these URLs. If the crawl log does not answer soon, the
// lines suggest nothing.
func (w *watcher) findExamples(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countFor)
	defer cancel()
	for _, m := range w.end.missed {
		switch m.x.State {
		case crawl.Failed.String():
			w.end.failed = cmp.Or(w.end.failed, m.x.Canonical)
		case crawl.Refused.String():
			w.end.refused = cmp.Or(w.end.refused, m.x.Canonical)
		}
	}
	last := func(class string) string {
		page, err := w.c.Log(ctx, crawl.LogQuery{Class: class, Limit: 1})
		if err != nil || len(page.Lines) == 0 {
			return ""
		}
		return page.Lines[0].URL
	}
	st := w.end.status
	if w.end.failed == "" && st.Failed > 0 {
		w.end.failed = last("failed")
	}
	if w.end.refused == "" && st.Refused > 0 && st.Failed == 0 {
		w.end.refused = last("refused")
	}
}

// countDatasets counts the datasets in the catalogue, also after ctx has ended. If a shard does not
// answer, no number is shown, because it would be wrong.
func (w *watcher) countDatasets(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countFor)
	defer cancel()
	n := int64(0)
	if err := w.c.Datasets(ctx, func(crawl.DatasetInfo) error { n++; return nil }); err != nil {
		w.log.Info("the datasets were not counted", "err", err)
		return
	}
	w.end.datasets = n
}

// seedsWithin limits the query for the seeds after a time limit has ended the crawl.
const seedsWithin = 5 * time.Second

// overBy ends the watch when run has ended. If the crawl's own time limit ended it, and ctx has not
// ended, it also collects the seeds that were not fetched.
func (w *watcher) overBy(ctx, run context.Context) error {
	w.over(run)
	if ctx.Err() != nil {
		return nil
	}
	ask, cancel := context.WithTimeout(ctx, seedsWithin)
	defer cancel()
	if err := w.lookAtSeeds(ask, false); err != nil {
		w.log.Info("the state of the seeds is not known", "err", err)
	}
	return nil
}

// untilEnd watches the crawl, without the questions at its end.
func (w *watcher) untilEnd(ctx context.Context, first crawl.Status) error {
	w.end.spec, w.end.first = w.c.Spec, first
	run, cancel := ctx, context.CancelFunc(func() {})
	if d := w.maxTime; d > 0 {
		run, cancel = context.WithTimeoutCause(ctx, d, fmt.Errorf("%w: max-time", errLimit))
	}
	defer cancel()
	for {
		began := time.Now()
		st, done, err := asker.Done(run, w.c.Queue, w.c.Spec)
		switch {
		case run.Err() != nil:
			return w.overBy(ctx, run)
		case errors.Is(err, ask.ErrIncomplete), errors.Is(err, ask.ErrNobody), queue.Unanswered(err):
			w.p.warn("some shards do not answer, and the crawl waits for them: %s", term.Clean(err.Error()))
		case err != nil:
			return err
		default:
			w.end.status = st
			w.notes.print(w.p, st)
			w.hooks.look(run, w, st)
			w.p.show(st)
			if limit := reached(w.c.Spec, st, done); limit != "" {
				w.end.status.Limit = limit
				w.end.why = errLimit
				return w.lookAtSeeds(run, done)
			}
			if done {
				return w.lookAtSeeds(run, true)
			}
			if deaf, err := w.nobodyAnswers(run, st); deaf || err != nil {
				return err
			}
		}
		select {
		case <-run.Done():
			return w.overBy(ctx, run)
		case <-time.After(min(max(lookEvery, lookShare*time.Since(began)), lookAtLeast)):
		}
	}
}

// over ends the watch because the context ended: by a signal, a stop, or the time limit.
func (w *watcher) over(run context.Context) {
	w.end.why = context.Cause(run)
	if errors.Is(w.end.why, errLimit) {
		w.end.status.Limit = "max-time"
	}
}

// reached names the limit that has ended the crawl. The limits of depth and of pages per host do
// not end a crawl while other URLs remain, so they count when it is done. The limit of pages does
// not end a crawl that keeps its stored pages fresh.
func reached(spec crawl.Spec, st crawl.Status, done bool) string {
	switch {
	case st.Limit != "":
		return st.Limit
	case spec.MaxPages > 0 && !spec.Refreshes() && st.Stored >= spec.MaxPages && st.Queued > 0 && st.InFlight == 0:
		return "max-pages"
	case spec.MaxBytes > 0 && st.Bytes >= spec.MaxBytes && st.Queued+st.InFlight+st.Again > 0:
		return "max-bytes"
	case done && st.ByReason[string(crawl.ReasonDepth)] > 0:
		return "max-depth"
	case done && st.ByReason[string(crawl.ReasonHostLimit)] > 0:
		return "max-pages-per-host"
	}
	return ""
}

// seedsAsked is the largest number of seeds that are checked when nothing was fetched.
const seedsAsked = 20

// nobodyAnswers reports that the crawl has not begun and that no host of a seed can be reached at
// all: a mistyped name, or a server that is not started. It would not help to wait minutes for the
// next attempt; the same command tries again. A server that answers is waited for, even if it
// answers with an error.
func (w *watcher) nobodyAnswers(ctx context.Context, st crawl.Status) (bool, error) {
	if st.Queued == 0 || st.Discovered != st.Queued || st.State == "paused" || len(w.c.Spec.Seeds) > seedsAsked {
		return false, nil
	}
	// What is known about a host may come from an earlier setting.
	if slices.ContainsFunc(st.Shards, func(s crawl.ShardStatus) bool { return s.Passing }) {
		return false, nil
	}
	var seeds []crawl.Explanation
	for _, seed := range w.c.Spec.Seeds {
		x, err := w.c.Explain(ctx, seed)
		if ctx.Err() != nil {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if x.State != crawl.Queued.String() || x.Robots == nil || x.Robots.State != crawl.RobotsUnreachable.String() || x.Robots.Status != 0 {
			return false, nil
		}
		seeds = append(seeds, x)
	}
	for _, x := range seeds {
		w.end.missed = append(w.end.missed, missed{seed: x.Canonical, x: x})
	}
	w.end.asked, w.end.none = len(seeds), len(seeds) > 0
	return len(seeds) > 0, nil
}

// ended is the result when everything has stopped, with the final counts.
func (w *watcher) ended(last crawl.Status) ending {
	if last.Discovered >= w.end.status.Discovered && last.Discovered > 0 {
		last.Limit = w.end.status.Limit
		// Only the indexers and the shards knew this, which have stopped.
		last.PagesTrouble = cmp.Or(last.PagesTrouble, w.end.status.PagesTrouble)
		last.Trouble = cmp.Or(last.Trouble, w.end.status.Trouble)
		w.end.status = last
	}
	w.end.status.State = "done"
	if w.end.why != nil {
		w.end.status.State = "stopped"
	}
	w.end.at = time.Now()
	w.end.took = w.end.at.Sub(w.began)
	return w.end
}
