package frontier

import (
	"context"
	"errors"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// follow replays the log from the position in the file, and applies new events. Once everything
// that was in the log at the start is applied, the shard has caught up.
func (f *Frontier) follow(ctx context.Context, s *Shard, start store.Start, ready func(store.Start)) error {
	if err := f.followLog(ctx, s, start, ready); ctx.Err() == nil {
		return err
	}
	return nil // the state of the shard shows whether events could not be applied
}

func (f *Frontier) followLog(ctx context.Context, s *Shard, start store.Start, ready func(store.Start)) error {
	l := f.logs[s.Ledger.ID]
	last, err := l.Last(ctx)
	if err != nil {
		return err
	}
	s.Ledger.Mu.Lock()
	from := s.position()
	s.Ledger.Mu.Unlock()
	caughtUp := func() {
		if pending, first := s.catchUp(start); first {
			ready(pending)
		}
	}
	if from.Seq >= last {
		caughtUp()
	}
	apply := func(batch []queue.Entry) error {
		if err := s.apply(batch); err != nil {
			return err
		}
		if batch[len(batch)-1].Seq >= last {
			caughtUp()
		}
		return nil
	}
	for {
		err := l.Follow(ctx, from, apply)
		if !errors.Is(err, queue.ErrAnchor) {
			return err
		}
		// The broker lost messages that were applied, or that never arrived here. The messages that
		// it still has are applied again, which has no further effect. Pages fetched lately may be
		// among the lost messages, and are fetched again.
		f.log.Error("the event log does not continue from the applied events: applying it again from its beginning", "shard", s.Ledger.ID, "error", err)
		if from, err = l.Rewind(ctx); err != nil {
			return err
		}
		if last, err = l.Last(ctx); err != nil {
			return err
		}
		if err := s.rewind(from); err != nil {
			return err
		}
		start = store.StartLease
		if last <= from.Seq {
			caughtUp()
		}
	}
}

// rewind sets the shard back to a position of the log. Nothing is granted until it has caught up
// again.
func (s *Shard) rewind(to queue.Position) error {
	s.Ledger.Mu.Lock()
	defer s.Ledger.Mu.Unlock()
	if err := s.Ledger.Phase.MayWrite(); err != nil {
		return err
	}
	s.Ledger.Phase.Rewound()
	applied := s.Ledger.Rewind(to.Seq, to.Time)
	s.Links.ForgetRecent()
	if applied == 0 {
		return nil // rewound before, and nothing was applied since
	}
	return s.Ledger.Guarded(func() error {
		if err := s.Passes.RequeueSince(time.Unix(0, applied).Add(-2 * time.Minute)); err != nil {
			return s.Ledger.Fail(err)
		}
		return nil
	})
}

// startOf compares the last owner in the file with the last owner in the ownership record.
func (f *Frontier) startOf(s *Shard, own *queue.Ownership) store.Start {
	f.mu.Lock()
	again := f.served[s.Ledger.ID] // fetchers of this process are alive
	f.mu.Unlock()
	before := own.Predecessor()
	switch {
	case before == (queue.Record{}) && s.was.Epoch == 0:
		return store.StartNew
	case own.Clean() && s.was.Clean && s.was.Epoch == before.Epoch && s.was.Owner == before.Owner:
		return store.StartClean
	case f.opt.Embedded && !again && !s.was.Strangers:
		return store.StartDelay
	}
	return store.StartLease
}

// catchUp ends reading: from now on the shard grants, at once or when the required wait has passed.
// It returns what it must wait for, and whether the shard was reading.
func (s *Shard) catchUp(found store.Start) (pending store.Start, first bool) {
	s.Ledger.Mu.Lock()
	defer s.Ledger.Mu.Unlock()
	if s.Ledger.Phase.Read {
		return found, false
	}
	now := time.Now()
	switch pending = s.Ledger.Phase.CaughtUp(found, now); pending {
	case store.StartDelay:
		s.JustVisited(now)
	case store.StartLease:
		s.JustVisited(s.Ledger.Phase.Until)
	}
	if s.Ledger.Judge.LimitsPages() {
		for _, h := range s.Ledger.Hosts {
			s.Passes.NoticeFull(h) // the last owner may not have finished it
		}
	}
	s.Ledger.Budget.Join(s.Ledger.ID, s.Visits.Slots(now), s.Ledger.Meta.Counts.Bytes, s.Ledger.Valid, pending == store.StartLease)
	s.Ledger.Log.Info("shard ready", "hosts", s.Ledger.Meta.KnownHosts(), "queued", s.Ledger.Meta.Counts.Queued, "applied", s.Ledger.Meta.Seq, "epoch", s.Ledger.Epoch, "clean", pending == store.StartClean)
	store.Signal(s.Visits.Notify)
	return pending, true
}

// purgeLag is how long an applied and committed event is kept in the log.
const purgeLag = 30 * time.Second

// purge deletes events from the log that were applied and committed some time ago.
func (f *Frontier) purge(ctx context.Context, s *Shard) error {
	t := time.NewTicker(purgeLag / 2)
	defer t.Stop()
	var old, older uint64
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		s.Ledger.Mu.Lock()
		err := s.Ledger.Guarded(func() error { return s.Ledger.Commit(true) })
		seq := s.Ledger.Meta.Seq
		s.Ledger.Mu.Unlock()
		if err != nil {
			return err
		}
		if seq < old {
			old, older = 0, 0 // a new log began, in which these numbers have no meaning
		}
		if older > 0 {
			if err := f.logs[s.Ledger.ID].Purge(ctx, older); err != nil && ctx.Err() == nil {
				s.Ledger.Log.Warn("purge", "error", err)
			}
		}
		old, older = seq, old
	}
}
