package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/term"
	"github.com/curtsy/curtsy/cmd/curtsy/look"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/dustin/go-humanize"
)

// missed is a seed that could not be fetched, or that redirects to a URL that could not be; x
// explains it.
type missed struct {
	seed string
	x    crawl.Explanation
}

const (
	// redirects in a row after which a seed counts as not fetched, as any URL does
	seedRedirects = 10
	missedLines   = 20 // seeds that have lines of their own at the end of a crawl
)

// lookAtSeeds finds the seeds that could not be fetched: of those given to this run, or of all if
// none was given. done reports that nothing more can be done now; otherwise a seed that is still
// queued does not count as missed.
func (w *watcher) lookAtSeeds(ctx context.Context, done bool) error {
	all, asked, err := w.missedSeeds(ctx, done)
	if err != nil {
		return err
	}
	w.end.missed, w.end.asked = append(w.end.missed, all...), asked
	w.end.none = done && w.end.status.Stored == 0 && len(w.end.missed) == asked
	return nil
}

// missedSeeds returns the seeds that could not be fetched, and how many were looked at.
func (w *watcher) missedSeeds(ctx context.Context, done bool) (list []missed, asked int, err error) {
	var seeds []string
	for _, u := range w.seeds {
		seeds = append(seeds, string(u))
	}
	if len(seeds) == 0 {
		seeds = w.c.Spec.Seeds
	}
	leads := map[string]string{} // to where a seed leads, as far as is known
	for _, seed := range seeds {
		leads[seed] = seed
	}
	all := map[string]crawl.Explanation{}
	for range seedRedirects + 1 {
		var ask []string
		for _, to := range leads {
			if _, known := all[to]; !known {
				ask = append(ask, to)
			}
		}
		if len(ask) == 0 {
			break
		}
		some, err := w.c.ExplainAll(ctx, ask)
		if err != nil {
			return nil, 0, err
		}
		for _, url := range ask {
			all[url] = some[url]
		}
		for seed, to := range leads {
			if x := all[to]; x.State == crawl.Redirected.String() && x.Location != "" {
				leads[seed] = x.Location
			}
		}
	}
	for _, seed := range seeds {
		x := all[leads[seed]]
		if !had(x) && (done || x.State == crawl.Refused.String() || x.State == crawl.Failed.String() || !x.InScope && !x.Seen) {
			list = append(list, missed{seed, x})
		}
	}
	return list, len(seeds), nil
}

// had reports that a seed was fetched, or left out on purpose: by its site, or because it was
// forgotten.
func had(x crawl.Explanation) bool {
	switch x.State {
	case crawl.Stored.String():
		return true
	case crawl.Refused.String():
		return crawl.Reason(x.Reason).Has(crawl.Intended)
	}
	return false
}

// printMissed prints for each missed seed why it was not fetched, and when that may change.
func printMissed(w io.Writer, end ending) {
	for i, m := range end.missed {
		if i == missedLines {
			fmt.Fprintf(w, "seed: %s more could not be fetched; to see why: curtsy explain URL\n", humanize.Comma(int64(len(end.missed)-i)))
			return
		}
		what := m.seed
		if m.x.Canonical != "" && m.x.Canonical != m.seed {
			what += " → " + m.x.Canonical
		}
		because := look.Why(m.x)
		if m.x.Reason == string(crawl.ReasonScope) {
			because = m.x.State
		}
		if !m.x.InScope {
			because += ": not in scope (" + m.x.ScopeRule + "); add it as a seed, or use a wider scope, for example --scope domain"
		}
		fmt.Fprintf(w, "seed %s: %s\n", what, term.Clean(because))
		if m.x.State == crawl.Queued.String() && m.x.NextDue != nil {
			fmt.Fprintf(w, "     the same command asks for it again as soon as its site allows; without the URL, after %s\n",
				m.x.NextDue.Local().Format(time.DateTime))
		}
	}
}
