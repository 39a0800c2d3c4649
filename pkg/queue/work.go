package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// WorkConfig describes a Work queue. Each shard has a subject of its own. Subjects may contain one
// wildcard that matches all of them.
type WorkConfig struct {
	Stream   string
	Subjects []string
	// reserved capacity for all subjects together. An existing stream is never made smaller
	MaxBytes int64
	// a subject with this many messages refuses more, while the other subjects accept messages; 0:
	// no such limit
	MaxMsgsPerSubject int64
	Replicas          int // 0: Options.Replicas. An existing stream never gets fewer
}

// Work passes each message to the only consumer of its subject until that consumer has acknowledged
// it. Its methods may be called from any goroutine.
type Work struct {
	c       *Conn
	cfg     WorkConfig
	ackWait time.Duration // a message without any news for this long is delivered again
}

// OpenWork creates the stream, or changes an existing one to match cfg.
func (c *Conn) OpenWork(ctx context.Context, cfg WorkConfig) (*Work, error) {
	err := c.api(ctx, cfg.Stream, func(ctx context.Context) error {
		return c.openStream(ctx, jetstream.StreamConfig{
			Name:                 cfg.Stream,
			Subjects:             cfg.Subjects,
			Retention:            jetstream.WorkQueuePolicy,
			Discard:              jetstream.DiscardNew,
			DiscardNewPerSubject: cfg.MaxMsgsPerSubject > 0,
			MaxBytes:             cfg.MaxBytes,
			MaxMsgsPerSubject:    cfg.MaxMsgsPerSubject,
			Replicas:             cfg.Replicas,
		})
	})
	if err != nil {
		return nil, err
	}
	return &Work{c: c, cfg: cfg, ackWait: ackWait}, nil
}

// JoinWork opens an existing Work queue and keeps the capacity and the limits with which it was
// created. If the queue is not found, JoinWork calls again with the error. That function waits and
// reports whether to try once more. nil means that it tries only once.
func (c *Conn) JoinWork(ctx context.Context, stream string, again func(error) bool) (*Work, error) {
	for {
		s, err := c.JS.Stream(ctx, stream)
		if err == nil {
			made := s.CachedInfo().Config
			return c.OpenWork(ctx, WorkConfig{
				Stream: made.Name, Subjects: made.Subjects, MaxBytes: made.MaxBytes, Replicas: made.Replicas,
				MaxMsgsPerSubject: max(made.MaxMsgsPerSubject, 0),
			})
		}
		if again == nil || !again(err) {
			return nil, fmt.Errorf("stream %s: %w", stream, err)
		}
	}
}

// Send queues data for the consumer of subject and returns once it is stored. While the subject or
// the stream is full, or the broker is unreachable, Send retries until ctx ends. Therefore a
// message may be delivered twice, or be delivered although Send returned an error. Data over the
// server's limit fails at once with ErrTooLarge. The caller may reuse data after Send has returned.
func (w *Work) Send(ctx context.Context, subject string, data []byte) error {
	_, err := w.c.pub.publish(ctx, subject, data)
	return err
}

// Pending returns how many messages of subject are not acknowledged yet, including those being
// handled.
func (w *Work) Pending(ctx context.Context, subject string) (int64, error) {
	var n int64
	err := w.c.api(ctx, w.cfg.Stream, func(ctx context.Context) (err error) {
		n, err = w.unsettled(ctx, subject)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", w.cfg.Stream, err)
	}
	return n, nil
}

// unsettled returns how many messages of subject the stream has.
func (w *Work) unsettled(ctx context.Context, subject string) (n int64, err error) {
	s, err := w.c.JS.Stream(ctx, w.cfg.Stream)
	if err != nil {
		return 0, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
	if err != nil {
		return 0, err
	}
	for _, k := range info.State.Subjects {
		n += int64(k)
	}
	return n, nil
}

const codeNotUnique = 10100 // a work queue has one consumer for each subject

// fence deletes the durable consumers of earlier epochs and of this one, and creates the consumer
// of this epoch. If there is a consumer of a later epoch, it returns ErrFenced. Messages that the
// deleted consumers had received and not acknowledged are available at once.
func (w *Work) fence(ctx context.Context, subject, durable string, epoch uint64) (name string, err error) {
	name = durable + "-" + strconv.FormatUint(epoch, 10)
	err = w.c.api(ctx, w.cfg.Stream, func(ctx context.Context) error {
		b := backoff{least: 10 * time.Millisecond, most: 500 * time.Millisecond}
		for {
			if err := w.deleteOthers(ctx, durable, epoch); err != nil {
				return err
			}
			_, err := w.c.JS.CreateOrUpdateConsumer(ctx, w.cfg.Stream, jetstream.ConsumerConfig{
				Durable:       name,
				FilterSubject: subject,
				AckPolicy:     jetstream.AckExplicitPolicy,
				AckWait:       w.ackWait,
				// We count deliveries ourselves: after the last delivery the page must be reported,
				// not forgotten.
				MaxDeliver:    -1,
				MaxAckPending: 4096,
				MaxWaiting:    64,
			})
			var api *jetstream.APIError
			if !errors.As(err, &api) || api.ErrorCode != codeNotUnique {
				return err
			}
			// Another process has created one in between: check again which one.
			if werr := b.wait(ctx, nil); werr != nil {
				return err
			}
		}
	})
	if err != nil {
		return "", fmt.Errorf("consumer %s of stream %s: %w", name, w.cfg.Stream, err)
	}
	return name, nil
}

func (w *Work) deleteOthers(ctx context.Context, durable string, epoch uint64) error {
	s, err := w.c.JS.Stream(ctx, w.cfg.Stream)
	if err != nil {
		return err
	}
	names := s.ConsumerNames(ctx)
	for name := range names.Name() {
		rest, ok := strings.CutPrefix(name, durable+"-")
		if !ok {
			continue
		}
		other, err := strconv.ParseUint(rest, 10, 64)
		switch {
		case err != nil:
		case other > epoch:
			return fmt.Errorf("%w: %s has a later epoch", ErrFenced, name)
		default:
			if err := s.DeleteConsumer(ctx, name); err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return fmt.Errorf("delete %s: %w", name, err)
			}
		}
	}
	return names.Err()
}
