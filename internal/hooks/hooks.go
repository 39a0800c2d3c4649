// Package hooks reports to an operator that a crawl has ended, or that it needs attention: it runs
// a command, or sends a request to a URL.
//
// What needs attention is a Cause. Each is reported once, when it begins. When it is over, it is
// forgotten, so that it is reported again if it returns. What was reported is remembered outside of
// the process ([Memory]), after it was sent: a crash in between sends it twice.
//
// A hook that fails is logged, and changes nothing for the crawl. A request is tried a few times. A
// command is run once, because it may have done its work before it failed.
package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Kinds of causes.
const (
	KindDone    = "done"    // nothing more can be crawled now
	KindLimit   = "limit"   // a limit ended the crawl
	KindStopped = "stopped" // somebody stopped or interrupted the crawl
	KindFailed  = "failed"  // the crawl ended with an error

	KindPaused = "paused" // somebody has paused the crawl
	KindDisk   = "disk"   // there is too little disk space, or pages cannot be stored
	KindSeed   = "seed"   // a seed cannot be fetched any more, or could not
	KindHost   = "host"   // a host must be left alone for a day
	KindFeed   = "feed"   // another system is behind (package feed)
)

// Cause is something that an operator should know. Kind and Subject identify it.
type Cause struct {
	Kind    string    `json:"kind"`           // one of the kinds above
	Subject string    `json:"subject"`        // a seed, a host, another system; or empty
	Text    string    `json:"text,omitempty"` // for people
	Since   time.Time `json:"since"`
}

func (c Cause) same(o Cause) bool { return c.Kind == o.Kind && c.Subject == o.Subject }

// Report is what a command reads from its standard input, and what is sent to a URL.
type Report struct {
	Crawl string `json:"crawl"`
	// Event is end or problem.
	Event string `json:"event"`
	Cause Cause  `json:"cause"`
	// Status is that of `curtsy status --json`, as it was known last.
	Status any `json:"status,omitempty"`
}

// The events of a Report.
const (
	EventEnd     = "end"
	EventProblem = "problem"
)

// Memory keeps what was reported beyond the end of the process. Load returns nil if nothing was
// saved.
type Memory interface {
	Load(ctx context.Context) ([]byte, error)
	Save(ctx context.Context, data []byte) error
}

// Options say what is reported to whom.
type Options struct {
	Crawl     string // its name
	OnDone    string // a command or a URL for the end of the crawl; empty: none
	OnProblem string // the same for problems
	Memory    Memory
	Status    func() any        // for Report.Status; nil: there is none
	Transport http.RoundTripper // nil: http.DefaultTransport
	Log       *slog.Logger
}

// maxCauses limits how many causes are remembered. Further ones are not reported, so that a crawl
// of a million broken hosts sends two hundred reports at most.
const maxCauses = 200

// Hooks reports what its sources say. Its methods may be called concurrently.
type Hooks struct {
	opt  Options
	wake chan struct{}

	mu     sync.Mutex         // guards causes
	causes map[string][]Cause // that hold now, by source

	reported []known // belongs to Run
	failed   []known // that could not be reported; belongs to Run
}

// New returns hooks. They report problems while Run runs.
func New(opt Options) *Hooks {
	return &Hooks{opt: opt, wake: make(chan struct{}, 1), causes: map[string][]Cause{}}
}

