package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// errStale means that a stream has messages which its consumer counts as acknowledged. This happens
// when the server could not delete an acknowledged message because its disk was full, and was
// restarted: the message exists again, and would stay for ever.
var errStale = errors.New("the server still has messages that were already processed")

// standing is the progress of a consumer, as sequence numbers of its stream.
type standing struct {
	delivered uint64
	settled   uint64 // all messages up to this one are acknowledged
}

// checkConsumer returns an error if the consumer is gone. The error is errStale if the stream has a
// message that was acknowledged.
func (w *Work) checkConsumer(ctx context.Context, subject, name string) (at standing, err error) {
	err = w.c.api(ctx, w.cfg.Stream, func(ctx context.Context) error {
		c, err := w.c.JS.Consumer(ctx, w.cfg.Stream, name)
		if err != nil {
			return err
		}
		info := c.CachedInfo()
		at = standing{delivered: info.Delivered.Stream, settled: info.AckFloor.Stream}
		stale, err := w.has(ctx, subject, at.settled)
		if stale {
			// A cluster deletes a message some time after it has counted it as acknowledged.
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(200 * time.Millisecond):
			}
			stale, err = w.has(ctx, subject, at.settled)
		}
		if stale {
			return errStale
		}
		return err
	})
	return at, err
}

// has reports whether the stream has messages of subject up to a sequence number.
func (w *Work) has(ctx context.Context, subject string, upTo uint64) (bool, error) {
	s, err := w.c.JS.Stream(ctx, w.cfg.Stream)
	if err != nil {
		return false, err
	}
	m, err := s.GetMsg(ctx, 1, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return err == nil && m.Sequence <= upTo, err
}

// look searches for messages that were acknowledged before the session began. It repeats the search
// until everything that had been delivered at that time is acknowledged, because acknowledged
// messages may follow one that is not. If it finds such a message, the session ends.
func (s *consumption) look(ctx context.Context, p *pull, subject, name string, began standing) {
	t := time.NewTicker(s.w.ackWait / 3)
	defer t.Stop()
	for at := began; at.settled < began.delivered; {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		now, err := s.w.checkConsumer(ctx, subject, name)
		switch {
		case errors.Is(err, errStale):
			p.fail(fmt.Errorf("%w: %w", errSession, err))
			return
		case err == nil:
			at = now
		}
	}
}
