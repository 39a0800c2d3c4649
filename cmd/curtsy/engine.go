package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/config"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"
)

// engine is a whole crawl in one process: a NATS server of its own, unless there is another to use, and one of each
// service. Open it, Run it once, Close it.
type engine struct {
	cfg  *config.Crawl
	log  *slog.Logger
	lock *service.Lock
	srv  *embedded.Server // nil with --nats
	q    *queue.Conn
	kv   jetstream.KeyValue
	spec crawl.Spec
	reg  *prometheus.Registry

	last     crawl.Status // as the crawl was left, once Run has returned
	crawlLog *os.File
	frontier *frontier.Frontier
	fetcher  *fetcher.Fetcher // nil: nothing is crawled, only downloaded
	indexer  *indexer.Indexer
	mail     *updates.Service // nil: no reports are taken by mail
}

// openEngine takes the directory, connects, and creates or resumes the crawl with what the settings and seeds ask for.
func openEngine(ctx context.Context, cfg *config.Crawl, given func(string) bool, seeds []canon.URL, log *slog.Logger) (*engine, error) {
	e := &engine{cfg: cfg, log: log, reg: prometheus.NewRegistry()}
	if err := e.open(ctx, given, seeds); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// openResting takes up a crawl that does not run, as it is and without crawling: its frontier grants visits to whoever downloads, and
// it answers as one that runs.
func openResting(ctx context.Context, cfg *config.Crawl, log *slog.Logger) (*engine, error) {
	e := &engine{cfg: cfg, log: log, reg: prometheus.NewRegistry()}
	if err := e.openResting(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *engine) openResting(ctx context.Context) (err error) {
	if isNew(e.cfg) {
		return fmt.Errorf("the crawl in %s is one of a NATS server; name that with --nats URL --crawl NAME", e.cfg.Dir)
	}
	if err := e.take(ctx, func(string) bool { return false }); err != nil {
		return err
	}
	if e.spec, err = service.ReadSpec(ctx, e.kv); err != nil {
		return err
	}
	return e.makeServices(ctx)
}

func (e *engine) open(ctx context.Context, given func(string) bool, seeds []canon.URL) (err error) {
	cfg := e.cfg
	if err := e.take(ctx, given); err != nil {
		return err
	}
	room := frontier.Room{Replicas: cfg.Replicas}
	if e.srv != nil {
		room.Events, room.Pages = embedded.Budget(e.srv.MaxStore(), cmp.Or(cfg.Shards, crawl.EmbeddedShards))
	}
	e.spec, _, err = create(ctx, e.q, e.kv, room, func(old *crawl.Spec) (crawl.Spec, error) {
		s, err := planned(cfg.Plan, cfg.NATS, given, old, seeds)
		s.Paused = false // to say "crawl" is to say "go on"
		return s, err
	})
	if err != nil {
		return err
	}
	if err := e.makeServices(ctx); err != nil {
		return err
	}
	e.fetcher, err = fetcher.New(e.q, e.spec, fetcher.Options{
		Name: e.instance(), Hands: e.cfg.Visits, MaxBody: int64(e.cfg.MaxBody), Log: e.log, Registerer: e.reg,
	})
	return err
}

// take locks the directory and connects.
func (e *engine) take(ctx context.Context, given func(string) bool) (err error) {
	if e.lock, err = service.LockDir(e.cfg.Dir, lockFile); err != nil {
		return lockedHint(err)
	}
	if err := e.connect(ctx, given); err != nil {
		return err
	}
	e.kv, err = e.q.OpenBucket(ctx, crawl.Names(e.cfg.Crawl).Bucket(), e.cfg.Replicas)
	return err
}

// lockFile is the file in the data directory that a running crawl holds.
const lockFile = "lock"

// lockedHint says how to end whoever holds the directory.
func lockedHint(err error) error {
	var locked *service.LockedError
	if errors.As(err, &locked) {
		return fmt.Errorf("%w; stop that crawl with: curtsy stop --dir %s, or use another --dir", err, locked.Dir)
	}
	return err
}

// connect starts the embedded server, or dials the one that was named.
func (e *engine) connect(ctx context.Context, given func(string) bool) (err error) {
	o := e.cfg.NATS.Queue("curtsy crawl")
	if e.cfg.URL == "" {
		e.srv, err = embedded.Start(embedded.Options{Dir: filepath.Join(e.cfg.Dir, "nats"), Listen: "127.0.0.1:0", Log: e.log})
		if err != nil {
			return err
		}
		o = queue.Options{InProcess: e.srv.InProcess(), User: e.srv.User(), Password: e.srv.Password(), Name: "curtsy crawl"}
	}
	if e.q, err = queue.Dial(ctx, o, e.log); err != nil {
		return err
	}
	if e.srv == nil {
		return nil
	}
	// A data directory holds one crawl; its name need not be said again.
	there, err := crawlsOn(ctx, e.q)
	if err != nil || len(there) == 0 || there[0] == e.cfg.Crawl {
		return err
	}
	if given("crawl") {
		return usage("%s holds the crawl %q; use --crawl %s, or another --dir", e.cfg.Dir, there[0], there[0])
	}
	e.cfg.Crawl = there[0]
	return nil
}

func (e *engine) makeServices(ctx context.Context) (err error) {
	e.crawlLog, err = os.OpenFile(filepath.Join(e.cfg.Dir, "crawl.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	e.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	instance := e.instance()
	e.frontier, err = frontier.New(e.q, e.spec, frontier.Options{
		Dir: e.cfg.Dir, Instance: instance, Log: e.log, Registry: e.reg, Embedded: e.srv != nil, CrawlLog: e.crawlLog,
		MinFree: int64(e.cfg.MinFree),
	})
	if err != nil {
		return err
	}
	e.indexer, err = indexer.New(e.q, e.spec, indexer.Options{
		Dir: e.cfg.Dir, Instance: instance, Log: e.log, Registry: e.reg, Embedded: e.srv != nil, Search: e.spec.Search,
		Version: versionString(), MinFree: int64(e.cfg.MinFree),
	})
	if err != nil {
		return err
	}
	if e.cfg.Mail.On() {
		if e.mail, err = updates.NewService(ctx, e.q, e.kv, e.spec, e.cfg.MailOptions(e.reg, e.log)); err != nil {
			return err
		}
	}
	return nil
}

// instance names this process's services. It stays the same for a directory, so that a crawl that comes back finds its
// shards at once instead of waiting for itself to be given up.
func (e *engine) instance() string {
	if e.srv != nil {
		return "curtsy"
	}
	return service.InstanceName("curtsy", e.cfg.Dir)
}

// Run crawls until watch returns, then stops in the order in which nothing is lost for later: no more fetching, what was
// fetched applied and stored, the rest. watch gets the status from before the first request.
func (e *engine) Run(ctx context.Context, seeds []canon.URL, watch func(context.Context, crawl.Status) error) error {
	services, stopServices := context.WithCancel(context.WithoutCancel(ctx))
	defer stopServices()
	g, failed := errgroup.WithContext(services)
	g.Go(func() error { return named("frontier", e.frontier.Run(services)) })
	g.Go(func() error { return named("indexer", e.indexer.Run(services)) })
	g.Go(func() error { return e.follow(services) })
	if e.mail != nil {
		g.Go(func() error { return named("updates", e.mail.Run(services)) })
	}

	// A service that fails takes the whole down: the watcher should not wait for a crawl that is over.
	watching, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	unhook := context.AfterFunc(failed, stopWatching)
	defer unhook()
	first, err := e.begin(watching, seeds)
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

// begin waits for the services to be ready, submits the seeds, and lets other commands find the crawl now that it can answer
// them. When ctx ends meanwhile that is no error: the watcher will say why.
func (e *engine) begin(ctx context.Context, seeds []canon.URL) (first crawl.Status, err error) {
	for _, step := range []func() error{
		func() error { return frontier.WaitReady(ctx, e.q, e.spec) },
		func() error { return e.indexersReady(ctx) },
		func() error { first, err = e.status(ctx); return err },
		func() error { return frontier.Seed(ctx, e.q, e.spec, seeds) },
		e.writeServerFile,
	} {
		if err := step(); err != nil && ctx.Err() == nil {
			return first, err
		}
	}
	return first, nil
}

func named(service string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", service, err)
	}
	return nil
}

// settleFor is how long the end waits for the last outcomes to be applied. What is not applied by then stays in the log,
// and is applied when the crawl goes on.
const settleFor = 3 * time.Second

func (e *engine) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleFor)
	defer cancel()
	for ctx.Err() == nil {
		st, err := frontier.Ask(ctx, e.q, e.spec)
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
func (e *engine) follow(ctx context.Context) error {
	return service.WatchSpec(ctx, e.kv, e.spec, func(spec crawl.Spec) {
		err := errors.Join(e.frontier.SetSpec(spec), e.indexer.SetSpec(spec))
		if e.fetcher != nil {
			err = errors.Join(err, e.fetcher.SetSpec(spec))
		}
		if e.mail != nil {
			err = errors.Join(err, e.mail.SetSpec(spec))
		}
		if err != nil {
			e.log.Error("the changed spec is not followed", "err", err)
		}
	})
}

func (e *engine) writeServerFile() error {
	if e.srv == nil {
		return nil
	}
	return serverInfo{
		URL: e.srv.ClientURL(), User: e.srv.User(), Password: e.srv.Password(),
		Crawl: e.cfg.Crawl, PID: os.Getpid(), Started: time.Now().UTC(),
	}.write(e.cfg.Dir)
}

// indexersReady waits until every shard has an indexer.
func (e *engine) indexersReady(ctx context.Context) error {
	for ctx.Err() == nil {
		actx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		err := ask.Gather(actx, e.q.NC, crawl.Names(e.spec.Name), "indexer-status", struct{}{}, e.spec.Shards,
			func(json.RawMessage) error { return nil })
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
	return ctx.Err()
}

// Close closes what was opened, last first.
func (e *engine) Close() error {
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	if e.srv != nil && e.lock != nil {
		if err := os.Remove(filepath.Join(e.cfg.Dir, serverFile)); !errors.Is(err, fs.ErrNotExist) {
			keep(err)
		}
	}
	if e.mail != nil {
		keep(e.mail.Close())
	}
	if e.crawlLog != nil {
		keep(e.crawlLog.Close())
	}
	if e.q != nil {
		keep(e.q.Close())
	}
	if e.srv != nil {
		e.srv.Shutdown()
	}
	if e.lock != nil {
		keep(e.lock.Unlock())
	}
	return errors.Join(errs...)
}

// status asks the crawl's own frontier.
func (e *engine) status(ctx context.Context) (crawl.Status, error) {
	return frontier.Ask(ctx, e.q, e.spec)
}
