package fetcher

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/metrics"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/boottime"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Fetcher takes visits and carries them out. Make one with New.
type Fetcher struct {
	q            *queue.Conn
	opt          Options
	log          *slog.Logger
	names        crawl.Names
	shards       int
	cfg          atomic.Pointer[requests.Config]
	traces       *tracing.Crawl // nil: none are made
	shared       *Shared
	client       *wire.Client // of shared, like metrics
	deps         *visit.Deps
	metrics      *metrics.Metrics
	out          sinks
	leases       leases
	halts        halts
	rights       rights
	backpressure backpressure
	clocks       clocks
	onDemand     *onDemand
	elsewhere    elsewhere

	requestLog *requestLog // nil: none is kept; set by Run
	left       []leftOver  // by the earlier process
	now        wire.Clock
	wall       *boottime.Wall
	slots      *part
}

// New prepares a Fetcher for a crawl; Run starts it. The error says what is wrong with the spec or
// the options, and what would work.
func New(q *queue.Conn, spec crawl.Spec, opt Options) (*Fetcher, error) {
	opt = opt.withDefaults()
	if opt.Name == "" {
		opt.Name = "fetcher-" + randomName()
	}
	cfg, err := requests.NewConfig(spec)
	if err != nil {
		return nil, err
	}
	shared := opt.Shared
	if shared == nil {
		if shared, err = newShared(opt); err != nil {
			return nil, err
		}
	}
	f := &Fetcher{
		q: q, opt: opt, log: opt.Log.With("fetcher", opt.Name), names: cfg.Names, shards: spec.Shards, traces: opt.Tracer.Of(spec),
		shared: shared, client: shared.client, metrics: shared.metrics, now: boottime.Now, wall: boottime.NewWall(), slots: shared.pool.join(opt.Weight),
	}
	f.deps = visit.NewDeps(f.client, f.metrics, opt.visit(f.log, spec.Shards))
	f.out = sinks{q: q, names: cfg.Names, logs: make([]*queue.Log, spec.Shards)}
	f.cfg.Store(cfg)
	f.onDemand = newOnDemand(f)
	return f, nil
}

func randomName() string { return rand.Text()[:8] }

// SetSpec makes visits from now on follow a changed spec, and ends running visits that it halts,
// before their next request. Name and number of shards cannot change. It may be called at any time.
// After an error the old spec stays.
func (f *Fetcher) SetSpec(spec crawl.Spec) error {
	cfg, err := requests.NewConfig(spec)
	if err != nil {
		return err
	}
	if cfg.Names != f.names || spec.Shards != f.shards {
		return fmt.Errorf("fetcher: crawl %s with %d shards cannot be changed to %s with %d", f.names, f.shards, cfg.Names, spec.Shards)
	}
	f.cfg.Store(cfg)
	f.halts.follow(f.cfg.Load)
	return nil
}

// Renders reports whether the crawl has the scripts of pages run. It may be called at any time.
func (f *Fetcher) Renders() bool { return f.cfg.Load().Renders() }

// Violations returns how many requests were stopped at the last moment because they would have been
// impolite. It must be 0.
func (f *Fetcher) Violations() int64 { return f.client.Violations() }

// StageSeconds returns the time spent on pages so far, by stage ("fetch", which includes waiting,
// "scan", "pack", "document", "publish"). It may be called at any time.
func (f *Fetcher) StageSeconds() map[string]float64 { return f.metrics.StageSeconds() }

// Run takes visits and carries them out until ctx ends. Then it takes no more, running visits stop
// before their next request, and their results are published within Options.Grace. It returns nil
// after everything that it started has ended. Call it once.
func (f *Fetcher) Run(ctx context.Context) error {
	// Otherwise some page would be fetched again for ever.
	if n := f.q.NC.MaxPayload(); n < crawl.MaxPayloadBytes {
		return fmt.Errorf("NATS accepts messages of at most %d bytes: set max_payload to %d or more in its configuration", n, crawl.MaxPayloadBytes)
	}
	// Running requests may use half of the grace. Publishing their results may use all of it.
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	publishing, cancelPublishing := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	defer cancelPublishing()
	var timers struct {
		sync.Mutex
		list []*time.Timer
	}
	stop := context.AfterFunc(ctx, func() {
		timers.Lock()
		defer timers.Unlock()
		timers.list = append(timers.list, time.AfterFunc(f.opt.Grace/2, cancelRequests), time.AfterFunc(f.opt.Grace, cancelPublishing))
	})
	defer func() {
		stop()
		timers.Lock()
		defer timers.Unlock()
		for _, t := range timers.list {
			t.Stop()
		}
	}()
	defer f.slots.leave()
	defer f.client.Close()
	defer f.deps.Close()
	if f.opt.RequestLog != "" {
		var err error
		if f.requestLog, f.left, err = openRequestLog(f.opt.RequestLog, f.log); err != nil {
			f.log.Warn("no request log is written: requests that are running when the process is killed will be missing in the timeline", "err", err)
		} else {
			defer f.requestLog.f.Close()
		}
	}
	var telling sync.WaitGroup
	defer telling.Wait()
	telling.Go(func() { f.reportLeft(ctx) })

	if !f.opt.Alone {
		if _, err := f.rights.open(ctx, f); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
	r := &runner{f: f, ctx: ctx, requests: requests, publishing: publishing, takers: make(map[string]context.CancelFunc)}
	renewing, stopRenewing := context.WithCancel(context.WithoutCancel(ctx))
	var renewer sync.WaitGroup
	renewer.Go(func() { f.leases.run(renewing, f) })
	err := r.watch()
	r.wg.Wait()
	stopRenewing()
	renewer.Wait()
	return err
}
