package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/siterules"
)

// Options are the settings of a Feeder.
type Options struct {
	Name string // of the sink, under which the indexers have its positions. Required
	// Content is what is sent of each page: text, markdown, html or none. Empty means text.
	Content string
	// Fields are the fields of a row that are sent, by their names in JSON, and fields of the site
	// rules, by their names there. Nil: all of them. See CheckFields.
	Fields []string
	// For and UnknownToo limit what is sent to what sites allow, as in crawl.ExportQuery.
	For        []string
	UnknownToo bool
	// Every is the interval of looking for changes. 0: the Feeder ends when everything was sent.
	Every time.Duration
	// GiveUp is how long a shard may fail, once the Feeder is to end, before Run gives up. 0 means
	// a minute.
	GiveUp time.Duration
	// Dead is the file for changes that the sink refuses. Required
	Dead string
	// Memory limits the bytes of rows in memory, together with that of other feeds; nil: its own.
	Memory Memory
	Log    *slog.Logger // nil: no log
	Events Events
	// Fault is called between the steps of a batch: "read", "write", "dead", "ack", "sweep". If it
	// returns an error, the step fails. It is nil except in tests.
	Fault func(point string) error
}

// Events are called when something happened, from many goroutines. Nil functions are not called.
type Events struct {
	Sent   func(changes, refused int) // a batch was acknowledged
	Failed func(err error)            // an attempt failed
	Behind func(changes int64)        // how many changes of all shards are not acknowledged
}

// Feeder sends the pages of a crawl to one sink.
type Feeder struct {
	crawl questions.Crawl
	sink  Sink
	o     Options
	dead  *refusals
	only  selection
	own   chan struct{}   // a batch that is not counted in o.Memory
	wake  []chan struct{} // of each shard; capacity 1

	ending    chan struct{} // closed: end when everything was sent
	over      chan struct{} // closed when Run returns
	endOnce   sync.Once
	preparing chan struct{} // a semaphore with one slot, which guards prepared

	prepared *uint64 // the SitesHash for which the sink is prepared; nil: for none

	mu    sync.Mutex // guards what follows
	spec  crawl.Spec
	rules *siterules.Rules
	ended time.Time // when ending was closed
}

// New makes a Feeder of a crawl, which may be running or stopped. It sends nothing yet.
func New(c questions.Crawl, spec crawl.Spec, sink Sink, o Options) (*Feeder, error) {
	if err := crawl.CheckFeedName(o.Name); err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.GiveUp == 0 {
		o.GiveUp = time.Minute
	}
	if o.Memory == nil {
		o.Memory = NewMemory()
	}
	if o.Fault == nil {
		o.Fault = func(string) error { return nil }
	}
	f := &Feeder{crawl: c, sink: sink, o: o, dead: &refusals{path: o.Dead}, only: newSelection(o.Fields), own: make(chan struct{}, 1), ending: make(chan struct{}), over: make(chan struct{}), preparing: make(chan struct{}, 1)}
	if err := f.SetSpec(spec); err != nil {
		return nil, err
	}
	for range spec.Shards {
		f.wake = append(f.wake, make(chan struct{}, 1))
	}
	if o.Every == 0 {
		f.Finish()
	}
	return f, nil
}

