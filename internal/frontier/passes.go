package frontier

import (
	"context"
	"time"
)

// Some changes concern very many URLs: a store that was lost, a spec that asks for pages again, a host that was forgotten. They are
// made by passes over the records, a stretch at a time and between commits, so that neither granting nor the log waits long. How
// far a pass has got is part of the shard's state; it goes on there after a crash, and wherever the shard goes.

// passStretch is how many records are looked at before others may have the shard.
const passStretch = 1000

// runPasses makes passes until ctx ends. It takes the lock itself.
func (s *shard) runPasses(ctx context.Context) error { return s.inStretches(ctx, s.passSome) }

// inStretches calls some until ctx ends, each time under the lock: at once again while there is more to do, after others had
// the shard for as long as it took, and else from commit to commit.
func (s *shard) inStretches(ctx context.Context, some func(now time.Time) (more bool, err error)) error {
	for wait := commitEvery; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		s.mu.Lock()
		began := time.Now()
		more, err := some(began)
		wait = commitEvery
		if more {
			wait = max(time.Since(began), time.Millisecond)
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// passSome lets every pass go on for a stretch and reports whether any has more to do. None begins before the log was read.
func (s *shard) passSome(now time.Time) (more bool, err error) {
	if !s.caughtUp || s.frozen || s.tx == nil || s.broken != nil {
		return false, nil
	}
	for _, some := range []func(time.Time) (bool, error){s.forgetSome, s.refillSome, s.planSome, s.askSome, s.replanSome} {
		busy, err := some(now)
		if err != nil {
			return false, s.fail(err)
		}
		more = more || busy
	}
	if s.changes >= commitChanges {
		err = s.commit(true)
	}
	return more, err
}

// passing reports whether a pass is not done yet.
func (s *shard) passing() bool {
	return s.m.Lost.Running || s.m.Plan.Running || s.replanning || len(s.toAsk) > 0 || s.forgetting()
}

// beginPasses begins those that another spec asks for.
func (s *shard) beginPasses() error {
	s.beginPlanning()
	if err := s.beginSitemaps(); err != nil {
		return err
	}
	return s.beginForgetting()
}
