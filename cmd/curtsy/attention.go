package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hooks"
)

const (
	// heldFor is how long a host must be postponed until that is reported.
	heldFor = 24 * time.Hour
	// A look at the seeds asks for each of them, so it is made rarely, and not for many.
	seedsEvery   = 10 * time.Minute
	seedsWatched = 100
)

// attention finds out what of a crawl needs the attention of its operator, and has it reported. Nil
// reports nothing.
type attention struct {
	hooks *hooks.Hooks
	log   *slog.Logger
	stop  func() // ends the reports of problems, and waits for them

	held    map[string]time.Time // since when hosts are postponed
	paused  time.Time            // since when the crawl is; zero: it is not
	disk    time.Time            // since when there is no space
	seeds   []hooks.Cause        // that are lost
	seedsAt time.Time            // when they were looked at

	mu     sync.Mutex // guards status
	status crawl.Status
}

// newAttention begins to report what the settings ask for.
func newAttention(ctx context.Context, cfg config.Hooks, c *asker.Crawl, log *slog.Logger) *attention {
	if cfg == (config.Hooks{}) {
		return nil
	}
	a := &attention{log: log, held: map[string]time.Time{}, seedsAt: time.Now()}
	a.hooks = hooks.New(hooks.Options{
		Crawl: c.Spec.Name, OnDone: cfg.OnDone, OnProblem: cfg.OnProblem, Log: log, Memory: hooks.InBucket(c.Bucket, cfg.OnProblem),
		Status: func() any { a.mu.Lock(); defer a.mu.Unlock(); return a.status },
	})
	for _, known := range a.hooks.Reported(ctx) {
		switch known.Kind {
		case hooks.KindHost:
			a.held[known.Subject] = known.Since
		case hooks.KindSeed:
			a.seeds = append(a.seeds, known) // until they are looked at
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { a.hooks.Run(ctx) })
	a.stop = func() { cancel(); wg.Wait() }
	return a
}

// look takes in the state of the crawl.
func (a *attention) look(ctx context.Context, w *watcher, st crawl.Status) {
	if a == nil {
		return
	}
	now := time.Now()
	a.keep(st)
	if now.Sub(a.seedsAt) >= seedsEvery && len(w.c.Spec.Seeds) <= seedsWatched {
		a.seedsAt = now
		if list, _, err := w.missedSeeds(ctx, false); err == nil {
			a.lost(list, now)
		}
	}
	a.hooks.Set("crawl", a.causes(st, now))
	if w.sent != nil {
		a.hooks.Set("feed", w.sent.causes(now))
	}
}

func (a *attention) keep(st crawl.Status) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.status = st
}

// causes is what needs attention in a state of the crawl.
func (a *attention) causes(st crawl.Status, now time.Time) (all []hooks.Cause) {
	since := func(at *time.Time, is bool) bool {
		switch {
		case !is:
			*at = time.Time{}
		case at.IsZero():
			*at = now
		}
		return is
	}
	full := st.Trouble
	if full == "" {
		full = st.PagesTrouble
	}
	if since(&a.disk, full != "") {
		all = append(all, hooks.Cause{Kind: hooks.KindDisk, Text: full, Since: a.disk})
	}
	if since(&a.paused, st.State == "paused" && st.Trouble == "") {
		all = append(all, hooks.Cause{Kind: hooks.KindPaused, Text: "somebody has paused the crawl; to continue, type: curtsy resume", Since: a.paused})
	}
	held := map[string]time.Time{}
	for _, h := range st.Postponed {
		from, ok := a.held[h.Host]
		if !ok {
			from = now
		}
		held[h.Host] = from
		if now.Sub(from) >= heldFor || h.Until.Sub(from) >= heldFor {
			all = append(all, hooks.Cause{Kind: hooks.KindHost, Subject: h.Host, Text: h.Reason, Since: from})
		}
	}
	a.held = held
	return append(all, a.seeds...)
}

// lost takes in the seeds that could not be fetched.
func (a *attention) lost(list []missed, now time.Time) {
	was := a.seeds
	a.seeds = nil
	for _, m := range list {
		c := hooks.Cause{Kind: hooks.KindSeed, Subject: m.seed, Text: look.Why(m.x), Since: now}
		if i := slices.IndexFunc(was, func(o hooks.Cause) bool { return o.Subject == c.Subject }); i >= 0 {
			c.Since = was[i].Since
		}
		a.seeds = append(a.seeds, c)
	}
}

// end reports the end of the crawl. failed is its error, if it ended with one.
func (a *attention) end(ctx context.Context, end ending, failed error) {
	if a == nil {
		return
	}
	c := hooks.Cause{Kind: hooks.KindDone, Text: headline(end), Since: time.Now()}
	switch {
	case failed != nil:
		c.Kind, c.Text = hooks.KindFailed, failed.Error()
	case errors.Is(end.why, errLimit):
		c.Kind = hooks.KindLimit
	case end.why != nil:
		c.Kind = hooks.KindStopped
	}
	if failed == nil {
		a.keep(end.status)
		if c.Kind != hooks.KindStopped { // otherwise nobody has looked at the seeds
			a.lost(end.missed, time.Now())
		}
		a.hooks.Set("crawl", a.causes(end.status, time.Now()))
	}
	a.stop()
	a.hooks.End(ctx, c)
}
