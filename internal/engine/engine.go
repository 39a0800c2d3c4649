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

// DefaultCrawl is the name of a crawl that was given none.
const DefaultCrawl = "default"

// Options say what a crawl in one process is made of.
type Options struct {
	Dir string // the data directory, made when missing; "": the working directory
	// NATS is the server to use. With neither address nor server in it the engine starts one of its
	// own, whose files are in Dir. Name is shown in its list of connections.
	NATS queue.Options
	// An embedded server that runs already, for this crawl alone, and goes on when the engine
	// ends; nil: see NATS.
	Server *embedded.Server
	// Crawl is the crawl's name; "": the one that Dir holds, or DefaultCrawl.
	Crawl string
	// Plan makes the spec of a crawl that does not exist yet (old is nil), or of one that goes on.
	// nil: it goes on as it is.
	Plan func(old *crawl.Spec) (crawl.Spec, error)
	// By is who plans, for the lines in the crawl log of what is another setting by that.
	By control.By
	// Submitted at the beginning; those that are known are tried again at once.
	Seeds []canon.URL
	// For the streams of a new crawl; zero: what an embedded server has room for.
	StreamLimits frontier.StreamLimits
	Instance     string // names the services; "": a name that stays the same for Dir

	Fetcher fetcher.Options // Name, Log, Registerer, Journal, Tracer and Alone are the engine's
	Tracer  *tracing.Tracer // of visits; nil: none is traced. Close it after the engine
	// By which reports of sites come in; the zero value: by none. Registry and Log are the engine's
	Mail       updates.MailOptions
	CrawlLog   frontier.CrawlLog // how much is kept of it; zero: all, in one file
	MinFree    int64             // as frontier.Options and indexer.Options have it
	Version    string            // of the program, for `nats micro`
	NotFetched bool              // no fetcher: nothing is crawled
	// No indexer: who asks after it hears that nothing waits to be stored.
	NotIndexed bool
	Unreached  bool // other commands are not told how to reach the crawl

	Log      *slog.Logger          // nil: silent
	Registry prometheus.Registerer // nil: no metrics
}

// embedded reports whether the crawl has a server of its own.
func (o *Options) embedded() bool {
	return o.Server != nil || o.NATS.URL == "" && o.NATS.InProcess == nil
}

// Engine is a crawl that can be run. Open it, Run it once, Close it.
type Engine struct {
	o    Options
	lock *service.Lock
	srv  *embedded.Server // nil with a server that others have
	q    *queue.Conn
	kv   jetstream.KeyValue
	spec crawl.Spec
	// lines of how the crawl was taken up, for which there was no room before it runs
	untold []crawl.Audit

	last     crawl.Status // as the crawl was left, once Run has returned
	crawlLog io.WriteCloser
	frontier *frontier.Frontier
	fetcher  *fetcher.Fetcher // nil: nothing is crawled
	indexer  *indexer.Indexer // nil: pages are not taken off the hand-off
	mail     *updates.Service // nil: no reports are taken by mail
}

// Open takes the directory, connects, and creates the crawl or finds it there.
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

// IsNew reports whether a crawl with a server of its own is surely not in dir yet.
func IsNew(dir string) bool {
	_, err := os.Stat(natsDir(dir))
	return errors.Is(err, fs.ErrNotExist)
}

func natsDir(dir string) string { return filepath.Join(dir, "nats") }

// InUseError: a data directory holds one crawl, and this is not the one that was asked for.
type InUseError struct {
	Dir, Crawl string // what it holds
	// Served: it has a server of its own there, and was asked for on another.
	Served bool
	// Remote: it is on a NATS server elsewhere, and was asked for with a server of its own.
	Remote bool
}

// Error names the crawl that is there.
func (e *InUseError) Error() string {
	if e.Served {
		return fmt.Sprintf("%s contains the crawl %q, which has its own NATS server", e.Dir, e.Crawl)
	}
	if e.Remote {
		return fmt.Sprintf("%s contains the crawl %q, which uses another NATS server", e.Dir, e.Crawl)
	}
	return fmt.Sprintf("%s contains the crawl %q", e.Dir, e.Crawl)
}

// checkInUse is a InUseError if the directory's files are another crawl's than ours: they would be
// taken for ours, since our server knows of none.
func (e *Engine) checkInUse() error {
	spec, err := frontier.ReadSpec(e.o.Dir)
	if err != nil {
		return nil // there are none; or who writes the spec anew will say what is wrong
	}
	if _, err := os.Stat(filepath.Join(natsDir(e.o.Dir), "lock")); err == nil && e.srv == nil {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name, Served: true}
	}
	// A crawl with a server of its own has the store of that server beside its spec.
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
	// A crawl that was killed has left it. It would have others knock where nobody is.
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
		e.spec, e.untold = p.Spec, p.Untold
	}
	if err != nil {
		return err
	}
	return e.makeServices(ctx)
}

// connect starts the embedded server, or dials the one that was named, and finds out which crawl it
// is.
func (e *Engine) connect(ctx context.Context) (err error) {
	nats := e.o.NATS
	if e.srv = e.o.Server; e.srv == nil && e.o.embedded() {
		if IsNew(e.o.Dir) { // a new server has no crawl
			e.o.Crawl = cmp.Or(e.o.Crawl, DefaultCrawl)
			// The directory may be that of another crawl, or of one of the same name on a NATS
			// server elsewhere. The store of a server must not be left in it: that crawl would be
			// refused then, as one with a server of its own.
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
	if e.srv != nil { // it holds one crawl, whose name need not be said again
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

// streamLimits is what the streams of a new crawl may hold.
func (e *Engine) streamLimits(spec crawl.Spec) frontier.StreamLimits {
	room := e.o.StreamLimits
	if e.srv != nil && room.Events == 0 && room.Pages == 0 {
		room.Events, room.Pages = embedded.Budget(e.srv.MaxStore(), spec.Shards)
	}
	return room
}

// Create makes the crawl that plan asks for, or changes the one there is, as control.Plan does. The
// streams of a new one are there before its spec, which is what services wait for.
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

// Instance names this process's services. Unless Options has the name, it stays the same for a
// directory, so that a crawl that comes back finds its shards at once instead of waiting for itself
// to be given up.
func (e *Engine) Instance() string {
	switch {
	case e.o.Instance != "":
		return e.o.Instance
	case e.srv != nil:
		return "curtsy"
	}
	return service.InstanceName("curtsy", e.o.Dir)
}

// Spec is the crawl's, as it was opened.
func (e *Engine) Spec() crawl.Spec { return e.spec }

// Crawl is the crawl as others ask it. Close the Engine, not the Crawl.
func (e *Engine) Crawl() *asker.Crawl { return asker.Running(e.q, e.kv, e.spec) }

// Last is the accounting as the crawl was left, once Run has returned.
func (e *Engine) Last() crawl.Status { return e.last }

// Violations counts requests that the fetcher stopped at the last moment for being impolite.
func (e *Engine) Violations() int64 {
	if e.fetcher == nil {
		return 0
	}
	return e.fetcher.Violations()
}

// Close closes what was opened, last first.
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
