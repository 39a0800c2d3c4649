package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// apiWithin bounds one call of the JetStream API.
const apiWithin = 10 * time.Second

// LogConfig names a log. Subject belongs to it alone.
type LogConfig struct {
	Stream, Subject string
	MaxBytes        int64 // room reserved; a full log refuses. An existing log is never made smaller
	Replicas        int   // 0: what Options.Replicas said
}

// Log is an ordered stream of messages, each with a sequence one greater than the last. Any number of goroutines may
// append; each reader follows on its own.
type Log struct {
	c       *Conn
	cfg     LogConfig
	mu      sync.Mutex
	rewound uint64 // guarded by mu; up to here holes in the log were owned up to by ErrAnchor and Rewind
}

// Position is the message applied last: its sequence and the server's timestamp of it. The zero Position means that
// nothing was applied yet.
type Position struct {
	Seq  uint64
	Time time.Time
}

// Entry is one message of a log. Data must not be changed.
type Entry struct {
	Position
	Data []byte
}

// OpenLog creates the log, or brings an existing one to cfg. Old messages are never dropped for room: a full log
// refuses new ones.
func (c *Conn) OpenLog(ctx context.Context, cfg LogConfig) (*Log, error) {
	err := c.openStream(ctx, jetstream.StreamConfig{
		Name:      cfg.Stream,
		Subjects:  []string{cfg.Subject},
		Retention: jetstream.LimitsPolicy,
		Discard:   jetstream.DiscardNew,
		MaxBytes:  cfg.MaxBytes,
		Replicas:  cfg.Replicas,
	})
	if err != nil {
		return nil, err
	}
	return &Log{c: c, cfg: cfg}, nil
}

// openStream creates a stream or updates the one there is, never giving up room that may be in use.
func (c *Conn) openStream(ctx context.Context, cfg jetstream.StreamConfig) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	if cfg.Replicas == 0 {
		cfg.Replicas = c.replicas
	}
	cfg.Storage = jetstream.FileStorage
	cfg.MaxConsumers = -1
	cfg.MaxMsgs = -1
	if cfg.MaxMsgsPerSubject == 0 {
		cfg.MaxMsgsPerSubject = -1
	}
	// No message carries an id, so nothing is remembered; the server wants a window all the same.
	cfg.Duplicates = 100 * time.Millisecond
	s, err := c.JS.Stream(ctx, cfg.Name)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		_, err = c.JS.CreateStream(ctx, cfg)
	case err == nil:
		was := s.CachedInfo().Config
		if was.Retention != cfg.Retention {
			return fmt.Errorf("stream %s exists and keeps its messages otherwise (%v): use another crawl name, or delete it",
				cfg.Name, was.Retention)
		}
		cfg.MaxBytes = max(cfg.MaxBytes, was.MaxBytes) // a smaller one would drop messages, DiscardNew or not
		if sameStream(was, cfg) {
			return nil
		}
		_, err = c.JS.UpdateStream(ctx, cfg)
		if err != nil && cfg.MaxBytes > was.MaxBytes {
			c.log.Info("the stream keeps its size", "stream", cfg.Name, "bytes", was.MaxBytes, "err", err)
			cfg.MaxBytes = was.MaxBytes
			_, err = c.JS.UpdateStream(ctx, cfg)
		}
	}
	return streamError(cfg, err)
}

func sameStream(a, b jetstream.StreamConfig) bool {
	return a.MaxBytes == b.MaxBytes && a.Replicas == b.Replicas && a.MaxMsgsPerSubject == b.MaxMsgsPerSubject &&
		a.Discard == b.Discard && a.DiscardNewPerSubject == b.DiscardNewPerSubject &&
		fmt.Sprint(a.Subjects) == fmt.Sprint(b.Subjects)
}

const (
	codeNoStorage     = 10047 // insufficient storage resources
	codeNoPeers       = 10005 // no suitable peers for placement
	codeReplicasAlone = 10074 // replicas > 1 on a single server
)

func streamError(cfg jetstream.StreamConfig, err error) error {
	var api *jetstream.APIError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &api) && api.ErrorCode == codeNoStorage:
		return fmt.Errorf("stream %s wants %d MiB and NATS has less room left to reserve: free some, or raise its max_file_store: %w",
			cfg.Name, cfg.MaxBytes>>20, err)
	case errors.As(err, &api) && (api.ErrorCode == codeNoPeers || api.ErrorCode == codeReplicasAlone):
		return fmt.Errorf("stream %s cannot have %d replicas here: start more NATS servers, or ask for fewer replicas: %w",
			cfg.Name, cfg.Replicas, err)
	}
	return fmt.Errorf("stream %s: %w", cfg.Name, err)
}

// Append adds data to the log and returns its sequence once it is stored. While the log is full or the broker is
// away it waits and tries again until ctx ends; so a message may be in the log twice, and data over the server's
// limit fails at once.
func (l *Log) Append(ctx context.Context, data []byte) (uint64, error) {
	return l.c.pub.publish(ctx, l.cfg.Subject, data)
}

// Last is the sequence of the last message there ever was; 0 before the first.
func (l *Log) Last(ctx context.Context) (uint64, error) {
	st, err := l.state(ctx)
	return st.LastSeq, err
}

func (l *Log) state(ctx context.Context) (jetstream.StreamState, error) {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	s, err := l.c.JS.Stream(ctx, l.cfg.Stream)
	if err != nil {
		return jetstream.StreamState{}, fmt.Errorf("stream %s: %w", l.cfg.Stream, err)
	}
	return s.CachedInfo().State, nil
}

// Purge drops the messages up to and including upTo and keeps all after it.
func (l *Log) Purge(ctx context.Context, upTo uint64) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	s, err := l.c.JS.Stream(ctx, l.cfg.Stream)
	if err == nil {
		err = s.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
	}
	if err != nil {
		return fmt.Errorf("purge stream %s: %w", l.cfg.Stream, err)
	}
	return nil
}

// Rewind is for after ErrAnchor: it returns the position just before the first message the log still has. Following
// from there applies all of it again. Holes inside that part, which no reading again can fill, are then passed over
// with a warning.
func (l *Log) Rewind(ctx context.Context) (Position, error) {
	st, err := l.state(ctx)
	if err != nil {
		return Position{}, err
	}
	l.mu.Lock()
	l.rewound = max(l.rewound, st.LastSeq)
	l.mu.Unlock()
	return Position{Seq: max(st.FirstSeq, 1) - 1}, nil
}
