package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Engine is a crawl that can be run. Open it, Run it once, Close it.
type Engine struct {
	o    Options
	lock *service.Lock
	srv  *embedded.Server // nil: another server is used
	q    *queue.Conn
	kv   jetstream.KeyValue
	spec crawl.Spec
	// lines for the crawl log that could not be queued before the crawl runs
	unlogged []crawl.Audit

	last     crawl.Status // the final status, after Run has returned
	crawlLog io.WriteCloser
	frontier *frontier.Frontier
	fetcher  *fetcher.Fetcher // nil: see Options.NotFetched
	indexer  *indexer.Indexer // nil: see Options.NotIndexed
	mail     *updates.Service // nil: no reports are received
}

// Open locks the directory, connects, and creates the crawl or opens the existing one.
func Open(ctx context.Context, o Options) (*Engine, error) {
	if o.Dir == "" {
		o.Dir = "."
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o}
	if err := e.open(ctx); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Engine) open(ctx context.Context) (err error) {
	if e.o.Plan == nil && e.o.Server == nil && e.o.embedded() && IsNew(e.o.Dir) {
		return fmt.Errorf("the crawl in %s uses a NATS server; add --nats URL --crawl NAME", e.o.Dir)
	}
	if e.lock, err = Lock(e.o.Dir); err != nil {
		return err
	}
	// A killed crawl leaves the file. Other commands would try to reach a server that does not run.
	if err := os.Remove(filepath.Join(e.o.Dir, serverFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := e.connect(ctx); err != nil {
		return err
	}
	if e.kv, err = e.q.OpenBucket(ctx, crawl.Names(e.o.Crawl).Bucket(), e.o.StreamLimits.Replicas); err != nil {
		return err
	}
	if e.o.Plan == nil {
		e.spec, err = service.ReadSpec(ctx, e.kv)
	} else {
		var p control.Planned
		p, _, err = Create(ctx, e.q, e.kv, e.streamLimits, e.o.By, e.o.Plan)
		e.spec, e.unlogged = p.Spec, p.Unlogged
	}
	if err != nil {
		return err
	}
	return e.makeServices(ctx)
}

func (e *Engine) makeServices(ctx context.Context) (err error) {
	o := &e.o
	if e.crawlLog, err = o.CrawlLog.Open(o.Dir); err != nil {
		return err
	}
	instance := e.Instance()
	e.frontier, err = frontier.New(e.q, e.spec, frontier.Options{
		Dir: o.Dir, Instance: instance, Log: o.Log, Registry: o.Registry, Embedded: e.srv != nil, CrawlLog: e.crawlLog, MinFree: o.MinFree,
		Tracer: o.Tracer,
	})
	if err != nil {
		return err
	}
	if !o.NotIndexed {
		e.indexer, err = indexer.New(e.q, e.spec, indexer.Options{
			Dir: o.Dir, Instance: instance, Log: o.Log, Registry: o.Registry, Embedded: e.srv != nil, Search: e.spec.Search,
			Version: o.Version, MinFree: o.MinFree, Tracer: o.Tracer,
		})
		if err != nil {
			return err
		}
	}
	if !o.NotFetched {
		f := o.Fetcher
		f.Name, f.Log, f.Registerer, f.RequestLog = instance, o.Log, o.Registry, filepath.Join(o.Dir, "requests.journal")
		f.Tracer, f.Alone = o.Tracer, e.srv != nil
		if e.srv != nil && e.indexer != nil {
			f.SendPages = e.indexer.TakePages // otherwise they would go through the server's files
		}
		if e.fetcher, err = fetcher.New(e.q, e.spec, f); err != nil {
			return err
		}
	}
	if o.Mail.On() {
		m := o.Mail
		m.Log, m.Registry = o.Log, o.Registry
		if e.mail, err = updates.NewService(ctx, e.q, e.kv, e.spec, m); err != nil {
			return err
		}
	}
	return nil
}

// Instance is the name of the services of this process. Unless Options has a name, it depends on
// the directory only. So a crawl that is resumed owns its shards at once, and does not wait for its
// own claims to expire.
func (e *Engine) Instance() string {
	switch {
	case e.o.Instance != "":
		return e.o.Instance
	case e.srv != nil:
		return "curtsy"
	}
	return service.InstanceName("curtsy", e.o.Dir)
}

// Spec is the spec of the crawl when it was opened.
func (e *Engine) Spec() crawl.Spec { return e.spec }

// Crawl returns the crawl for questions. Close the Engine, not the Crawl.
func (e *Engine) Crawl() *asker.Crawl { return asker.Running(e.q, e.kv, e.spec) }

// Last is the final status of the crawl, after Run has returned.
func (e *Engine) Last() crawl.Status { return e.last }

// Violations counts requests that the fetcher prevented at the last moment because they were
// impolite.
func (e *Engine) Violations() int64 {
	if e.fetcher == nil {
		return 0
	}
	return e.fetcher.Violations()
}

// Renders reports whether the crawl has the scripts of pages run here.
func (e *Engine) Renders() bool { return e.fetcher != nil && e.fetcher.Renders() }

// Close closes everything, in the reverse order of opening.
func (e *Engine) Close() error {
	var errs []error
	keep := func(err error) { errs = append(errs, err) }
	if e.srv != nil && e.lock != nil {
		if err := os.Remove(filepath.Join(e.o.Dir, serverFile)); !errors.Is(err, fs.ErrNotExist) {
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
	if e.srv != nil && e.srv != e.o.Server {
		e.srv.Shutdown()
	}
	if e.lock != nil {
		keep(e.lock.Unlock())
	}
	return errors.Join(errs...)
}
