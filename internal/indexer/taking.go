package indexer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/indexer/intake"
	"github.com/curtsy/curtsy/pkg/queue"
)

// TakePages takes over a message with pages of a shard from a fetcher of the same process, and
// returns once a kill of the process does not lose it. It waits while the shard is not open, while
// the disk has too little space, and while too much waits to be stored, until ctx ends. It is only
// for an indexer with Options.Embedded. It may be called concurrently, and does not keep msg.
func (x *Indexer) TakePages(ctx context.Context, shard int, msg []byte) error {
	for {
		s, opened := x.takes(shard)
		full, changed := x.space()
		wait := changed
		switch {
		case full != nil:
		case s == nil:
			wait = opened
		default:
			err := s.intake.Append(ctx, msg)
			if !errors.Is(err, intake.ErrClosed) {
				return err
			}
			wait = opened
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("pages of shard %d cannot be handed over: %w", shard, ctx.Err()), full)
		}
	}
}

// takes returns a shard that takes pages over, or nil and a channel that is closed when a shard is
// opened.
func (x *Indexer) takes(shard int) (*shard, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.opened == nil {
		x.opened = make(chan struct{})
	}
	return x.shards[shard], x.opened
}

// stopFor is how long messages are still stored after ctx of consumeIntake has ended.
const stopFor = 10 * time.Second

// consumeIntake stores the messages that were taken over, whenever the disk has space. When ctx
// ends, it stores what is left, so that a crawl that was stopped has all its pages.
func (s *shard) consumeIntake(ctx context.Context) error {
	storing, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	unhook := context.AfterFunc(ctx, func() { time.AfterFunc(stopFor, stop) })
	defer unhook()
	for s.awaitSpace(ctx) {
		batch, err := s.intake.Take(ctx, batchMessages, batchBytes)
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		}
		if s.storeBatch(storing, batch) == nil {
			continue
		}
		for _, m := range batch {
			if err := s.storeBatch(storing, []intake.Message{m}); err == nil {
				continue
			} else if ctx.Err() != nil || s.fatal.Load() != nil {
				return nil // it is there at the next start
			} else {
				s.retries.Go(func() { s.storeAgain(ctx, m, err) })
			}
		}
	}
	return nil
}

// awaitSpace waits until the disk has space. It reports whether it has.
func (s *shard) awaitSpace(ctx context.Context) bool {
	for {
		full, changed := s.x.space()
		if full == nil {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-changed:
		}
	}
}

// storeBatch stores messages and settles them.
func (s *shard) storeBatch(ctx context.Context, batch []intake.Message) error {
	messages := make([]queue.Message, len(batch))
	for i, m := range batch {
		messages[i] = queue.Message{Data: m.Data, Seq: m.N, Deliveries: 1}
	}
	err := s.handleAndAcknowledge(ctx, messages)
	if err == nil {
		for _, m := range batch {
			s.intake.Settle(m)
		}
	}
	return err
}

// storeAgain stores a message that could not be stored, with the same number of tries and the same
// waits as a message from another process (queue.ConsumeOptions).
func (s *shard) storeAgain(ctx context.Context, m intake.Message, err error) {
	least := s.x.retry
	if least == 0 {
		least = time.Second
	}
	again := backoff.Delay{Least: least, Most: 30 * least}
	for n := 1; ; n++ {
		switch {
		case errors.Is(err, queue.ErrDrop):
			s.log.Warn("message dropped", "err", err)
			s.intake.Settle(m)
			return
		case n >= queue.MaxDeliver:
			if s.giveUp(ctx, queue.Message{Data: m.Data, Seq: m.N, Deliveries: n}, err) == nil {
				s.log.Error("giving up on a message", "deliveries", n, "err", err)
				s.intake.Settle(m)
				return
			}
		}
		if again.Sleep(ctx) != nil {
			return // it is there at the next start
		}
		if err = s.storeBatch(ctx, []intake.Message{m}); err == nil {
			return
		}
	}
}

// keepSynced syncs messages that wait for long, because the machine may fail.
func (s *shard) keepSynced(ctx context.Context) error {
	for sleep(ctx, time.Second) {
		if err := s.intake.Sync(time.Now()); err != nil {
			s.log.Error("pages that wait to be stored cannot be synced", "err", err)
		}
	}
	return nil
}

// closeIntake closes the intake after all that use it have ended.
func (s *shard) closeIntake() error {
	if s.intake == nil {
		return nil
	}
	s.retries.Wait()
	return s.intake.Close()
}
