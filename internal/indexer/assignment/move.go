package assignment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/queue"
)

// A planned move, for the primary that gives the shard away: it reserves the space, stops
// consuming, copies its file into the object store, records this, and releases the shard. Until
// another indexer has claimed the record, it can take the shard back with its own file. The
// receiving indexer restores the copy under a new identity and claims the record. From that write
// on, its file is the store, and the old file is not. Pages that arrive meanwhile wait in the
// queue.

const (
	// For how many terms a copied shard waits for its new primary before the old one takes it back.
	handedOverMost = 3
	moveRetry      = 60 // terms between two attempts to move a shard
)

// moveSpace is how much space the object store must reserve for a file.
func moveSpace(size int64) int64 { return size + size/8 + 4<<20 }

// Move is the move of a shard to another indexer for which there is space. The indexer moves one
// shard at a time: Done lets the next one begin.
type Move struct {
	s     *Shard
	to    string
	snaps *queue.Snapshots
}

// Done ends the move, whether the store was copied or not.
func (m *Move) Done() { <-m.s.assignments.moving }

// AwaitMove waits until the shard must move and can: both indexers are there, and the object store
// has space for a file of that size. It returns nil if ctx ends before that.
func (s *Shard) AwaitMove(ctx context.Context, fileBytes func() int64) *Move {
	x := s.assignments
	for {
		changed := x.allotment.change()
		if to := x.allotment.moveTo(s.id); to != "" && (s.tried.IsZero() || time.Since(s.tried) > moveRetry*x.o.Term) {
			select {
			case x.moving <- struct{}{}: // one shard at a time
			case <-ctx.Done():
				return nil
			}
			m := &Move{s: s, to: to}
			err := m.reserve(ctx, fileBytes())
			if err == nil {
				return m
			}
			m.Done()
			if ctx.Err() == nil {
				m.failed(err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-changed:
		case <-time.After(x.o.Term / 4):
		}
	}
}

func (m *Move) failed(err error) {
	x := m.s.assignments
	m.s.tried = time.Now()
	x.o.NotMoved()
	m.s.log.Error("the shard's pages cannot be moved; they stay here, and the move is tried again later", "to", m.to, "in", moveRetry*x.o.Term, "err", err)
}

// reserve opens the object store for the copy.
func (m *Move) reserve(ctx context.Context, size int64) (err error) {
	x := m.s.assignments
	m.snaps, err = x.o.Queue.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: x.o.Crawl.Move(m.s.id), MaxBytes: moveSpace(size)})
	return err
}

// HandOver copies the store, which nobody writes any more, into the object store. If that fails,
// the shard stays here.
func (m *Move) HandOver(ctx context.Context, store *pages.Store, epoch uint64) error {
	s, began := m.s, time.Now()
	x, st := s.assignments, store.Stats()
	p := &HandedOver{To: m.to, Object: fmt.Sprintf("%s-%d", store.Identity(), epoch), Size: st.FileBytes, Pages: st.Pages, LastSeq: st.LastSeq}
	if err := x.o.Step("leaving"); err != nil {
		return err
	}
	if _, err := m.snaps.Put(ctx, p.Object, p.Size, store.Copy); err != nil {
		if ctx.Err() == nil {
			m.failed(err)
		}
		return nil
	}
	if err := x.o.Step("copied"); err != nil {
		return err
	}
	h := s.record
	h.HandedOver = p
	if err := s.claim(ctx, h, s.revision); err != nil {
		return err
	}
	if err := x.o.Step("parked"); err != nil {
		return err
	}
	x.o.Moved("out", time.Since(began))
	s.log.Info("the shard's pages are handed over", "to", m.to, "pages", st.Pages, "bytes", st.FileBytes, "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// dropCopy removes what a move left in the object store.
func (s *Shard) dropCopy(ctx context.Context) {
	x := s.assignments
	if x.o.Embedded {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, x.o.Term)
	defer cancel()
	bucket := x.o.Crawl.Move(s.id)
	err := x.o.Queue.JS.DeleteObjectStore(ctx, bucket)
	if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) && ctx.Err() == nil {
		s.log.Warn("the copy of the moved pages stays in the object store until the shard is opened again", "bucket", bucket, "err", err)
	}
}
