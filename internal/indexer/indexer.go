package indexer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/archive"
	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/internal/tracing"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Options are the settings of an indexer.
type Options struct {
	// Dir contains the files of the shards. It is made if it is missing. The caller must have
	// locked it. Required.
	Dir      string
	Instance string // the name of this indexer, the same for a directory after a restart. Required
	// Search maintains a full-text index. Without it pages are stored and listed, and a later run
	// with Search indexes them.
	Search   bool
	Embedded bool                  // the only indexer of the crawl: it has all shards
	Version  string                // of the program, for `nats micro`
	Log      *slog.Logger          // nil: no log
	Registry prometheus.Registerer // nil: no metrics
	Tracer   *tracing.Tracer       // of visits; nil: none is traced
	// RebuildAfter is how long the indexer with a shard's pages may be absent before this one
	// begins with an empty store and the frontier has the pages crawled again. 0 means for ever.
	RebuildAfter time.Duration
	// MinFree is the free space on Dir's disk, in bytes, below which nothing is stored. 0 means the
	// larger of 1 GiB and 5 %.
	MinFree int64
	Term    time.Duration // of shard ownership (T of design §3.1); 0: 10 s
	// ArchiveFile is the largest size of a file of the archive, in bytes, if the crawl has one. 0
	// means 1 GiB.
	ArchiveFile int64
	// IntakeFile is about the size in bytes of a file of pages that were taken over and are not
	// stored yet. 0 means 8 MiB, which is also the maximum.
	IntakeFile int64
	// Pace is the shortest time between the beginnings of two commits of a shard, so that
	// everything that arrives meanwhile shares one fsync. 0 means 125 ms.
	Pace time.Duration
	// Fault is called before and after each commit ("commit pages-0.db", "committed pages-0.db"),
	// and before a batch of messages is acknowledged ("acknowledge"). If it returns an error, that
	// action fails with it. It is nil except in tests that end an indexer at such a point.
	Fault func(point string) error
	// Try reads a page that was being read when an earlier process ended, and returns an error if
	// that ended the process again. nil means that it is read in a process of its own, if the
	// program called Trial.
	Try func(*pages.Page) error
}

// Indexer is the service. Make it with New and run it once. Status may be called at any time.
type Indexer struct {
	q       *queue.Conn
	o       Options
	names   crawl.Names
	log     *slog.Logger
	metrics *metrics
	// nil if Search is off
	traces    *tracing.Crawl
	analyzing chan struct{}  // a token per search index that may analyze at the same time
	readers   search.Readers // of all search indexes
	// a token for building a search index again, so that one shard after another does it
	building chan struct{}
	work     *queue.Work

	forgotten atomic.Pointer[crawl.Forgotten] // by spec
	rules     atomic.Pointer[siterules.Rules] // by spec

	// What takedowns did to the archive since the process began.
	archiveFiles, archiveRecords, archiveOutlinks atomic.Int64
	archived                                      archive.Sizes
	types                                         typeCounts

	assignments *assignment.Assignments
	marks       *marks // of the directory; before Run they only recover pages

	// step makes the next action fail, as if the process had been killed there.
	step func(string) error
	// How long a failed message waits before it comes again; 0 as in queue.ConsumeOptions.
	retry time.Duration

	mu      sync.Mutex // guards what follows
	spec    crawl.Spec
	shards  map[int]*shard // owned now
	opened  chan struct{}  // closed when a shard is added; nil: nobody waits for that
	changed chan struct{}  // closed and replaced when spec changes
	full    error          // why nothing is stored; it is about the disk
	filled  chan struct{}  // closed and replaced when full changes
}

