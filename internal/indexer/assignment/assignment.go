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

// Options are the settings of the assignments of one indexer. All fields are required except
// RebuildAfter.
type Options struct {
	Queue        *queue.Conn
	Crawl        crawl.Names
	Shards       int
	Dir          string // the directory of the files
	Instance     string
	Embedded     bool // the only indexer of the crawl: it has all shards
	Term         time.Duration
	RebuildAfter time.Duration // 0: it waits for ever for an absent primary
	Log          *slog.Logger

	// Serve works on the shard until ctx ends, something fails, or AwaitMove reports that the shard
	// must be moved. It closes only what it has opened.
	Serve func(ctx context.Context, s *Shard, store *pages.Store, epoch uint64) error
	// It reports whether the pages of a host are in a shard.
	Mine func(shard int) func(canon.Host) bool
	// It appends to the log of a shard.
	Publish func(ctx context.Context, shard int, ev *crawl.Event) error
	// It returns why nothing more is stored.
	Space func() (full error, changed <-chan struct{})
	// For tests: it ends the process, as far as the code can tell.
	Step func(string) error
	// Fault is called at each commit: see boltfile.File.SetFault. It is nil except in tests.
	Fault func(point string) error
	// It counts a move; direction is in or out.
	Moved func(direction string, took time.Duration)
	// They count moves that failed, and stores begun empty.
	NotMoved, Rebuilt func()
}

// Assignments owns the shards of an indexer. Make it with New and run it once.
type Assignments struct {
	o         Options
	allotment *allotment
	moving    chan struct{} // contains one element while a shard moves away
}

// New makes the Assignments of an indexer.
func New(o Options) *Assignments {
	h := &Assignments{o: o, moving: make(chan struct{}, 1)}
	h.allotment = newAllotment(&h.o)
	return h
}

// Run owns every shard whenever it belongs to this indexer, until ctx ends. kv is the bucket of the
// crawl. It fails only if waiting cannot help.
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

// Known returns the record of a shard as far as this indexer knows it, and whether it knows one.
func (h *Assignments) Known(shard int) (Record, bool) {
	k := h.allotment.recordOf(shard)
	return k.Record, k.revision != 0
}

// Alone assumes that there is no other indexer until the members say otherwise. It is for tests.
func (h *Assignments) Alone() {
	h.allotment.edit(func() {
		h.allotment.there, h.allotment.members = map[string]bool{h.o.Instance: true}, []string{h.o.Instance}
	})
}

// hopeless reports whether trying again cannot help.
func hopeless(err error) bool {
	return errors.Is(err, pages.ErrFormat) || boltfile.IsDamaged(err) || errors.Is(err, crawl.ErrVersion)
}
