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
	"github.com/curtsy/curtsy/internal/settings"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// DefaultMaxURLs is the number of URLs at which a plan ends by default.
const DefaultMaxURLs = 1_000_000

// Options configure a plan.
type Options struct {
	Spec  crawl.Spec  // of the crawl that is planned
	Seeds []canon.URL // of the spec
	// Dir is an empty directory for the work. Its contents are no crawl that could be resumed.
	Dir     string
	MaxURLs int64           // reading ends when so many URLs are known; 0: DefaultMaxURLs
	Fetcher fetcher.Options // as engine.Options has it
	Version string
	Log     *slog.Logger // nil: silent
	// Open replaces engine.Open in tests; nil means engine.Open.
	Open func(context.Context, engine.Options) (*engine.Engine, error)
	// Progress is called from time to time with the present counts; nil means not at all.
	Progress func(crawl.Status)
}

// Make reads the files of the sites and reports. When ctx ends it stops, and reports what is known
// by then (Report.Cut).
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
	awaitDelays(ctx, ended, r)
	return r, nil
}

// onlyPlanned returns a spec for the plan. It turns off everything that sends further requests, and
// rounds, which would read sitemaps again. It also removes the limits that only stored pages could
// reach; the report says what they would leave out.
func onlyPlanned(s crawl.Spec) crawl.Spec {
	s.PlanOnly = true
	var off crawl.Spec
	for _, row := range settings.All() {
		if row.NotPlanned && !row.Fixed {
			row.Copy(&s, &off)
		}
	}
	s.MaxPages, s.MaxBytes, s.MaxPagesPerHost = 0, 0, 0
	return s
}

// longestPause is how long awaitDelays waits at most.
const longestPause = 10 * time.Second

// awaitDelays waits until the delays of the requested hosts have passed. The crawl is probably
// started next, and does not know about the requests of the plan.
func awaitDelays(ctx context.Context, ended time.Time, r *Report) {
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

// planner watches while the files of the sites are read.
type planner struct {
	o   Options
	c   *asker.Crawl
	cut string // why the plan ended early
}

// lookEvery is the interval of these checks.
const lookEvery = 50 * time.Millisecond

// watch returns when there is nothing more to read, or when only servers that cannot be reached are
// left.
func (p *planner) watch(ctx context.Context, _ crawl.Status) error {
	for {
		st, done, err := asker.Done(ctx, p.c.Queue, p.c.Spec)
		switch {
		case ctx.Err() != nil:
			p.cut = "interrupted"
			return nil
		case errors.Is(err, ask.ErrIncomplete), errors.Is(err, ask.ErrNobody), queue.Unanswered(err):
			// The machine is busy; the next attempt succeeds.
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

// waitsInVain reports whether the only work left is to retry robots.txt files that could not be
// fetched. A crawl would wait for them; a plan reports them.
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

// unreachable reports whether a host waits only for robots.txt files that could not be fetched.
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

// report reads the results from the directory of the plan.
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
