package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// openStream creates a stream or updates an existing one. It never reduces the capacity, which may
// be in use, or the number of replicas.
func (c *Conn) openStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	if cfg.Replicas == 0 {
		cfg.Replicas = c.replicas
	}
	cfg.Storage = jetstream.FileStorage
	cfg.MaxConsumers = -1
	cfg.MaxMsgs = -1
	if cfg.MaxMsgsPerSubject == 0 {
		cfg.MaxMsgsPerSubject = -1
	}
	// No message carries an id, so the server need not remember any, but it requires a window.
	cfg.Duplicates = 100 * time.Millisecond
	s, err := c.JS.Stream(ctx, cfg.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = c.createStream(ctx, cfg)
		if !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return streamError(cfg, orStarting(err))
		}
		s, err = c.JS.Stream(ctx, cfg.Name) // another process created it, with another size
	}
	if err == nil {
		was := s.CachedInfo().Config
		if err := foreign(was); err != nil {
			return err
		}
		if was.Retention != cfg.Retention {
			return fmt.Errorf("stream %s already exists with another retention policy (%v): use another crawl name, or delete the stream",
				cfg.Name, was.Retention)
		}
		// A smaller stream would drop messages, with or without DiscardNew.
		cfg.MaxBytes = max(cfg.MaxBytes, was.MaxBytes)
		if was.MaxBytes < 0 {
			cfg.MaxBytes = was.MaxBytes // no limit
		}
		// A process whose options do not set the number of replicas must not delete copies.
		cfg.Replicas = max(cfg.Replicas, was.Replicas)
		if sameStream(was, cfg) {
			return nil
		}
		began := time.Now()
		_, err = c.JS.UpdateStream(ctx, cfg)
		refused := c.refused.since(began, cfg.Name)
		if more := cfg.MaxBytes > was.MaxBytes || cfg.Replicas > was.Replicas; err != nil && more && (refused != nil || !Unanswered(err)) {
			c.log.Warn("the stream keeps its size and replicas, although the settings ask for more", "stream", cfg.Name,
				"bytes", was.MaxBytes, "replicas", was.Replicas, "err", cmp.Or(refused, err))
			cfg.MaxBytes, cfg.Replicas = was.MaxBytes, was.Replicas
			if sameStream(was, cfg) {
				return nil
			}
			_, err = c.JS.UpdateStream(ctx, cfg)
		}
	}
	return streamError(cfg, err)
}

// foreign returns an error if a stream does more than store what is published to it. The server
// would copy messages of other streams into it, or publish what it stores on other subjects, with
// the server's own rights. A stream of ours never does, so somebody with a right to create streams
// made it, to get around the rights of a role.
func foreign(s jetstream.StreamConfig) error {
	what := ""
	switch {
	case s.RePublish != nil:
		what = "publishes what it stores on other subjects"
	case s.Mirror != nil || len(s.Sources) > 0:
		what = "copies other streams"
	case s.SubjectTransform != nil:
		what = "changes subjects"
	default:
		return nil
	}
	return fmt.Errorf("stream %s %s, which no stream of Curtsy does: find out who made it, and delete it with an administrator's rights", s.Name, what)
}

// smallBlocks is a capacity for which nats-server 2.15 chooses blocks of 4 MiB; from 32 MiB on it
// chooses 8 MiB. In memory the server has the block that it writes, the blocks that are read, and
// twice the size of the blocks from which it deletes. It chooses the size when a stream is created
// or read after a restart, but not when the capacity grows.
const smallBlocks = 31 << 20

// createStream creates a stream. A server in this process first creates it with a small capacity
// and therefore small blocks, because the blocks use memory of this process. Nobody else uses the
// stream before it has its final capacity.
func (c *Conn) createStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	capacity := cfg.MaxBytes
	if c.inProcess {
		cfg.MaxBytes = min(capacity, smallBlocks)
	}
	_, err := c.JS.CreateStream(ctx, cfg)
	if err != nil || cfg.MaxBytes == capacity {
		return err
	}
	cfg.MaxBytes = capacity
	if _, err = c.JS.UpdateStream(ctx, cfg); err != nil {
		// The next attempt must not find a stream with less capacity than requested.
		_ = c.JS.DeleteStream(context.WithoutCancel(ctx), cfg.Name)
	}
	return err
}

func sameStream(a, b jetstream.StreamConfig) bool {
	return a.MaxBytes == b.MaxBytes && a.Replicas == b.Replicas && a.MaxMsgsPerSubject == b.MaxMsgsPerSubject && a.MaxAge == b.MaxAge &&
		a.Discard == b.Discard && a.DiscardNewPerSubject == b.DiscardNewPerSubject &&
		fmt.Sprint(a.Subjects) == fmt.Sprint(b.Subjects)
}

const (
	codeNoStorage     = 10047 // insufficient storage resources
	codeNoPeers       = 10005 // no suitable peers for placement
	codeReplicasAlone = 10074 // replicas > 1 on a single server
)

// starting marks a refusal that may disappear in a moment. The cluster reports that one of its
// servers is offline, and it reports this also of a server that has just started.
type starting struct{ error }

func (s starting) Unwrap() error        { return s.error }
func (s starting) Is(target error) bool { return target == nats.ErrTimeout } // for Unanswered

// orStarting marks err if it is such a refusal.
func orStarting(err error) error {
	var api *jetstream.APIError
	if errors.As(err, &api) && api.ErrorCode == codeNoPeers && strings.Contains(api.Description, "offline") {
		return starting{err}
	}
	return err
}

func streamError(cfg jetstream.StreamConfig, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.ErrorCode == codeNoStorage:
		return fmt.Errorf("stream %s needs %d MiB, but NATS has less storage left to reserve: free some, or raise max_file_store of NATS: %w",
			cfg.Name, cfg.MaxBytes>>20, err)
	case errors.As(err, &api) && (api.ErrorCode == codeNoPeers || api.ErrorCode == codeReplicasAlone):
		return fmt.Errorf("stream %s cannot have %d replicas here: start more NATS servers, or use fewer replicas: %w",
			cfg.Name, cfg.Replicas, err)
	}
	return fmt.Errorf("stream %s: %w", cfg.Name, err)
}
