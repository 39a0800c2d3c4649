package frontier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/internal/updates"
	"github.com/curtsy/curtsy/pkg/queue"
)

// LeaseTime is how long a visit lasts without being renewed (L of design.md §3).
const LeaseTime = times.Lease

// Options configure a frontier. The comment of a field says what its zero value means.
type Options struct {
	Dir string // directory of the shards' files; required
	// This frontier's name: unique to Dir, a NATS subject token; required.
	Instance string
	Log      *slog.Logger          // nil: none
	Registry prometheus.Registerer // nil: no metrics
	// Embedded says that this is the only frontier, and that its fetchers are in the same process.
	// It then need not wait for leases of earlier processes, whose fetchers have ended with them.
	Embedded bool
	Tracer   *tracing.Tracer // traces visits; nil: none are traced
	// One JSON line per URL fetched or refused; must be safe for concurrent use; nil: none.
	CrawlLog io.Writer
	// The shards to own, whatever other frontiers there are; nil: its share of the crawl's shards.
	Shards []int
	// Checkpoint is the growth of a shard's log in bytes after which its state is copied to NATS
	// again. It is more when the copy is larger than twice that. 0: 64 MiB. Not used when Embedded.
	Checkpoint int64
	// Deltas says which checkpoints contain only what has changed.
	Deltas restore.Deltas
	// Free bytes of Dir's disk below which nothing is granted; 0: max(1 GiB, 5 %).
	MinFree int64
	Term    time.Duration // of shard ownership (T of design §3.1); 0: 10 s
	// StopGrace is how long leaving a shard in order may take after Run was asked to stop. When
	// Embedded, it is how long the log is still applied, so that the outcomes of visits that end
	// now are committed instead of replayed; 0: 6 s, a second more than fetchers take. Otherwise it
	// is for the checkpoint with which the shard is handed over; 0: 20 s.
	StopGrace time.Duration
	// Fault is called before and after each commit ("commit frontier-0.db", "committed
	// frontier-0.db"), and before and after a message to another shard or an indexer is sent
	// ("send", "sent"). If it returns an error, that operation fails with it. It is nil except in
	// tests that end a frontier at such a point.
	Fault func(point string) error
}

// Frontier is the service. Make it with New; call Run once.
type Frontier struct {
	q       *queue.Conn
	opt     Options
	names   crawl.Names
	log     *slog.Logger
	metrics *store.Metrics

	traces *tracing.Crawl // nil: none are made

	matcher *matcher

	saving sync.Mutex // locked while the copy of the spec is written
	mu     sync.Mutex // guards j, floor, shards and pages
	j      judge.Judge
	floor  interface{ Err() error } // reports too little free disk space; nil before Run
	shards map[int]*Shard
	served map[int]bool // shards that this process has had open before

	logs        []*queue.Log
	pages       *queue.Work // to the indexers; nil until it is needed
	files       *restore.Files
	checkpoints *restore.Checkpoints // nil when Embedded
	claims      *claims
	moving      semaphore       // limits concurrent hand-overs
	grace       context.Context // ends StopGrace after Run was asked to stop
	budget      *budget.Budget
	slots       *schedule.Slots
	secret      []byte // key for the mail addresses given to sites
}

// New checks the spec and the options. It touches neither disk nor network.
func New(q *queue.Conn, spec crawl.Spec, o Options) (*Frontier, error) {
	if o.Dir == "" || o.Instance == "" {
		return nil, errors.New("frontier: Options.Dir and Options.Instance are required")
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("frontier: %d shards are not possible: use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	j, err := judge.New(spec)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.StopGrace == 0 && o.Embedded {
		o.StopGrace = 6 * time.Second
	}
	o.StopGrace = cmp.Or(o.StopGrace, 20*time.Second)
	f := &Frontier{
		q: q, opt: o, names: crawl.Names(spec.Name), log: o.Log, j: j, traces: o.Tracer.Of(spec), shards: map[int]*Shard{}, served: map[int]bool{},
		claims: newClaims(), moving: make(semaphore, 4),
	}
	f.slots = schedule.NewSlots()
	f.budget = &budget.Budget{Log: f.log.Error, Async: true, Embedded: o.Embedded}
	f.budget.SetLimit(spec.MaxPages, spec.MaxBytes)
	f.metrics = store.NewMetrics(o.Registry)
	f.matcher = newMatcher(o.Instance, spec.Shards, f.open, f.full, f.log, f.metrics, f.traces, f.slots)
	if o.Registry != nil {
		o.Registry.MustRegister(&collector{f: f})
	}
	return f, nil
}

// Run owns the shards and serves them until ctx ends; then it commits, releases them and returns
// nil. It blocks while the broker is unavailable. It fails only for reasons that waiting cannot
// remove.
func (f *Frontier) Run(ctx context.Context) error {
	err := f.run(ctx)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped while it waited for something, such as a missing stream
	}
	return err
}

