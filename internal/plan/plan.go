package plan

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/engine"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// DefaultMaxURLs is at how many URLs a plan ends unless told otherwise.
const DefaultMaxURLs = 1_000_000

// Options say what is planned.
type Options struct {
	Spec  crawl.Spec  // as the crawl would have it
	Seeds []canon.URL // of the spec
	// Dir is an empty directory to work in. What is in it afterwards is nobody's crawl.
	Dir     string
	MaxURLs int64           // sitemaps are read until so many URLs are known; 0: DefaultMaxURLs
	Fetcher fetcher.Options // as engine.Options has it
	Version string
	Log     *slog.Logger // nil: silent
	// Open is engine.Open, which nil stands for, or one that a test puts in its place.
	Open func(context.Context, engine.Options) (*engine.Engine, error)
	// Progress is told now and then how many URLs are known and refused; nil: nobody is.
	Progress func(crawl.Status)
}

// Make reads what says which pages there are, and reports. When ctx ends it stops asking, and the
// report is of what is known by then (Report.Cut).
func Make(ctx context.Context, o Options) (*Report, error) {
	if o.MaxURLs == 0 {
		o.MaxURLs = DefaultMaxURLs
	}
	spec := o.Spec
	p := &planner{o: o}
	open := o.Open
	if open == nil {
		open = engine.Open
	}
	e, err := open(ctx, engine.Options{
		Dir: o.Dir, Plan: func(*crawl.Spec) (crawl.Spec, error) { return onlyPlanned(spec), nil }, Seeds: o.Seeds,
		Fetcher: o.Fetcher, Version: o.Version, Unreached: true, Log: o.Log,
	})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p.c = e.Crawl()
	err = e.Run(ctx, p.watch)
	ended := time.Now()
	if err := errors.Join(err, e.Close()); err != nil {
		return nil, err
	}
	r, err := p.report(context.WithoutCancel(ctx), spec)
	if err != nil {
		return nil, err
	}
	r.TookS = ended.Sub(began).Seconds()
	rest(ctx, ended, r)
	return r, nil
}

// onlyPlanned is a spec without all that asks for more than is planned with, and without limits
// that nothing comes near while no page is stored: the report says what they would cut off.
func onlyPlanned(s crawl.Spec) crawl.Spec {
	s.PlanOnly = true
	s.Recrawl, s.Updates, s.UpdatesMail, s.SecurityTxt, s.LLMSTxt, s.Search, s.WARC = false, false, "", false, false, false, ""
	s.SetEvery(0, time.Time{}) // sitemaps would be read once in each round
	s.MaxPages, s.MaxBytes, s.MaxPagesPerHost = 0, 0, 0
	return s
}

// longestPause bounds how long rest waits.
const longestPause = 10 * time.Second

// rest waits until the hosts that were asked have had their delay since: what is typed next is
// likely the crawl, which knows nothing of the plan's requests.
func rest(ctx context.Context, ended time.Time, r *Report) {
	var longest float64
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Read > 0 {
			longest = max(longest, h.DelayS)
		}
	}
	d := min(time.Duration(longest*float64(time.Second)), longestPause)
	select {
	case <-ctx.Done():
	case <-time.After(time.Until(ended.Add(d))):
	}
}

// planner looks on while what is planned with is read.
type planner struct {
	o   Options
	c   *asker.Crawl
	cut string // why it ended before all was read
}

// lookEvery is how often it looks.
const lookEvery = 50 * time.Millisecond

// watch returns when nothing more is to be read, or when that is a matter of waiting for a server
// that cannot be reached.
func (p *planner) watch(ctx context.Context, _ crawl.Status) error {
	for {
		st, done, err := asker.Done(ctx, p.c.Queue, p.c.Spec)
		switch {
		case ctx.Err() != nil:
			p.cut = "interrupted"
			return nil
		case errors.Is(err, ask.ErrIncomplete), errors.Is(err, ask.ErrNobody), queue.Unanswered(err):
			// A busy machine: the next answer comes.
		case err != nil:
			return err
		case done:
			return nil
		case st.Discovered >= p.o.MaxURLs:
			p.cut = fmt.Sprintf("more than %d URLs: the others were not counted", p.o.MaxURLs)
			return nil
		default:
			if p.o.Progress != nil {
				p.o.Progress(st)
			}
			if waits, err := p.waitsInVain(ctx, st); waits || err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookEvery):
		}
	}
}

// waitsInVain reports that all there is to do is to try again to reach robots.txt files that could
// not be had. A crawl does that; a plan says so.
func (p *planner) waitsInVain(ctx context.Context, st crawl.Status) (bool, error) {
	for _, s := range st.Shards {
		if s.Outstanding > 0 || s.Outbox > 0 || s.Aux > 0 || s.Passing {
			return false, nil
		}
	}
	if st.Queued == 0 || len(st.Shards) != p.c.Spec.Shards {
		return false, nil
	}
	vain := true
	err := questions.Hosts.Each(ctx, p.c, nil, func(h crawl.HostInfo) error {
		if h.Queued > 0 && !unreachable(&h) {
			vain = false
		}
		return nil
	})
	if ctx.Err() != nil || errors.Is(err, ask.ErrIncomplete) || errors.Is(err, ask.ErrNobody) {
		return false, nil
	}
	return vain, err
}

// unreachable reports whether a host waits for nothing but robots.txt files that could not be had.
func unreachable(h *crawl.HostInfo) bool {
	waits := false
	for i := range h.Robots {
		switch h.Robots[i].State {
		case crawl.RobotsUnreachable.String():
			waits = true
		case crawl.RobotsUnknown.String(), crawl.RobotsPending.String():
			return false
		}
	}
	return waits
}

// report reads what the planning has left in its directory.
func (p *planner) report(ctx context.Context, spec crawl.Spec) (*Report, error) {
	r := newReport(spec, p.cut)
	files, err := frontier.OpenDir(p.o.Dir)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(files.EachURL(r.count), files.Close()); err != nil {
		return nil, err
	}
	c, err := engine.OpenFiles(filepath.Clean(p.o.Dir))
	if err != nil {
		return nil, err
	}
	err = errors.Join(questions.Hosts.Each(ctx, c, nil, r.addHost), c.Datasets(ctx, r.addDataset))
	for i := range r.largest() {
		h := &r.Hosts[i]
		t, known, failed := questions.Timeline.Ask(ctx, c, questions.TimelineRequest{Host: canon.Host(h.Host)})
		if failed != nil {
			err = errors.Join(err, failed)
		} else if known {
			h.ResponseS = response(t.Requests)
		}
	}
	if err := errors.Join(err, c.Close()); err != nil {
		return nil, err
	}
	r.sumUp(spec)
	return r, nil
}
