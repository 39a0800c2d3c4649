package frontier

import (
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

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Options says how a frontier runs. The zero value of a field means what its comment says.
type Options struct {
	Dir      string                // where the shards' files are; required
	Instance string                // this frontier's name: unique to Dir, a NATS subject token; required
	Log      *slog.Logger          // nil: none
	Registry prometheus.Registerer // nil: no metrics
	Embedded bool                  // the only frontier and, with its fetchers, one process: no lease need be waited for
	CrawlLog io.Writer             // one JSON line per URL fetched or refused; must be safe for concurrent use; nil: none
	Shards   []int                 // which to own; nil: all
	Term     time.Duration         // of shard ownership (T of design §3.1); 0: 10 s
	// StopGrace is how long a shard goes on applying its log after Run is told to stop, so that the outcomes of visits that
	// end now are committed instead of replayed; 0: 6 s, a second more than fetchers take.
	StopGrace time.Duration
}

// Frontier is the service. Make it with New; Run it once.
type Frontier struct {
	q     *queue.Conn
	opt   Options
	names crawl.Names
	log   *slog.Logger
	met   *metrics

	takes chan takeRequest
	wake  chan struct{}
	since time.Time

	saving sync.Mutex // held while the copy of the spec is written
	mu     sync.Mutex // guards j and shards
	j      judge
	shards map[int]*shard
	served map[int]bool // shards this process has had open before

	logs   []*queue.Log
	budget *budget
}

// New checks the spec and the options. It touches neither disk nor network.
func New(q *queue.Conn, spec crawl.Spec, o Options) (*Frontier, error) {
	if o.Dir == "" || o.Instance == "" {
		return nil, errors.New("frontier: Options.Dir and Options.Instance are required")
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("frontier: %d shards: use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	j, err := newJudge(spec)
	if err != nil {
		return nil, err
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Shards == nil {
		for i := range spec.Shards {
			o.Shards = append(o.Shards, i)
		}
	}
	if o.StopGrace == 0 {
		o.StopGrace = 6 * time.Second
	}
	f := &Frontier{
		q: q, opt: o, names: crawl.Names(spec.Name), log: o.Log, j: j, shards: map[int]*shard{}, served: map[int]bool{}, since: time.Now(),
		takes: make(chan takeRequest), wake: make(chan struct{}, 1),
	}
	f.budget = &budget{log: f.log.Error, limit: spec.MaxPages, maxBytes: spec.MaxBytes}
	f.met = newMetrics(o.Registry, f)
	return f, nil
}

// Run owns the shards and serves them until ctx ends; then it commits, releases them and returns nil. It blocks while
// the broker is away. It fails only on what waiting cannot mend.
func (f *Frontier) Run(ctx context.Context) error {
	if err := os.MkdirAll(f.opt.Dir, 0o700); err != nil {
		return err
	}
	if err := f.saveSpec(); err != nil {
		return err
	}
	spec := f.spec()
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
	f.budget.open(ctx, kv)

	// Granting ends with ctx; the shards go on for a little so that the last outcomes are applied and committed.
	g, gctx := errgroup.WithContext(ctx)
	stop, err := f.serveQuestions(gctx)
	if err != nil {
		return err
	}
	defer stop()
	g.Go(func() error { return f.match(gctx) })
	for _, id := range f.opt.Shards {
		g.Go(func() error { return f.runShard(gctx, id, kv) })
	}
	return g.Wait()
}

func (f *Frontier) spec() crawl.Spec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.j.spec
}

// saveSpec keeps a copy beside the files, for reading them while nothing runs.
func (f *Frontier) saveSpec() error {
	f.saving.Lock()
	defer f.saving.Unlock()
	b, err := json.MarshalIndent(f.spec(), "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(f.opt.Dir, specFile)
	if err := os.WriteFile(path+".new", append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// SetSpec replaces the crawl's spec while it runs: scope, limits and pause take effect at once. Safe for concurrent use.
func (f *Frontier) SetSpec(spec crawl.Spec) error {
	j, err := newJudge(spec)
	if err != nil {
		return err
	}
	f.mu.Lock()
	if spec.Shards != f.j.spec.Shards {
		f.mu.Unlock()
		return fmt.Errorf("frontier: the number of shards of crawl %q is fixed at %d", spec.Name, f.j.spec.Shards)
	}
	f.j = j
	shards := make([]*shard, 0, len(f.shards))
	for _, s := range f.shards {
		shards = append(shards, s)
	}
	f.mu.Unlock()
	f.budget.setLimit(spec.MaxPages, spec.MaxBytes)
	for _, s := range shards {
		s.mu.Lock()
		s.judgeBy(j)
		s.mu.Unlock()
	}
	signal(f.wake)
	return f.saveSpec()
}