func (f *Frontier) run(ctx context.Context) error {
	if err := os.MkdirAll(f.opt.Dir, disk.DirMode); err != nil {
		return err
	}
	spec := f.spec()
	if err := CheckDir(f.opt.Dir, spec.Name); err != nil {
		return err
	}
	if err := f.saveSpec(); err != nil {
		return err
	}
	for i := range spec.Shards {
		l, err := f.q.OpenLog(ctx, queue.LogConfig{Stream: f.names.EventsStream(i), Subject: f.names.EventsSubject(i)})
		if err != nil {
			return fmt.Errorf("frontier: event log %d: %w", i, err)
		}
		f.logs = append(f.logs, l)
	}
	kv, err := f.q.OpenBucket(ctx, f.names.Bucket(), 0)
	if err != nil {
		return fmt.Errorf("frontier: %w", err)
	}
	secrets, err := f.q.OpenSmallBucket(ctx, f.names.Secrets())
	if err != nil {
		return fmt.Errorf("frontier: %w", err)
	}
	err = f.q.Patiently(ctx, func(ctx context.Context) (err error) {
		f.secret, err = updates.Secret(ctx, secrets, kv)
		return err
	})
	if err != nil {
		return fmt.Errorf("frontier: %w", err)
	}
	floor, err := disk.New(f.opt.Dir, f.opt.MinFree)
	if err != nil {
		return fmt.Errorf("frontier: %w", err)
	}
	f.mu.Lock()
	if f.floor == nil { // otherwise a test has set it
		f.floor = floor
	}
	f.mu.Unlock()
	if err := f.openFiles(ctx, kv); err != nil {
		return fmt.Errorf("frontier: %w", err)
	}

	// Granting ends with ctx. The shards continue a little longer, so that the last outcomes are
	// applied and committed.
	g, gctx := errgroup.WithContext(ctx)
	grace, endGrace := context.WithCancel(context.WithoutCancel(ctx))
	defer endGrace()
	defer context.AfterFunc(gctx, func() { time.AfterFunc(f.opt.StopGrace, endGrace) })()
	f.grace = grace
	f.budget.Open(grace, kv) // a shard that is handed over releases its reserved slots
	stop, err := f.serveQuestions()
	if err != nil {
		return err
	}
	defer stop()
	g.Go(func() error { return f.matcher.run(gctx, f.q.NC, f.names.VisitRequest(f.opt.Instance)) })
	g.Go(func() error {
		floor.Watch(gctx, f.log, func(error) { store.Signal(f.matcher.wake) })
		return nil
	})
	if f.opt.Embedded || f.opt.Shards != nil {
		f.claims.set(f.allShards())
	} else {
		g.Go(func() error { return f.followMembers(gctx) })
	}
	if !f.opt.Embedded {
		g.Go(func() error { return f.files.Sweep(gctx, f.claims.has) })
		g.Go(func() error { return f.budget.ReportBytes(gctx) })
	}
	for _, id := range f.allShards() {
		g.Go(func() error { return f.runShard(gctx, id, kv) })
	}
	return g.Wait()
}

// openFiles opens what the state of the shards is restored from.
func (f *Frontier) openFiles(ctx context.Context, kv jetstream.KeyValue) (err error) {
	o := restore.Options{
		Dir: f.opt.Dir, Instance: f.opt.Instance, Embedded: f.opt.Embedded, Shards: f.spec().Shards, Every: f.opt.Checkpoint,
		Queue: f.q, Names: f.names, Records: kv, Logs: f.logs, Log: f.log, Metrics: f.metrics,
	}
	if !f.opt.Embedded {
		if f.checkpoints, err = restore.OpenCheckpoints(ctx, o); err != nil {
			return err
		}
	}
	f.files = restore.NewFiles(o, f.checkpoints)
	return nil
}

// fault calls Options.Fault.
func (f *Frontier) fault(point string) error {
	if f.opt.Fault == nil {
		return nil
	}
	return f.opt.Fault(point)
}

// full is the error that prevents grants because the disk has too little free space, or nil.
func (f *Frontier) full() error {
	f.mu.Lock()
	floor := f.floor
	f.mu.Unlock()
	if floor == nil {
		return nil
	}
	return floor.Err()
}

func (f *Frontier) spec() crawl.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.j.Spec
}

// open returns the owned shards, in no order. A shard whose ownership has expired is left out: most
// likely another frontier owns it, and answers for it.
func (f *Frontier) open() (owned []*Shard) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.shards {
		if s.Ledger.Valid() {
			owned = append(owned, s)
		}
	}
	return owned
}

// saveSpec writes a copy of the spec beside the files, so that they can be read while nothing runs.
func (f *Frontier) saveSpec() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	b, err := json.MarshalIndent(f.spec(), "", "  ")
	if err != nil {
		return err
	}
	return disk.Replace(filepath.Join(f.opt.Dir, specFile), append(b, '\n'))
}

// SetSpec replaces the crawl's spec while it runs: scope, limits and pause take effect at once. It
// is safe for concurrent use.
func (f *Frontier) SetSpec(spec crawl.Spec) error {
	j, err := judge.New(spec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if spec.Shards != f.j.Spec.Shards {
		f.mu.Unlock()
		return fmt.Errorf("frontier: the number of shards of crawl %q is fixed at %d", spec.Name, f.j.Spec.Shards)
	}
	f.j = j
	shards := make([]*Shard, 0, len(f.shards))
	for _, s := range f.shards {
		shards = append(shards, s)
	}
	f.mu.Unlock()
	f.budget.SetLimit(spec.MaxPages, spec.MaxBytes)
	for _, s := range shards {
		s.Ledger.Mu.Lock()
		s.Ledger.Guarded(func() error { s.Specs.Change(j); return nil })
		s.Ledger.Mu.Unlock()
	}
	store.Signal(f.matcher.wake)
	return f.saveSpec()
}
