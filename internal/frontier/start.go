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
func (f *Frontier) follow(ctx context.Context, s *shard, start start, ready func(start)) error {
	if err := f.followLog(ctx, s, start, ready); ctx.Err() == nil {
		return err
	}
	return nil // what cannot be applied any more shows in the shard itself
}

func (f *Frontier) followLog(ctx context.Context, s *shard, start start, ready func(start)) error {
	l := f.logs[s.id]
	last, err := l.Last(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	from := s.position()
	s.mu.Unlock()
	caughtUp := func() {
		if start == startNew {
			start = s.whetherNew()
		}
		if s.catchUp(start) {
			ready(start)
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
			caughtUp()
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
	s.caughtUp, s.sure = false, false
	applied := s.m.SeqTime
	s.m.Gen++
	s.copySoon = true // what is done here is in no log
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

// refuseFull refuses what is queued of hosts that have all the pages they may have: a visit that kept that from being done
// may have died with the last owner.
func (s *shard) refuseFull(now time.Time) {
	for _, h := range s.hosts {
		if err := s.refuseQueue(h); err != nil {
			s.fail(err) // the next commit says so
			return
		}
		s.reschedule(h, now)
	}
}

// start says what a shard must reckon with when it begins.
type start int

const (
	// startClean: its last owner left it in order, and the state that was opened is the one it left: what may be under way is in
	// its table of visits.
	startClean start = iota
	// startDelay: visits may have been under way, and their fetchers are dead: one delay is owed to every host.
	startDelay
	// startLease: visits may be under way still: a lease must pass, then one delay.
	startLease
	// startNew: nobody had it before, unless the log tells otherwise.
	startNew
)

// String says what is owed before work goes on.
func (s start) String() string { return [...]string{"clean", "delay", "lease", "clean"}[s] }

// startOf compares what the state that was opened says of its last owner with what the ownership record says of the shard's.
func (f *Frontier) startOf(s *shard, own *queue.Ownership) start {
	f.mu.Lock()
	again := f.served[s.id] // fetchers of this process are alive
	f.mu.Unlock()
	before := own.Predecessor()
	switch {
	case before == (queue.Record{}) && s.was.Epoch == 0:
		return startNew
	case own.Clean() && s.was.Clean && s.was.Epoch == before.Epoch && s.was.Owner == before.Owner:
		return startClean
	case f.opt.Embedded && !again && !s.was.Strangers:
		return startDelay
	}
	return startLease
}

// whetherNew tells a new shard, whose log holds at most seeds, from one whose ownership record was lost.
func (s *shard) whetherNew() start {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.visited {
		return startLease
	}
	return startClean
}

// catchUp lets the shard grant, at once or when its start allows; it reports whether it could not before.
func (s *shard) catchUp(start start) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.caughtUp {
		return false
	}
	now := time.Now()
	switch start {
	case startClean:
		// They were taken along by carryOn.
	case startDelay:
		s.justVisited(now, now)
	case startLease:
		s.quiet = now.Add(s.unaware + leaseOwner)
		s.justVisited(s.quiet, now)
	}
	if s.j.spec.MaxPagesPerHost > 0 {
		s.refuseFull(now)
	}
	s.budget.join(s.id, s.slots(now), s.m.Counts.Bytes, s.valid, start == startLease)
	s.caughtUp, s.sure = true, true
	s.log.Info("shard ready", "hosts", len(s.hosts), "queued", s.m.Counts.Queued, "applied", s.m.Seq, "epoch", s.epoch, "clean", start == startClean)
	signal(s.notify)
	return true
}
