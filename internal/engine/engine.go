package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/control"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// DefaultCrawl is the name of a crawl if none is given.
const DefaultCrawl = "default"

// Options configure a crawl in one process.
type Options struct {
	Dir string // the data directory, created if missing; "": the working directory
	// NATS is the server to use. Without an address and without a server in it, the engine starts
	// an embedded server, whose files are in Dir. Name is shown in its list of connections.
	NATS queue.Options
	// Server is an embedded server that runs already. It serves only this crawl, and continues when
	// the engine ends. nil: see NATS.
	Server *embedded.Server
	// Crawl is the name of the crawl; "": the one in Dir, or DefaultCrawl.
	Crawl string
	// Plan returns the spec of a new crawl (old is nil) or of one that continues. nil: it continues
	// unchanged.
	Plan func(old *crawl.Spec) (crawl.Spec, error)
	// By is the operator for the lines in the crawl log about settings that Plan changes.
	By control.By
	// Seeds are submitted at the beginning. Those that are known already are tried again at once.
	Seeds []canon.URL
	// StreamLimits are for the streams of a new crawl; zero: what the embedded server can store.
	StreamLimits frontier.StreamLimits
	Instance     string // the name of the services; "": one that depends on Dir only

	Fetcher fetcher.Options // the engine sets Name, Log, Registerer, RequestLog, Tracer and Alone
	Tracer  *tracing.Tracer // of visits; nil: no traces. Close it after the engine
	// Mail says how reports of sites are received; zero: not at all. The engine sets Registry and
	// Log.
	Mail       updates.MailOptions
	CrawlLog   frontier.CrawlLog // how much of it is kept; zero: all, in one file
	MinFree    int64             // see frontier.Options and indexer.Options
	Version    string            // of the program, for `nats micro`
	NotFetched bool              // without a fetcher: nothing is crawled
	// NotIndexed: without an indexer. The engine itself answers that no page waits to be stored.
	NotIndexed bool
	Unreached  bool // the address of the crawl is not published for other commands

	Log      *slog.Logger          // nil: silent
	Registry prometheus.Registerer // nil: no metrics
}

// embedded reports whether the crawl has an embedded server.
func (o *Options) embedded() bool {
	return o.Server != nil || o.NATS.URL == "" && o.NATS.InProcess == nil
}

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

// IsNew reports whether dir certainly has no crawl with an embedded server yet.
func IsNew(dir string) bool {
	_, err := os.Stat(natsDir(dir))
	return errors.Is(err, fs.ErrNotExist)
}

func natsDir(dir string) string { return filepath.Join(dir, "nats") }

// InUseError says that a data directory contains another crawl than the requested one.
type InUseError struct {
	Dir, Crawl string // the directory, and the crawl in it
	// Served: that crawl has an embedded server, and another server was requested.
	Served bool
	// Remote: that crawl uses another NATS server, and an embedded one was requested.
	Remote bool
}

// Error names the crawl in the directory.
func (e *InUseError) Error() string {
	if e.Served {
		return fmt.Sprintf("%s contains the crawl %q, which has its own NATS server", e.Dir, e.Crawl)
	}
	if e.Remote {
		return fmt.Sprintf("%s contains the crawl %q, which uses another NATS server", e.Dir, e.Crawl)
	}
	return fmt.Sprintf("%s contains the crawl %q", e.Dir, e.Crawl)
}

// checkInUse returns an InUseError if the files in the directory belong to another crawl. Otherwise
// they would be used for ours, because our server does not know the other crawl.
func (e *Engine) checkInUse() error {
	spec, err := frontier.ReadSpec(e.o.Dir)
	if err != nil {
		return nil // there are no files, or whoever writes the spec again reports the error
	}
	if _, err := os.Stat(filepath.Join(natsDir(e.o.Dir), "lock")); err == nil && e.srv == nil {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name, Served: true}
	}
	// A crawl with an embedded server has the store of the server beside its spec.
	if e.srv == nil && e.o.embedded() && IsNew(e.o.Dir) {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name, Remote: true}
	}
	if spec.Name != e.o.Crawl {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name}
	}
	return nil
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

// connect starts the embedded server, or connects to the given one, and finds out the name of the
// crawl.
func (e *Engine) connect(ctx context.Context) (err error) {
	nats := e.o.NATS
	if e.srv = e.o.Server; e.srv == nil && e.o.embedded() {
		if IsNew(e.o.Dir) { // a new server has no crawl
			e.o.Crawl = cmp.Or(e.o.Crawl, DefaultCrawl)
			// The directory may belong to another crawl, or to one of the same name on another NATS
			// server. No store of an embedded server must be left in it, or that crawl would be
			// refused later as one with an embedded server.
			if err := e.checkInUse(); err != nil {
				return err
			}
		}
		e.srv, err = embedded.Start(embedded.Options{Dir: natsDir(e.o.Dir), Listen: "127.0.0.1:0", Log: e.o.Log})
		if err != nil {
			return err
		}
	}
	if e.srv != nil {
		nats = queue.Options{InProcess: e.srv.InProcess(), User: e.srv.User(), Password: e.srv.Password(), Name: nats.Name}
	}
	if e.q, err = queue.Dial(ctx, nats, e.o.Log); err != nil {
		return err
	}
	if e.srv != nil { // it has only one crawl, so the name is optional
		there, err := asker.Crawls(ctx, e.q)
		if err != nil {
			return err
		}
		if len(there) > 0 && e.o.Crawl == "" {
			e.o.Crawl = there[0]
		} else if len(there) > 0 && e.o.Crawl != there[0] {
			return &InUseError{Dir: e.o.Dir, Crawl: there[0]}
		}
	}
	if e.o.Crawl == "" {
		e.o.Crawl = DefaultCrawl
	}
	return e.checkInUse()
}

// streamLimits returns the limits for the streams of a new crawl.
func (e *Engine) streamLimits(spec crawl.Spec) frontier.StreamLimits {
	room := e.o.StreamLimits
	if e.srv != nil && room.Events == 0 && room.Pages == 0 {
		room.Events, room.Pages = embedded.Budget(e.srv.MaxStore(), spec.Shards)
	}
	return room
}

// Create creates the crawl that plan describes, or changes the existing one as control.Plan does.
// The streams of a new crawl exist before its spec, because services wait for the spec.
func Create(ctx context.Context, q *queue.Conn, kv jetstream.KeyValue, room func(crawl.Spec) frontier.StreamLimits, by control.By,
	plan func(old *crawl.Spec) (crawl.Spec, error)) (p control.Planned, created bool, err error) {
	spec, err := service.ReadSpec(ctx, kv)
	if errors.Is(err, service.ErrNoSpec) {
		created = true
		if spec, err = plan(nil); err == nil {
			err = frontier.EnsureStreams(ctx, q, spec, room(spec))
		}
	}
	if err != nil {
		return p, false, err
	}
	p, err = control.Plan(ctx, asker.Running(q, kv, spec), by, plan)
	return p, created, err
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
