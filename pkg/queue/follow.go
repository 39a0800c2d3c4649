package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// These are the limits of one batch of Follow.
const (
	followMsgs  = 256
	followBytes = 4 << 20
)

// A replicated log that seems to end too early is checked again up to lateLooks times, with
// lateWait between the checks.
const (
	lateLooks = 20
	lateWait  = 500 * time.Millisecond
)

// Follow passes the messages after from to apply, in order and without gaps, in batches of the
// messages that are available (at most 256 messages or 4 MiB, but at least one message). It blocks
// until ctx ends, and then returns nil. If apply returns an error, Follow ends and returns that
// error unchanged. One call passes no message twice. The slice must not be used after apply has
// returned; the Data in it may be kept.
//
// Whenever Follow starts to read, and after every reconnect, it compares the position applied last
// with the message at that position. The returned error wraps ErrAnchor if that is another message,
// if it is missing while older messages exist, or if messages after it are missing.
func (l *Log) Follow(ctx context.Context, from Position, apply func(batch []Entry) error) error {
	b := backoff{least: 20 * time.Millisecond, most: 2 * time.Second}
	logged := false
	for ctx.Err() == nil {
		f := &follower{l: l, at: from, apply: apply}
		err := f.run(ctx)
		if f.at != from || f.applied {
			b.reset()
			logged = false
		}
		from = f.at
		switch {
		case f.failed && !(ctx.Err() != nil && errors.Is(err, ctx.Err())), errors.Is(err, ErrAnchor):
			return err
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("follow %s: %w", l.cfg.Stream, err)
		}
		if !logged {
			l.c.log.Info("following the log again", "stream", l.cfg.Stream, "after", from.Seq, "because", err)
			logged = true
		}
		var wake <-chan struct{}
		if !l.c.NC.IsConnected() {
			wake = l.c.watch()
		}
		_ = b.wait(ctx, wake)
	}
	return nil
}

// follower is one session of following: one consumer, which is read until an error happens.
type follower struct {
	l           *Log
	at          Position
	apply       func([]Entry) error
	applied     bool   // apply was called
	failed      bool   // apply returned an error
	anchored    bool   // at was found in the log
	consumerSeq uint64 // of the last delivery
	entries     []Entry
}

func (f *follower) run(ctx context.Context) error {
	l := f.l
	var name string
	err := l.c.api(ctx, l.cfg.Stream, func(ctx context.Context) error {
		consumer, err := l.c.JS.CreateOrUpdateConsumer(ctx, l.cfg.Stream, jetstream.ConsumerConfig{
			AckPolicy:     jetstream.AckNonePolicy,
			DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
			// The message at the anchor is delivered first, so it is compared within the sequence
			// of deliveries that continues after it.
			OptStartSeq:       max(f.at.Seq, 1),
			InactiveThreshold: time.Minute,
			MemoryStorage:     true,
			Replicas:          1,
			MaxWaiting:        16,
		})
		if err == nil {
			name = consumer.CachedInfo().Name
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("follow %s: %w", l.cfg.Stream, err)
	}
	defer func() {
		dctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		_ = l.c.JS.DeleteConsumer(dctx, l.cfg.Stream, name) // otherwise the server does, later
		cancel()
	}()
	if err := f.check(ctx); err != nil {
		return err
	}
	p, err := l.c.openPull(l.cfg.Stream, name, 2*followMsgs, followBytes)
	if err != nil {
		return err
	}
	defer p.close()
	for {
		msgs, err := p.take(ctx, followMsgs, followBytes)
		if err != nil {
			return err
		}
		if err := f.batch(msgs); err != nil {
			return err
		}
	}
}

// check compares the position with the bounds of the log.
func (f *follower) check(ctx context.Context) error {
	st, err := f.l.state(ctx)
	// A newly elected leader may still be reading its own log: for a moment, or for seconds on a
	// busy machine. If Follow took that for a loss, everything applied since the last checkpoint
	// would have to be done again.
	for n := 0; n < lateLooks && err == nil && st.LastSeq < f.at.Seq && f.l.c.replicas > 1; n++ {
		select {
		case <-time.After(lateWait):
		case <-ctx.Done():
		}
		st, err = f.l.state(ctx)
	}
	if err != nil {
		return err
	}
	first := max(st.FirstSeq, 1)
	switch {
	case st.LastSeq < f.at.Seq:
		return f.anchorError("it ends at %d", st.LastSeq)
	case first > f.at.Seq+1:
		return f.anchorError("it begins at %d", first)
	}
	f.anchored = first == f.at.Seq+1
	return nil
}

func (f *follower) batch(msgs []*nats.Msg) error {
	f.entries = f.entries[:0]
	at := f.at
	for _, m := range msgs {
		d, err := parseDelivery(m)
		if err != nil {
			return err
		}
		if d.consumerSeq != f.consumerSeq+1 {
			return fmt.Errorf("%w: delivery %d came after %d", errSession, d.consumerSeq, f.consumerSeq)
		}
		f.consumerSeq = d.consumerSeq
		if !f.anchored && d.seq == at.Seq {
			if d.time.UnixNano() != at.Time.UnixNano() {
				return f.anchorError("message %d is of %s now", d.seq, d.time.Format(time.RFC3339Nano))
			}
			f.anchored = true
			continue
		}
		if d.seq != at.Seq+1 && !f.hole(at, d.seq) {
			return f.anchorError("after %d comes %d", at.Seq, d.seq)
		}
		f.anchored = true
		at = Position{Seq: d.seq, Time: d.time}
		f.entries = append(f.entries, Entry{Position: at, Data: m.Data})
	}
	if len(f.entries) == 0 {
		return nil
	}
	f.applied = true
	if err := f.apply(f.entries); err != nil {
		f.failed = true
		return err
	}
	f.at = at
	return nil
}

// hole reports whether the missing messages between at and next may be skipped. They may if Rewind
// was called after they were lost: then the caller knows of the loss.
func (f *follower) hole(at Position, next uint64) bool {
	f.l.mu.Lock()
	known := next <= f.l.rewound
	f.l.mu.Unlock()
	if known {
		f.l.c.log.Warn("messages of the log are lost", "stream", f.l.cfg.Stream, "first", at.Seq+1, "last", next-1)
	}
	return known
}

func (f *follower) anchorError(format string, args ...any) error {
	return fmt.Errorf("stream %s, applied up to %d of %s: %s: %w", f.l.cfg.Stream, f.at.Seq,
		f.at.Time.Format(time.RFC3339Nano), fmt.Sprintf(format, args...), ErrAnchor)
}
