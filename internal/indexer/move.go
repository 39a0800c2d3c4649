package indexer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
)

// A planned move, seen from the home that gives: it reserves the room, stops consuming, copies its file into the object store, says
// so in the home record, and lets go of the shard. Until another has claimed the record it can take the shard back with its own
// file. The one that takes restores the copy under a new identity and claims the record; from that write on its file is the store
// and the old one is not. The pages that come meanwhile wait in the queue.

const (
	parkedMost = 3  // terms a parked shard waits for whom it is for before its last home takes it back
	moveRetry  = 60 // terms between two tries to move a shard
)

// moveRoom is what the object store is asked to reserve for a file.
func moveRoom(size int64) int64 { return size + size/8 + 4<<20 }

// errLeave ends serving a shard in order to move it.
var errLeave = errors.New("the shard moves")

// leave waits until the shard is to be moved and can be: both sides are up and the object store has room. It returns errLeave then.
func (s *shard) leave(ctx context.Context) error {
	x := s.x
	for {
		changed := x.places.change()
		if to := x.places.moveTo(s.id); to != "" && (s.seat.tried.IsZero() || time.Since(s.seat.tried) > moveRetry*x.o.Term) {
			select {
			case x.moving <- struct{}{}: // one shard at a time; serve gives it back
			case <-ctx.Done():
				return nil
			}
			err := s.reserve(ctx)
			if err == nil {
				s.to = to
				return errLeave
			}
			<-x.moving
			if ctx.Err() == nil {
				s.notMoved(to, err)
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

func (s *shard) notMoved(to string, err error) {
	s.seat.tried = time.Now()
	s.x.met.notMoved.Inc()
	s.log.Error("the shard's pages cannot be moved; they stay here and it is tried again later", "to", to, "in", moveRetry*s.x.o.Term, "err", err)
}

// reserve opens the object store the copy goes through.
func (s *shard) reserve(ctx context.Context) (err error) {
	x := s.x
	s.snaps, err = x.q.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: x.names.Move(s.id), MaxBytes: moveRoom(s.store.Stats().FileBytes)})
	return err
}

// moveOut parks the store, to which nobody writes any more. The shard stays here when that fails.
func (s *shard) moveOut(ctx context.Context, epoch uint64) error {
	x, began := s.x, time.Now()
	st := s.store.Stats()
	p := &parked{To: s.to, Object: fmt.Sprintf("%s-%d", s.store.Identity(), epoch), Size: st.FileBytes, Pages: st.Pages, LastSeq: st.LastSeq}
	if err := x.step("leaving"); err != nil {
		return err
	}
	if _, err := s.snaps.Put(ctx, p.Object, p.Size, s.store.Copy); err != nil {
		if ctx.Err() == nil {
			s.notMoved(s.to, err)
		}
		return nil
	}
	if err := x.step("copied"); err != nil {
		return err
	}
	h := s.seat.home
	h.Parked = p
	if err := s.seat.claim(ctx, h, s.seat.revision); err != nil {
		return err
	}
	if err := x.step("parked"); err != nil {
		return err
	}
	x.met.moved("out", time.Since(began))
	s.log.Info("the shard's pages are handed over", "to", s.to, "pages", st.Pages, "bytes", st.FileBytes, "took", time.Since(began).Round(time.Millisecond))
	return nil
}
