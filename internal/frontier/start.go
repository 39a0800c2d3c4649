package frontier

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
)

// follow replays the log from where the file stands and goes on with what arrives. Once everything that was in the
// log at the start is applied, the shard may grant.
func (f *Frontier) follow(ctx context.Context, s *shard, start start) error {
	l := f.logs[s.id]
	last, err := l.Last(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	from := s.position()
	s.mu.Unlock()
	if from.Seq >= last {
		s.catchUp(start)
	}
	apply := func(batch []queue.Entry) error {
		if err := s.apply(batch); err != nil {
			return err
		}
		if batch[len(batch)-1].Seq >= last {
			s.catchUp(start)
		}
		return nil
	}
	for {
		err := l.Follow(ctx, from, apply)
		if !errors.Is(err, queue.ErrAnchor) {
			return err
		}
		// The broker lost messages we had applied, or that we never saw. What it still has is applied again, which is
		// harmless; pages fetched lately may be among the lost and are fetched again.
		f.log.Error("the event log does not continue what was applied: applying it again from its beginning", "shard", s.id, "error", err)
		if from, err = l.Rewind(ctx); err != nil {
			return err
		}
		if last, err = l.Last(ctx); err != nil {
			return err
		}
		if err := s.rewind(from); err != nil {
			return err
		}
		start = startLease
		if last <= from.Seq {
			s.catchUp(start)
		}
	}
}

// rewind sets the shard back to a position of the log and stops granting until it has caught up again.
func (s *shard) rewind(to queue.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil || s.tx == nil {
		return cmp.Or(s.broken, errClosed)
	}
	s.caughtUp = false
	applied := s.m.SeqTime
	s.m.Seq, s.m.SeqTime = to.Seq, to.Time.UnixNano()
	if to.Time.IsZero() {
		s.m.SeqTime = 0
	}
	s.recent = recent{}
	s.changes++
	if applied == 0 {
		return nil // rewound before, and nothing applied since
	}
	if err := s.requeueSince(time.Unix(0, applied).Add(-2 * time.Minute)); err != nil {
		return s.fail(err)
	}
	return nil
}

// start says what a shard must reckon with when it begins.
type start int

const (
	// startClean: its last owner was this directory's, stopped with nothing outstanding.
	startClean start = iota
	// startDelay: visits may have been under way, and their fetchers are dead: one delay is owed to every host.
	startDelay
	// startLease: visits may be under way still: a lease must pass, then one delay.
	startLease
)

// startOf compares what the file says of its last owner with what the ownership record says of the shard's last owner.
func (f *Frontier) startOf(s *shard, own *queue.Ownership) start {
	f.mu.Lock()
	again := f.served[s.id] // fetchers of this process are alive
	f.mu.Unlock()
	before := own.Predecessor()
	switch {
	case before == (queue.Record{}) && s.was.Epoch == 0:
		return startClean // a new crawl
	case own.Clean() && s.was.Clean && s.was.Epoch == before.Epoch && s.was.Owner == before.Owner:
		return startClean
	case f.opt.Embedded && !again:
		return startDelay
	}
	return startLease
}

// catchUp lets the shard grant, at once or when its start allows.
func (s *shard) catchUp(start start) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caughtUp {
		return
	}
	now := time.Now()
	switch start {
	case startDelay:
		s.justVisited(now, now)
	case startLease:
		s.quiet = now.Add(leaseOwner)
		s.justVisited(s.quiet, now)
	}
	s.tellBudget(now)
	s.caughtUp = true
	s.log.Info("shard ready", "hosts", len(s.hosts), "queued", s.m.Counts.Queued, "applied", s.m.Seq, "epoch", s.epoch, "clean", start == startClean)
	signal(s.notify)
}