// New checks spec and options. It uses neither disk nor network.
func New(q *queue.Conn, spec crawl.Spec, o Options) (*Indexer, error) {
	if o.Dir == "" || o.Instance == "" {
		return nil, errors.New("indexer: Options.Dir and Options.Instance are required")
	}
	if err := crawl.CheckName(spec.Name); err != nil {
		return nil, fmt.Errorf("indexer: %w", err)
	}
	if spec.Shards < 1 || spec.Shards > crawl.MaxShards {
		return nil, fmt.Errorf("indexer: %d shards: use 1 to %d", spec.Shards, crawl.MaxShards)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Pace == 0 {
		o.Pace = 125 * time.Millisecond
	}
	if o.Term == 0 {
		o.Term = 10 * time.Second
	}
	x := &Indexer{
		q: q, o: o, names: crawl.Names(spec.Name), log: o.Log, spec: spec, traces: o.Tracer.Of(spec), shards: make(map[int]*shard), changed: make(chan struct{}),
		// Search may use half of the processors, so that the crawl has the other half.
		analyzing: make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		building:  make(chan struct{}, 1),
		step:      func(string) error { return nil }, filled: make(chan struct{}),
	}
	if x.o.Try == nil {
		x.o.Try = ownProcess(func() string {
			x.mu.Lock()
			defer x.mu.Unlock()
			return x.spec.Sites
		})
	}
	x.assignments = assignment.New(x.assignmentOptions())
	x.marks = newMarks(o.Log)
	x.setForgotten(spec)
	rules, err := siterules.Of(&spec)
	if err != nil {
		return nil, fmt.Errorf("indexer: %w", err)
	}
	x.rules.Store(rules)
	if x.metrics, err = newMetrics(o.Registry, x); err != nil {
		return nil, fmt.Errorf("indexer metrics: %w", err)
	}
	return x, nil
}

// assignmentOptions are the settings of the assignment for this indexer. Fields that New sets later
// are read when they are needed.
func (x *Indexer) assignmentOptions() assignment.Options {
	return assignment.Options{
		Queue: x.q, Crawl: x.names, Shards: x.spec.Shards, Dir: x.o.Dir, Instance: x.o.Instance, Embedded: x.o.Embedded, Term: x.o.Term,
		RebuildAfter: x.o.RebuildAfter, Log: x.log, Serve: x.serve, Mine: x.mine, Publish: x.publish, Space: x.space,
		Step:     func(what string) error { return x.step(what) },
		Fault:    x.o.Fault,
		Moved:    func(direction string, took time.Duration) { x.metrics.moved(direction, took) },
		NotMoved: func() { x.metrics.notMoved.Inc() },
		Rebuilt:  func() { x.metrics.rebuilds.Inc() },
	}
}

// SetSpec applies a changed spec. Name and shards cannot change, and search is switched on or off
// only at the start. Scope and limits do not concern an indexer.
func (x *Indexer) SetSpec(spec crawl.Spec) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if spec.Name != x.spec.Name || spec.Shards != x.spec.Shards {
		return fmt.Errorf("indexer: crawl %s with %d shards cannot be changed to %s with %d", x.spec.Name, x.spec.Shards, spec.Name, spec.Shards)
	}
	if spec.Search != x.spec.Search {
		x.log.Info("search is switched on or off when the indexer starts again", "search", spec.Search)
	}
	rules, err := siterules.Of(&spec)
	if err != nil {
		return fmt.Errorf("indexer: %w", err)
	}
	if spec.Sites != x.spec.Sites {
		for _, s := range x.shards {
			s.ruling.pending.Store(true) // before anybody can conclude that the crawl is done
		}
		x.rules.Store(rules)
	}
	if spec.LinkText() != x.spec.LinkText() {
		for _, s := range x.shards {
			s.links.pending.Store(true) // likewise
		}
	}
	if !slices.Equal(spec.Forgotten, x.spec.Forgotten) {
		for _, s := range x.shards {
			s.forgetting.Store(true) // likewise
		}
		x.setForgotten(spec) // its pages are hidden from now on
	}
	x.spec = spec
	close(x.changed)
	x.changed = make(chan struct{})
	return nil
}

// specChanged returns a channel that is closed when the spec is replaced.
func (x *Indexer) specChanged() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.changed
}

// Run stores and indexes the pages of its shards and answers questions until ctx ends. Then it
// finishes the current batch, closes its files, releases its shards and returns nil. It waits until
// the streams of the crawl exist, and while the broker is unreachable. It fails only if waiting
// cannot help, for example for a file of another format.
func (x *Indexer) Run(ctx context.Context) error {
	err := x.run(ctx)
	switch {
	case err == nil, ctx.Err() != nil && errors.Is(err, context.Canceled):
		return nil // it was stopped while something was running
	case ctx.Err() == nil:
		return fmt.Errorf("indexer: %w", err)
	}
	return err
}

func (x *Indexer) run(ctx context.Context) error {
	if err := os.MkdirAll(x.o.Dir, disk.DirMode); err != nil {
		return err
	}
	floor, err := disk.New(x.o.Dir, x.o.MinFree)
	if err != nil {
		return err
	}
	x.setFull(floor.Err())
	x.marks = openMarks(x.o.Dir, 5*time.Second, x.log, x.o.Try)
	x.marks.count = x.metrics.unreadable.Inc
	defer x.marks.close()
	kv, err := x.q.OpenBucket(ctx, x.names.Bucket(), 0)
	if err != nil {
		return err
	}
	if err := x.openWork(ctx); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	svc, err := ask.NewService(x.q.NC, x.names, "indexer", x.o.Instance, x.o.Version)
	if err == nil {
		defer svc.Stop()
		err = svc.HandleAll(x.ids, x.answers().handlers(questions.JudgeLinks.Handle(x.previewLinks)))
	}
	g.Go(func() error { return err })
	g.Go(func() error { floor.Watch(ctx, x.log, x.setFull); return nil })
	g.Go(func() error { return x.assignments.Run(ctx, kv) })
	return g.Wait()
}

