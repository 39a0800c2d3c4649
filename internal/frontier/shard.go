package frontier

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Shard is one shard of the frontier: its parts, and its file while it is open. It applies the
// shard's log and returns its status. The caller of its methods holds the ledger's lock, unless a
// method's comment says otherwise.
type Shard struct {
	*shard.Parts

	was store.Meta // Meta as it was in the file when it was opened

	clock  *restore.Clock
	copies *restore.Copies // nil until it is owned
}

// newShard makes a shard whose file is still to be opened.
func newShard(id int, path string, j judge.Judge, log *slog.Logger) *Shard {
	p := shard.New(hosts.Options{ID: id, Path: path, Log: log, Judge: j})
	return &Shard{Parts: p, clock: restore.NewClock(p)}
}

// openShard opens the file of a shard, creates it when there is none, and loads its hosts.
func openShard(dir string, id int, j judge.Judge, epoch uint64, owner string, valid func() bool, log *slog.Logger) (*Shard, error) {
	s := newShard(id, filepath.Join(dir, store.FileName(id)), j, log.With("shard", id))
	s.Ledger.Own(epoch, valid)
	if err := s.Ledger.OpenFile(false); err != nil {
		return nil, err
	}
	if err := s.Ledger.Guarded(func() error { return s.load(owner) }); err != nil {
		if s.Ledger.Tx != nil {
			s.Ledger.Tx.Rollback() // Close waits for it
		}
		err = s.Ledger.Blame(err)
		s.Ledger.CloseFile()
		return nil, err
	}
	return s, nil
}

func (s *Shard) load(owner string) error {
	if err := s.Ledger.Begin(true); err != nil {
		return err
	}
	now := time.Now()
	if err := s.Ledger.LoadHosts(); err != nil {
		return err
	}
	if err := s.Features.LoadAux(); err != nil {
		return err
	}
	if err := s.Ledger.LoadOutbox(); err != nil {
		return err
	}
	s.URLs.LoadLater()
	if err := s.Features.Load(now); err != nil {
		return err
	}
	if err := s.clock.Opened(now); err != nil {
		return err
	}
	if err := s.Specs.Load(now); err != nil {
		return err
	}
	s.was = s.Ledger.Meta
	s.Ledger.Opened(owner)
	for _, h := range s.Ledger.Hosts {
		s.Ledger.Unschedule(h)
	}
	return nil
}

// begin makes an opened shard continue from what was found. If it was left in order, the visits in
// its file continue. Otherwise these may not be all, and are forgotten.
func (s *Shard) begin(found store.Start, unaware time.Duration, now time.Time) error {
	s.Ledger.Phase.Begin(found, unaware)
	list, err := schedule.TakeSaved(s.Ledger.Tx)
	if err != nil || found != store.StartClean {
		return err
	}
	return errors.Join(s.Visits.CarryOn(list, now), s.Passes.JudgeVisits())
}

// beforeGrant is Clock.Follow for a shard that may be closed.
func (s *Shard) beforeGrant(now time.Time) error {
	if !s.Visits.MayGrant(now) {
		return nil
	}
	return s.clock.Follow(now)
}

// afterReboot queues the last fetched URLs again when the machine has failed. It is for a broker on
// the same machine: messages that it acknowledged in the last seconds may never have reached a
// disk. The caller holds mu.
func (s *Shard) afterReboot() error {
	boot := store.BootID()
	if s.Ledger.Meta.BootID == boot {
		return nil
	}
	if s.Ledger.Meta.BootID != "" && !s.was.Clean {
		s.Ledger.Log.Warn("the machine was restarted without a clean stop: fetching the pages of the last seconds again")
		if err := s.Passes.RequeueSince(time.UnixMilli(s.Ledger.Meta.Written).Add(-10 * time.Second)); err != nil {
			return err
		}
	}
	s.Ledger.Meta.Booted(boot)
	return nil
}

