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

// WorkConfig names a hand-off. Give each shard its own subject; one wildcard over them will do.
type WorkConfig struct {
	Stream            string
	Subjects          []string
	MaxBytes          int64 // room reserved for all subjects together. An existing stream is never made smaller
	MaxMsgsPerSubject int64 // a subject holding so many refuses more, its neighbours go on; 0: no such limit
	Replicas          int   // 0: what Options.Replicas said. An existing stream never gets fewer
}

// Work hands each message to the one consumer of its subject until it is settled there. Its methods may be called from
// any goroutine.
type Work struct {
	c       *Conn
	cfg     WorkConfig
	ackWait time.Duration // a message not heard of for so long is handed out again
}

// OpenWork creates the stream, or brings an existing one to cfg.
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

// Send hands data over and returns once it is stored. While the subject or the stream is full, or the broker is away,
// it waits and tries again until ctx ends; so a message may be handed over twice, or once although an error was
// returned. Data over the server's limit fails at once with ErrTooLarge. data may be used again after Send returned.
func (w *Work) Send(ctx context.Context, subject string, data []byte) error {
	_, err := w.c.pub.publish(ctx, subject, data)
	return err
}

// Pending is how many messages of subject are not settled yet, those in a handler's hands included.
func (w *Work) Pending(ctx context.Context, subject string) (int64, error) {
	var n uint64
	err := w.c.api(ctx, w.cfg.Stream, func(ctx context.Context) error {
		s, err := w.c.JS.Stream(ctx, w.cfg.Stream)
		if err != nil {
			return err
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(subject))
		if err != nil {
			return err
		}
		for _, k := range info.State.Subjects {
			n += k
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("stream %s: %w", w.cfg.Stream, err)
	}
	return int64(n), nil
}

const codeNotUnique = 10100 // a work queue has one consumer a subject

// fence deletes the durables of earlier epochs and of this one, and makes the one of this epoch. A consumer of a later
// epoch means that we are the one to be fenced. What the deleted ones had delivered and not settled is free at once.
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
				MaxDeliver:    -1, // we count ourselves: at the last one the page is reported, not forgotten
				MaxAckPending: 4096,
				MaxWaiting:    64,
			})
			var api *jetstream.APIError
			if !errors.As(err, &api) || api.ErrorCode != codeNotUnique {
				return err
			}
			// Someone made another one in between: look again who it is.
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