// SetSpec applies a changed spec: the sink is prepared for the fields of its site rules.
func (f *Feeder) SetSpec(spec crawl.Spec) error {
	rules, err := siterules.Of(&spec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.spec, f.rules = spec, rules
	return nil
}

// Finish makes Run end as soon as everything was sent, or when the sink has failed for
// Options.GiveUp.
func (f *Feeder) Finish() {
	f.endOnce.Do(func() {
		f.mu.Lock()
		f.ended = time.Now()
		f.mu.Unlock()
		close(f.ending)
	})
}

// Ended returns a channel that is closed when Run returns. Run may be called once.
func (f *Feeder) Ended() <-chan struct{} { return f.over }

// finishing returns when Finish was called.
func (f *Feeder) finishing() (since time.Time, yes bool) {
	select {
	case <-f.ending:
	default:
		return since, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended, true
}

// Run sends changes until ctx ends; then it returns nil. After Finish, it returns when everything
// was sent; its error then says what was not sent. A shard that fails does not stop the others.
func (f *Feeder) Run(ctx context.Context) error {
	defer close(f.over)
	defer f.dead.close()
	watching, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	errs := make([]error, len(f.wake))
	for k := range f.wake {
		all.Go(func() { errs[k] = f.serve(ctx, k) })
	}
	var watch sync.WaitGroup
	if f.o.Every > 0 {
		watch.Go(func() { f.watch(watching) })
	}
	all.Wait()
	stop()
	watch.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return ofShards(errs)
}

// ofShards joins the errors of shards, whose indices are their numbers. A cause that several have,
// such as a system that is away, is named once.
func ofShards(errs []error) error {
	shards := map[string][]string{}
	var failed []error
	for k, err := range errs {
		if err == nil {
			continue
		}
		if shards[err.Error()] == nil {
			failed = append(failed, err)
		}
		shards[err.Error()] = append(shards[err.Error()], strconv.Itoa(k))
	}
	for i, err := range failed {
		switch of := shards[err.Error()]; {
		case len(of) == 1:
			failed[i] = fmt.Errorf("shard %s: %w", of[0], err)
		case len(of) < len(errs):
			failed[i] = fmt.Errorf("shards %s: %w", strings.Join(of, ", "), err)
		}
	}
	return errors.Join(failed...)
}

// watch looks for changes until ctx ends, and wakes the shards that have some.
func (f *Feeder) watch(ctx context.Context) {
	tick := time.NewTicker(f.o.Every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		current := make([]bool, len(f.wake))
		var behind int64
		err := questions.Feeds.Each(ctx, f.crawl, nil, func(p crawl.FeedPosition) error {
			if p.Sink == f.o.Name && p.Shard < len(current) {
				behind += p.Behind
				current[p.Shard] = p.Behind == 0 && !sweepDue(&p, time.Now())
			}
			return nil
		})
		if err == nil && f.o.Events.Behind != nil {
			f.o.Events.Behind(behind)
		}
		for k, is := range current {
			if !is { // it has changes, or no position, because its store is new
				select {
				case f.wake[k] <- struct{}{}:
				default:
				}
			}
		}
	}
}

// serve sends the changes of a shard.
func (f *Feeder) serve(ctx context.Context, shard int) error {
	passing, lasting := backoff.Delay{Least: time.Second, Most: time.Minute}, backoff.Delay{Least: time.Minute, Most: 10 * time.Minute}
	var failing time.Time // since when; zero: it does not fail
	for ctx.Err() == nil {
		more, err := f.step(ctx, shard)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && more:
			passing.Reset()
			lasting.Reset()
			failing = time.Time{}
			continue
		case err == nil:
			passing.Reset()
			lasting.Reset()
			failing = time.Time{}
			if _, ending := f.finishing(); ending {
				return nil
			}
			select {
			case <-ctx.Done():
			case <-f.ending:
			case <-f.wake[shard]:
			}
			continue
		}
		if failing.IsZero() {
			failing = time.Now()
		}
		if f.o.Events.Failed != nil {
			f.o.Events.Failed(err)
		}
		wait := passing.Next()
		permanent := (*Permanent)(nil)
		since, ending := f.finishing()
		if errors.As(err, &permanent) {
			if ending {
				return err
			}
			wait = lasting.Next()
		}
		if later := (*Later)(nil); errors.As(err, &later) {
			wait = max(wait, min(later.After, maxLater))
		}
		if ending {
			if failing.After(since) {
				since = failing
			}
			if time.Since(since) >= f.o.GiveUp {
				return err
			}
			wait = min(wait, 5*time.Second)
		}
		f.o.Log.Warn("a feed does not go on", "feed", f.o.Name, "shard", shard, "err", err, "wait", wait)
		f.pause(ctx, wait, ending)
	}
	return nil
}

// maxLater is how long a sink may postpone the next attempt.
const maxLater = time.Hour

// pause waits for d, or less if the Feeder is to end meanwhile.
func (f *Feeder) pause(ctx context.Context, d time.Duration, ending bool) {
	end := f.ending
	if ending {
		end = nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-end:
	case <-t.C:
	}
}
