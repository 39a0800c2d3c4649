package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LogConfig names a log. Subject belongs to it alone.
type LogConfig struct {
	Stream, Subject string
	// room reserved; a full log refuses messages. An existing log is never made smaller
	MaxBytes int64
	Replicas int // 0: what Options.Replicas said. An existing log never gets fewer
}

// Log is an ordered stream of messages, each with a sequence one greater than the last. Any number
// of goroutines may append; each reader follows on its own.
type Log struct {
	c   *Conn
	cfg LogConfig
	mu  sync.Mutex
	// guarded by mu; holes before this sequence were reported by ErrAnchor and Rewind
	rewound uint64
}

// Position is the message applied last: its sequence and the server's timestamp of it. The zero
// Position means that nothing was applied yet.
type Position struct {
	Seq  uint64
	Time time.Time
}

// Entry is one message of a log. Data must not be changed.
type Entry struct {
	Position
	Data []byte
}

// OpenLog creates the log, or adapts an existing one to cfg. Old messages are never dropped for
// room: a full log refuses new ones.
func (c *Conn) OpenLog(ctx context.Context, cfg LogConfig) (*Log, error) {
	err := c.api(ctx, cfg.Stream, func(ctx context.Context) error {
		return c.openStream(ctx, jetstream.StreamConfig{
			Name:      cfg.Stream,
			Subjects:  []string{cfg.Subject},
			Retention: jetstream.LimitsPolicy,
			Discard:   jetstream.DiscardNew,
			MaxBytes:  cfg.MaxBytes,
			Replicas:  cfg.Replicas,
		})
	})
	if err != nil {
		return nil, err
	}
	return &Log{c: c, cfg: cfg}, nil
}

// Append adds data to the log and returns its sequence once it is stored. While the log is full or
// the broker is away it waits and tries again until ctx ends. So a message may be in the log twice,
// or be in it although an error was returned. Data over the server's limit fails at once with
// ErrTooLarge. data may be used again after Append has returned.
func (l *Log) Append(ctx context.Context, data []byte) (uint64, error) {
	return l.c.pub.publish(ctx, l.cfg.Subject, data)
}

// Last is the sequence of the last message there ever was; 0 before the first.
func (l *Log) Last(ctx context.Context) (uint64, error) {
	st, err := l.state(ctx)
	return st.LastSeq, err
}

func (l *Log) state(ctx context.Context) (st jetstream.StreamState, err error) {
	err = l.c.api(ctx, l.cfg.Stream, func(ctx context.Context) error {
		s, err := l.c.JS.Stream(ctx, l.cfg.Stream)
		if err == nil {
			st = s.CachedInfo().State
		}
		return err
	})
	if err != nil {
		err = fmt.Errorf("stream %s: %w", l.cfg.Stream, err)
	}
	return st, err
}

// Purge drops the messages up to and including upTo and keeps all after it.
func (l *Log) Purge(ctx context.Context, upTo uint64) error {
	err := l.c.api(ctx, l.cfg.Stream, func(ctx context.Context) error {
		s, err := l.c.JS.Stream(ctx, l.cfg.Stream)
		if err != nil {
			return err
		}
		return s.Purge(ctx, jetstream.WithPurgeSequence(upTo+1))
	})
	if err != nil {
		return fmt.Errorf("purge stream %s: %w", l.cfg.Stream, err)
	}
	return nil
}

// Rewind is called after ErrAnchor. It returns the position just before the first message that the
// log still has: following from there applies all of it again. Holes inside that part cannot be
// filled by reading again; they are passed over with a warning.
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
