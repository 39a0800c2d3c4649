package frontier

import (
	"context"
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/pkg/queue"
)

// handOver leaves a shard to its next owner. The shard is in the stage leaving (phase), and no
// events are applied to it any more. failed is the reason if it cannot continue; then it is only
// closed.
//
// The file and its copy contain the same state: marked clean, with the table of outstanding visits.
// A kill before the record is released leaves a record that is not clean. If the copy cannot be
// made, the record is released with the name of the checkpoint before, which is not marked clean.
// In both cases the next owner waits for a lease, unless it uses this directory.
func (f *Frontier) handOver(ctx context.Context, s *Shard, own *queue.Ownership, failed error) error {
	began := time.Now()
	if failed != nil || !own.Valid() {
		f.forget(s.Ledger.ID)
		return errors.Join(failed, s.close(false))
	}
	s.Ledger.Mu.Lock()
	s.Visits.ReportBudget(began)
	s.Ledger.Mu.Unlock()
	f.budget.GiveBackNow(s.Ledger.ID)
	putting, cancel := context.WithTimeout(f.grace, f.opt.StopGrace)
	defer cancel()
	s.Ledger.Mu.Lock()
	visits := len(s.Visits.Outstanding)
	var im restore.Image
	err := s.Ledger.Guarded(func() (err error) {
		im, err = s.copies.Farewell()
		return err
	})
	s.Ledger.Mu.Unlock()
	if err != nil {
		f.forget(s.Ledger.ID)
		return errors.Join(err, s.close(false))
	}
	name := im.Name().String()
	if err := f.checkpoints.HandOver(putting, s.copies, im, own); err != nil {
		s.Ledger.Log.Warn("handed over without a checkpoint: the next owner replays more of the log and waits for one lease", "error", err)
		name = ""
	}
	f.forget(s.Ledger.ID)
	if f.release(ctx, own, name) {
		f.metrics.HandedOver.Inc()
		s.Ledger.Log.Info("shard handed over", "visits", visits, "checkpoint", name, "took", time.Since(began).Round(time.Millisecond))
	}
	return s.close(false)
}

// semaphore limits the number of goroutines in a section.
type semaphore chan struct{}

func (t semaphore) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t semaphore) leave() { <-t }
