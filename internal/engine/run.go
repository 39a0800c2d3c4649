package engine

import (
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

// Run crawls until watch returns, then stops in the order in which nothing is lost for later: no
// more fetching, what was fetched applied and stored, the rest. watch gets the status from before
// the first request; nil: until ctx ends. When Run returns, its goroutines are gone.
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

	// A service that fails takes the whole down: the watcher should not wait for a crawl that is
	// over.
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
		e.settle(failed)
	}
	stopServices()
	if failed := g.Wait(); failed != nil {
		return failed // the watcher only saw the consequence
	}
	return err
}

func named(service string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", service, err)
	}
	return nil
}

// begin waits for the services to be ready, submits the seeds, and lets other commands find the
// crawl now that it can answer them. When ctx ends meanwhile that is no error: the watcher will say
// why.
func (e *Engine) begin(ctx context.Context) (first crawl.Status, err error) {
	for _, step := range []func() error{
		func() error { return asker.WaitReady(ctx, e.q, e.spec) },
		func() error { return asker.WaitIndexers(ctx, e.q, e.spec) },
		func() error { return control.Notify(ctx, e.Crawl(), e.untold) },
		func() error { first, err = asker.Status(ctx, e.q, e.spec); return err },
		func() error { return asker.Seed(ctx, e.q, e.spec, e.o.Seeds) },
		func() error { return e.retrySeeds(ctx, first) },
		e.writeServerFile,
	} {
		if err := step(); err != nil && ctx.Err() == nil {
			return first, err
		}
	}
	return first, nil
}

// retrySeeds has seeds that are known tried at once: who names one again has a reason to believe
// that it can be had now.
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

// settleFor is how long the end waits for the last outcomes to be applied. What is not applied by
// then stays in the log, and is applied when the crawl goes on.
const settleFor = 3 * time.Second

func (e *Engine) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
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

// follow hands every change of the spec to the services.
func (e *Engine) follow(ctx context.Context) error {
	return service.WatchSpec(ctx, e.kv, e.spec, func(spec crawl.Spec) {
		if err := e.SetSpec(spec); err != nil {
			e.o.Log.Error("the changed settings cannot be applied", "err", err)
		}
	})
}

// SetSpec hands a changed spec to the services. A spec that is changed in the crawl's bucket comes
// to them by itself.
func (e *Engine) SetSpec(spec crawl.Spec) error {
	// The fetcher first: who steers the crawl is answered once the frontier follows, and is not to
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

// nothingWaits answers in place of an indexer that no page waits to be stored.
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