// setFull records why nothing can be stored. nil means that pages can be stored.
func (x *Indexer) setFull(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.full = err
	close(x.filled)
	x.filled = make(chan struct{})
}

// space returns why nothing is stored, and a channel that is closed when that changes.
func (x *Indexer) space() (full error, changed <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.full, x.filled
}

// openWork opens the queue of pages as its maker made it, and waits until it exists.
func (x *Indexer) openWork(ctx context.Context) (err error) {
	again := backoff.Delay{Least: 20 * time.Millisecond, Most: time.Second}
	x.work, err = x.q.JoinWork(ctx, x.names.PagesStream(), func(err error) bool {
		wait := again.Next()
		if wait == again.Most {
			x.log.Info("waiting for the pages' stream", "stream", x.names.PagesStream(), "err", err)
		}
		return sleep(ctx, wait)
	})
	return err
}

// ownShards returns the shards that are owned now, by number.
func (x *Indexer) ownShards() []*shard {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := make([]*shard, 0, len(x.shards))
	for _, s := range x.shards {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *shard) int { return a.id - b.id })
	return all
}

func (x *Indexer) addShard(s *shard) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shards[s.id] = s
	if x.opened != nil {
		close(x.opened)
		x.opened = nil
	}
}

// letGo releases a shard. A handler that does not find the shard any more leaves it out of its
// response, and reports the shards that it then finds as those it answered for. Both therefore
// change at the same time.
func (x *Indexer) letGo(s *shard) {
	x.mu.Lock()
	defer x.mu.Unlock()
	s.gone.Store(true)
	delete(x.shards, s.id)
}

// space returns the free space and the size of a directory's disk, 0 if they are not known.
func space(dir string) (free, total int64) {
	free, total, err := disk.Space(dir)
	if err != nil || total == 0 {
		return 0, 0
	}
	return free, total
}

// ids returns the numbers of the shards that are owned now.
func (x *Indexer) ids() []int {
	ids := []int{}
	for _, s := range x.ownShards() {
		ids = append(ids, s.id)
	}
	return ids
}

// Status returns the state of the indexer and how far it is behind. The broker counts the published
// pages. While it does not respond, the count is at least one, so that silence is not taken for an
// empty queue.
func (x *Indexer) Status() crawl.IndexerStatus {
	st := crawl.IndexerStatus{Instance: x.o.Instance, Shards: []int{}, Forgotten: x.forgottenText()}
	st.DiskFree, st.DiskTotal = space(x.o.Dir)
	st.ArchiveFiles, st.ArchiveRecords, st.ArchiveOutlinks = x.archiveFiles.Load(), x.archiveRecords.Load(), x.archiveOutlinks.Load()
	if full, _ := x.space(); full != nil {
		st.Paused = full.Error()
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	var stores []*pages.Store
	var indexes []*search.Index
	for _, s := range x.ownShards() {
		stores = append(stores, s.store)
		if index := s.index.Load(); index != nil {
			indexes = append(indexes, index)
		}
		// This is read first, so that a page that is no longer pending counts as stored, and as
		// behind, below.
		n, err := x.work.Pending(ctx, x.names.PagesSubject(s.id))
		if err != nil {
			n = 1
		}
		if s.intake != nil {
			n += s.intake.Pending()
		}
		building := s.search.building(&st)
		if s.links.pending.Load() || s.ruling.pending.Load() || s.refilling.Load() || s.forgetting.Load() || building {
			// While links are being sent, site rules are being applied, a loss is being reported,
			// forgotten pages are being deleted, or a search index is being built, nobody is done.
			n++
		}
		st.Forgetting = st.Forgetting || s.forgetting.Load()
		stats := s.store.Stats()
		n += stats.Outbox
		st.Shards = append(st.Shards, s.id)
		st.Pending += n
		st.Pages += stats.Pages
		st.Bytes += stats.Bytes
		st.Datasets = append(st.Datasets, s.store.Datasets().Version())
		st.Behind += s.behind(x.o.Search)
		if state := s.ruling.state.Load(); state != nil {
			st.Rules = append(st.Rules, *state)
		}
		if stuck := s.stuck.Load(); stuck != nil && st.Paused == "" {
			st.Paused = (*stuck).Error()
		}
	}
	st.WARCFiles, st.WARCBytes = x.archived.Of(stores)
	st.Types, st.Langs = x.types.Of(indexes)
	return st
}

// sleep waits, and reports whether ctx continues.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
