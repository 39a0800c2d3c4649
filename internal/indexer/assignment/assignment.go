package assignment

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Options say for which indexer shards are held, and what it does with one. All are required but
// RebuildAfter.
type Options struct {
	Queue        *queue.Conn
	Crawl        crawl.Names
	Shards       int
	Dir          string // where the files are
	Instance     string
	Embedded     bool // the only indexer of the crawl: it has all shards
	Term         time.Duration
	RebuildAfter time.Duration // 0: a lost home is waited for for ever
	Log          *slog.Logger

	// Serve has the shard until ctx ends, something fails, or AwaitMove says that it is to be
	// moved. It closes nothing but what it has opened.
	Serve func(ctx context.Context, s *Shard, store *pages.Store, epoch uint64) error
	// Whose pages are in a shard.
	Mine func(shard int) func(canon.Host) bool
	// Appends to the shard's log.
	Publish func(ctx context.Context, shard int, ev *crawl.Event) error
	// Why nothing more is taken in.
	Space func() (full error, changed <-chan struct{})
	// A test's hook: ends the process, as far as we know.
	Step func(string) error
	// Fault is called at each commit: see boltfile.File.SetFault. nil, but for tests.
	Fault func(point string) error
	// Counts a move; direction is in or out.
	Moved func(direction string, took time.Duration)
	// Count moves that failed, and stores begun empty.
	NotMoved, Rebuilt func()
}

// Assignments holds an indexer's shards. Make it with New, Run it once.
type Assignments struct {
	o         Options
	allotment *allotment
	moving    chan struct{} // holds one while a shard is being moved away
}

// New makes the Homes of an indexer.
func New(o Options) *Assignments {
	h := &Assignments{o: o, moving: make(chan struct{}, 1)}
	h.allotment = newAllotment(&h.o)
	return h
}

// Run holds every shard whenever it is this indexer's to hold, until ctx ends. kv is the crawl's
// bucket. It fails only on what waiting cannot mend.
func (h *Assignments) Run(ctx context.Context, kv jetstream.KeyValue) error {
	g, ctx := errgroup.WithContext(ctx)
	if !h.o.Embedded {
		members, err := h.o.Queue.OpenMembers(ctx, h.o.Crawl.Members(), 0)
		if err != nil {
			return err
		}
		h.allotment.run(ctx, g, kv, members)
	}
	for id := range h.o.Shards {
		s := &Shard{assignments: h, id: id, kv: kv, log: h.o.Log.With("shard", id)}
		g.Go(func() error { return s.run(ctx) })
	}
	return g.Wait()
}

// Known is a shard's record as far as this indexer knows it, and whether it knows one.
func (h *Assignments) Known(shard int) (Record, bool) {
	k := h.allotment.recordOf(shard)
	return k.Record, k.revision != 0
}

// Alone takes it that no other indexer is there, until the members say otherwise. It is for tests.
func (h *Assignments) Alone() {
	h.allotment.edit(func() {
		h.allotment.there, h.allotment.members = map[string]bool{h.o.Instance: true}, []string{h.o.Instance}
	})
}

// hopeless reports whether trying again would not help.
func hopeless(err error) bool {
	return errors.Is(err, pages.ErrFormat) || boltfile.IsDamaged(err) || errors.Is(err, crawl.ErrVersion)
}