// close commits all changes and closes the file. Nothing is committed if the shard was just handed
// over. clean says that its owner leaves the shard in order, with no outstanding visit.
func (s *Shard) close(clean bool) error {
	s.Ledger.Mu.Lock()
	defer s.Ledger.Mu.Unlock()
	if s.Ledger.DB == nil {
		return nil
	}
	var err error
	if clean || !s.Ledger.Phase.Left || s.Ledger.Unsaved() {
		s.Ledger.Meta.Left(clean && s.Ledger.Phase.InOrder(time.Now()) && len(s.Visits.Outstanding) == 0)
		err = s.Ledger.Guarded(func() error { return s.Ledger.Commit(false) })
	}
	if s.Ledger.Tx != nil {
		s.Ledger.Tx.Rollback()
		s.Ledger.EndTx()
	}
	err = errors.Join(err, s.Ledger.CloseFile())
	for _, v := range s.Visits.Outstanding {
		s.Visits.AllSlots.Release(v)
	}
	s.Visits.AllSlots.Forget(s.Ledger.ID)
	return err
}

// apply applies a batch of the shard's log in order. It takes the lock itself. An event that cannot
// be decoded is reported and skipped, because it can never succeed.
func (s *Shard) apply(batch []queue.Entry) error {
	for _, e := range batch {
		s.Ledger.Mu.Lock()
		err := s.Ledger.Guarded(func() error { return s.applyOne(e) })
		s.Ledger.Mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) applyOne(e queue.Entry) error {
	if err := s.Ledger.Phase.MayWrite(); err != nil {
		return err
	}
	ev, err := crawl.DecodeEvent(e.Data)
	if err != nil {
		if errors.Is(err, crawl.ErrVersion) {
			return err
		}
		s.Ledger.Log.Error("event skipped", "seq", e.Seq, "error", err)
	} else if err := s.applyEvent(&ev, e.Time); err != nil {
		return s.Ledger.Fail(err)
	}
	s.Ledger.Applied(e.Seq, e.Time, len(e.Data))
	if s.Ledger.Changes >= store.CommitChanges {
		return s.Ledger.Commit(true)
	}
	return nil
}

// applyEvent applies one event. sent is the server's time of the event.
func (s *Shard) applyEvent(ev *crawl.Event, sent time.Time) error {
	now := time.Now()
	if err := s.clock.Follow(now); err != nil {
		return err
	}
	return s.Events.Apply(ev, sent, now)
}

// position is the position in the log up to which it was applied.
func (s *Shard) position() queue.Position {
	if s.Ledger.Meta.Seq == 0 {
		return queue.Position{}
	}
	return queue.Position{Seq: s.Ledger.Meta.Seq, Time: time.Unix(0, s.Ledger.Meta.SeqTime)}
}

// keepCommitted commits at intervals until ctx ends, ends visits whose lease is over, and notifies
// match when something becomes due. It takes the lock itself.
func (s *Shard) keepCommitted(ctx context.Context) error {
	t := time.NewTicker(store.CommitEvery)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.Ledger.Mu.Lock()
		now := time.Now()
		err := s.Ledger.Guarded(func() error {
			if err := s.clock.Follow(now); err != nil {
				return err
			}
			return s.upkeep(now)
		})
		s.Visits.ReportBudget(now)
		soon := now.Add(5 * time.Second)
		evicted := s.Ledger.Phase.MayRead() && s.Ledger.Phase.MayWrite() == nil && !s.Ledger.NextEvicted().IsZero() && s.Ledger.NextEvicted().Before(soon)
		if !evicted && (len(s.Ledger.Due) == 0 || s.Ledger.Due[0].When.After(soon)) {
			s.Ledger.Budget.GiveBack(s.Ledger.ID) // no pages are needed soon
		}
		s.Ledger.Mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// upkeep does periodic work that is due, and commits.
func (s *Shard) upkeep(now time.Time) error {
	if err := s.Visits.Expire(now); err != nil {
		return err
	}
	if err := s.Features.Upkeep(now); err != nil {
		return err
	}
	return s.Ledger.Commit(true)
}
