package queue

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// LogConfig describes a log. No other stream uses Subject.
type LogConfig struct {
	Stream, Subject string
	// reserved capacity; a full log refuses messages. An existing log is never made smaller
	MaxBytes int64
	Replicas int // 0: Options.Replicas. An existing log never gets fewer
}

// Log is an ordered stream of messages. Each message has a sequence number one greater than the
// previous message. Any number of goroutines may append. Readers do not affect each other.
type Log struct {
	c   *Conn
	cfg LogConfig
	mu  sync.Mutex
	// guarded by mu; holes before this sequence were reported by ErrAnchor and Rewind
	rewound uint64
}

// Position identifies the message that was applied last, by its sequence number and the server's
// timestamp. The zero Position means that no message was applied yet.
type Position struct {
	Seq  uint64
	Time time.Time
}

// Entry is one message of a log. Data must not be changed.
type Entry struct {
	Position
	Data []byte
}

// OpenLog creates the log, or changes an existing log to match cfg. The log never drops old
// messages to gain space: a full log refuses new messages.
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

// Append adds data to the log and returns its sequence number once it is stored. While the log is
// full or the broker is unreachable, Append retries until ctx ends. Therefore a message may be in
// the log twice, or be in the log although Append returned an error. Data over the server's limit
// fails at once with ErrTooLarge. The caller may reuse data after Append has returned.
func (l *Log) Append(ctx context.Context, data []byte) (uint64, error) {
	return l.c.pub.publish(ctx, l.cfg.Subject, data)
}

// Last returns the sequence number of the last message ever appended; 0 before the first.
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

// Purge removes the messages up to and including upTo and keeps all later messages.
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
// log still has: following from there applies all remaining messages again. Gaps inside that part
// cannot be filled by reading again, so Follow skips them and logs a warning.
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
