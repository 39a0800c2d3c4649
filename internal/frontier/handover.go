package frontier

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
)

// handOver leaves a frozen shard, of which nothing is applied any more, to whoever owns it next. failed is why it cannot go
// on, if that is so; then it is only closed.
//
// The file and its copy are the same state, with the table of outstanding visits and marked clean. A kill before the record
// is released leaves a record that is not clean; if the copy cannot be made, the record is released naming the checkpoint
// before, which is not marked clean: in both cases the next owner waits a lease, unless it is this directory's.
func (f *Frontier) handOver(ctx context.Context, s *shard, own *queue.Ownership, failed error) error {
	began := time.Now()
	if failed != nil || !own.Valid() {
		f.forget(s.id)
		return errors.Join(failed, s.close(false))
	}
	s.mu.Lock()
	s.tellBudget(began)
	s.mu.Unlock()
	f.budget.giveBack(s.id)
	putting, cancel := context.WithTimeout(f.grace, f.opt.StopGrace)
	defer cancel()
	s.mu.Lock()
	visits := len(s.visits)
	im, err := s.farewell()
	s.mu.Unlock()
	if err != nil {
		f.forget(s.id)
		return errors.Join(err, s.close(false))
	}
	name := im.name.String()
	_, err = f.upload(putting, im)
	if err == nil && len(s.unreadable) > 0 {
		err = f.record(putting, own, name, s.unreadable) // Release would keep it, instead of the one before
	}
	if err != nil {
		s.log.Warn("handed over without a checkpoint: its next owner replays more of the log and waits a lease", "error", err)
		name = ""
	}
	f.forget(s.id)
	if f.release(ctx, own, name) {
		f.met.handedOver.Inc()
		s.log.Info("shard handed over", "visits", visits, "checkpoint", name, "took", time.Since(began).Round(time.Millisecond))
	}
	return s.close(false)
}

// farewell commits the shard with its outstanding visits. The caller holds mu.
func (s *shard) farewell() (image, error) {
	if s.broken != nil {
		return image{}, s.broken
	}
	if s.tx == nil {
		return image{}, errClosed
	}
	if s.inOrder(time.Now()) {
		if err := s.saveVisits(); err != nil {
			return image{}, s.fail(fmt.Errorf("save the visits: %w", err))
		}
		s.m.Clean = true
	}
	return s.image()
}