// Set replaces the causes of a source: what of them holds now. It never blocks. A cause that was
// not there before is reported. The causes are remembered when the process ends, and are over when
// their source sets others.
func (h *Hooks) Set(source string, causes []Cause) {
	h.mu.Lock()
	was, heard := h.causes[source]
	changed := !heard || !slices.EqualFunc(was, causes, Cause.same)
	h.causes[source] = slices.Clone(causes)
	h.mu.Unlock()
	if changed {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// known is a cause that was reported, or could not be, and its source. The text is not kept.
type known struct {
	Source string `json:"source"`
	Cause
}

func (k known) is(o known) bool { return k.Source == o.Source && k.same(o.Cause) }

// now returns the causes that hold now, and the sources that have set any yet.
func (h *Hooks) now() (all []known, sources []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sources = slices.Sorted(maps.Keys(h.causes))
	for _, source := range sources {
		for _, c := range h.causes[source] {
			all = append(all, known{source, c})
		}
	}
	return all, sources
}

// endWithin is how long the end of a crawl may be delayed by reports.
const endWithin = time.Minute

// Reported returns the causes that were reported before the process began, without their texts.
func (h *Hooks) Reported(ctx context.Context) (all []Cause) {
	data, err := h.opt.Memory.Load(ctx)
	var list []known
	if err != nil || json.Unmarshal(data, &list) != nil {
		return nil // Run says so
	}
	for _, k := range list {
		all = append(all, k.Cause)
	}
	return all
}

// Run reports problems until ctx ends, and then those that were set before. The latter takes a
// minute at most.
func (h *Hooks) Run(ctx context.Context) {
	if h.opt.OnProblem == "" {
		return
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(endWithin, cancel) })()
	data, err := h.opt.Memory.Load(ctx)
	if err == nil && data != nil {
		err = json.Unmarshal(data, &h.reported)
	}
	if err != nil {
		h.opt.Log.Warn("it is not known what was reported before, so it is reported again", "hook", "on-problem", "err", err)
	}
	for {
		select {
		case <-ctx.Done():
			h.report(sending)
			return
		case <-h.wake:
			h.report(sending)
		}
	}
}

// report reports the causes that are new, and forgets those that are over.
func (h *Hooks) report(ctx context.Context) {
	all, sources := h.now()
	// After a start a source may not have said anything yet.
	over := func(k known) bool { return slices.Contains(sources, k.Source) && !slices.ContainsFunc(all, k.is) }
	n := len(h.reported)
	h.reported = slices.DeleteFunc(h.reported, over)
	h.failed = slices.DeleteFunc(h.failed, over)
	if len(h.reported) < n {
		h.save(ctx)
	}
	for _, k := range all {
		if slices.ContainsFunc(h.reported, k.is) || slices.ContainsFunc(h.failed, k.is) {
			continue
		}
		if len(h.reported)+len(h.failed) >= maxCauses || ctx.Err() != nil {
			return
		}
		err := h.send(ctx, "on-problem", h.opt.OnProblem, EventProblem, k.Cause)
		k.Text = ""
		if err != nil {
			h.failed = append(h.failed, k)
			continue
		}
		h.reported = append(h.reported, k)
		h.save(ctx)
	}
}

func (h *Hooks) save(ctx context.Context) {
	data, err := json.Marshal(h.reported)
	if err == nil {
		err = h.opt.Memory.Save(context.WithoutCancel(ctx), data)
	}
	if err != nil {
		h.opt.Log.Warn("what was reported could not be remembered, and may be reported again", "hook", "on-problem", "err", err)
	}
}

// End reports that the crawl has ended, and how. It returns when the report was sent, or could not
// be. An end with an error is reported as a problem as well.
// The crawl may have ended because ctx did, so that does not end the report. A minute does.
func (h *Hooks) End(ctx context.Context, c Cause) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer cancel()
	if h.opt.OnDone != "" {
		_ = h.send(ctx, "on-done", h.opt.OnDone, EventEnd, c) // it is logged
	}
	if c.Kind == KindFailed && h.opt.OnProblem != "" && h.opt.OnProblem != h.opt.OnDone {
		_ = h.send(ctx, "on-problem", h.opt.OnProblem, EventProblem, c)
	}
}

// send sends a report and logs how that ended.
func (h *Hooks) send(ctx context.Context, name, target, event string, c Cause) error {
	r := Report{Crawl: h.opt.Crawl, Event: event, Cause: c}
	if h.opt.Status != nil {
		r.Status = h.opt.Status()
	}
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	log := h.opt.Log.With("hook", name, "kind", c.Kind, "subject", c.Subject)
	if IsURL(target) {
		err = h.post(ctx, log, target, body)
	} else {
		err = run(ctx, log, target, body)
	}
	if err != nil {
		log.Error("the hook failed; the crawl goes on", "err", err)
		return err
	}
	log.Info("the hook was called")
	return nil
}
