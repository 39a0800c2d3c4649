package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/service"
)

// Run crawls until watch returns. It then stops in an order that loses nothing: first the fetcher,
// then, when its results are applied and stored, the other services. watch gets the status before
// the first request; without watch, Run ends with ctx. When Run returns, its goroutines have ended.
func (e *Engine) Run(ctx context.Context, watch func(ctx context.Context, first crawl.Status) error) error {
	if watch == nil {
		watch = func(ctx context.Context, _ crawl.Status) error { <-ctx.Done(); return nil }
	}
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	g, failed := errgroup.WithContext(services)
	run := func(name string, service func(context.Context) error) {
		g.Go(func() error { return named(name, service(services)) })
	}
	run("frontier", e.frontier.Run)
	if e.indexer != nil {
		run("indexer", e.indexer.Run)
	} else {
		run("indexer", e.nothingWaits)
	}
	g.Go(func() error { return e.follow(services) })
	if e.mail != nil {
		run("updates", e.mail.Run)
	}

	// If a service fails, the others stop too, and watch need not wait for a crawl that has ended.
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	unhook := context.AfterFunc(failed, stopWatching)
	defer unhook()
	first, err := e.begin(watching)
	if err == nil {
		fetching, stopFetching := context.WithCancel(services)
		fetched := make(chan struct{})
		g.Go(func() error {
			defer close(fetched)
			if e.fetcher == nil {
				return nil
			}
			return named("fetcher", e.fetcher.Run(fetching))
		})
		err = watch(watching, first)
		stopFetching()
		<-fetched
		e.awaitOutcomes(failed)
	}
	stopServices()
	if failed := g.Wait(); failed != nil {
		return failed // the error of watch is only a consequence
	}
	return err
}

func named(service string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", service, err)
	}
	return nil
}

// ErrNotReady is the error of Run if the crawl was not ready at Options.ReadyBy.
var ErrNotReady = errors.New("the crawl was not ready in time")

// begin waits until the services are ready, submits the seeds, and publishes the address of the
// crawl. It is no error if ctx ends in the meantime: watch reports why.
func (e *Engine) begin(ctx context.Context) (first crawl.Status, err error) {
	watching := ctx
	if by := e.o.ReadyBy; !by.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, by)
		defer cancel()
	}
	var late error
	for _, step := range []func() error{
		func() error { return asker.WaitReady(ctx, e.q, e.spec) },
		func() error { return asker.WaitIndexers(ctx, e.q, e.spec) },
		func() error { return control.Notify(ctx, e.Crawl(), e.unlogged) },
		func() error { first, err = asker.Status(ctx, e.q, e.spec); return err },
		func() error { return asker.Seed(ctx, e.q, e.spec, e.o.Seeds) },
		func() error { return e.retrySeeds(ctx, first) },
		e.writeServerFile,
	} {
		if err := step(); err != nil && ctx.Err() == nil {
			return first, err
		} else if late == nil {
			late = err
		}
	}
	if ctx.Err() != nil && watching.Err() == nil {
		return first, fmt.Errorf("%w: %w", ErrNotReady, cmp.Or(late, ctx.Err()))
	}
	return first, nil
}

// retrySeeds tries known seeds again at once, because whoever names one again has a reason to
// expect that it works now.
func (e *Engine) retrySeeds(ctx context.Context, first crawl.Status) error {
	if len(e.o.Seeds) == 0 || first.Discovered == 0 {
		return nil
	}
	what := make([]string, len(e.o.Seeds))
	for i, u := range e.o.Seeds {
		what[i] = string(u)
	}
	return asker.Retry(ctx, e.q, e.spec, what)
}

// outcomesFor is how long the end of a crawl waits until the last outcomes are applied. Later ones
// stay in the log and are applied when the crawl continues.
const outcomesFor = 3 * time.Second

func (e *Engine) awaitOutcomes(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, outcomesFor)
	defer cancel()
	for ctx.Err() == nil {
		st, err := asker.Status(ctx, e.q, e.spec)
		if err == nil {
			if e.last = st; st.InFlight == 0 {
				return
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// follow passes every change of the spec to the services.
func (e *Engine) follow(ctx context.Context) error {
	return service.WatchSpec(ctx, e.kv, e.spec, func(spec crawl.Spec) {
		if err := e.SetSpec(spec); err != nil {
			e.o.Log.Error("the changed settings cannot be applied", "err", err)
		}
	})
}

// SetSpec passes a changed spec to the services. Changes of the spec in the bucket of the crawl
// arrive without it.
func (e *Engine) SetSpec(spec crawl.Spec) error {
	// The fetcher comes first. An operator gets an answer when the frontier follows, and must not
	// see requests by the old spec after that.
	var err error
	if e.fetcher != nil {
		err = e.fetcher.SetSpec(spec)
	}
	err = errors.Join(err, e.frontier.SetSpec(spec))
	if e.indexer != nil {
		err = errors.Join(err, e.indexer.SetSpec(spec))
	}
	if e.mail != nil {
		err = errors.Join(err, e.mail.SetSpec(spec))
	}
	return err
}

// nothingWaits replaces the indexer and answers that no page waits to be stored.
func (e *Engine) nothingWaits(ctx context.Context) error {
	svc, err := ask.NewService(e.q.NC, crawl.Names(e.spec.Name), "indexer", e.Instance(), e.o.Version)
	if err != nil {
		return err
	}
	defer svc.Stop()
	all := make([]int, e.spec.Shards)
	for i := range all {
		all[i] = i
	}
	status := questions.IndexerStatus.Handle(func(_ context.Context, _ struct{}, send func(crawl.IndexerStatus) error) error {
		return send(crawl.IndexerStatus{Shards: all})
	})
	err = svc.HandleAll(func() []int { return all }, questions.Handlers(status))
	if err == nil {
		<-ctx.Done()
	}
	return err
}
