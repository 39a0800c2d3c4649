package queue

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// SnapshotConfig describes a store of snapshots.
type SnapshotConfig struct {
	Bucket   string
	MaxBytes int64 // capacity reserved at first; it grows with the stored snapshots
	Replicas int   // 0: Options.Replicas
}

// Snapshots stores copies of files in an object store of NATS. The copies are compressed with S2
// and checked against their digest when they are read. Its methods may be called from any
// goroutine.
//
// The format is that of `nats object`: pieces in order on a subject of their own, then one message
// that names them. Snapshots does not use Put and Get of nats.go, because they fail when a node
// dies. That Put sends pieces concurrently, and repeats refused ones out of order and with the
// bytes of a later piece. That Get waits until its timeout for pieces that never arrive.
type Snapshots struct {
	c    *Conn
	cfg  SnapshotConfig
	st   jetstream.Stream
	grow chan struct{} // has an element while a goroutine checks and changes the capacity
}

// snapshotPace is the minimum rate of a transfer. A slower transfer counts as stalled.
const snapshotPace = 1 << 20 // bytes a second

const sweepWithin = time.Minute

func snapshotTime(size int64) time.Duration {
	return 30*time.Second + time.Duration(size/snapshotPace)*time.Second
}

// OpenSnapshots opens the store, and creates it if it does not exist.
func (c *Conn) OpenSnapshots(ctx context.Context, cfg SnapshotConfig) (*Snapshots, error) {
	s := &Snapshots{c: c, cfg: cfg, grow: make(chan struct{}, 1)}
	err := c.api(ctx, cfg.Bucket, func(ctx context.Context) (err error) {
		err = c.openStream(ctx, jetstream.StreamConfig{
			Name:        s.stream(),
			Subjects:    []string{s.pieces(">"), s.named(">")},
			MaxBytes:    cfg.MaxBytes,
			Replicas:    cfg.Replicas,
			Discard:     jetstream.DiscardNew,
			AllowRollup: true,
			// No AllowDirect: a snapshot that was just stored must be visible to the next owner,
			// whichever server answers.
		})
		if err == nil {
			s.st, err = c.JS.Stream(ctx, s.stream())
		}
		return notSeenYet(err)
	})
	if err != nil {
		return nil, fmt.Errorf("object store %s: %w", cfg.Bucket, err)
	}
	return s, nil
}

func (s *Snapshots) stream() string { return "OBJ_" + s.cfg.Bucket }

// pieces returns the subject for the pieces of an object, by its id.
func (s *Snapshots) pieces(id string) string { return "$O." + s.cfg.Bucket + ".C." + id }

// named returns the subject for the message that names an object.
func (s *Snapshots) named(token string) string { return "$O." + s.cfg.Bucket + ".M." + token }

func (s *Snapshots) nameSubject(name string) string {
	return s.named(base64.URLEncoding.EncodeToString([]byte(name)))
}

// lookup reads the message that names a snapshot. The error wraps ErrNoSnapshot if there is none or
// if it cannot be parsed.
func (s *Snapshots) lookup(ctx context.Context, name string, tries int) (*jetstream.ObjectInfo, error) {
	m, err := s.last(ctx, s.nameSubject(name), tries)
	if gone(err) {
		return nil, ErrNoSnapshot
	}
	if err != nil {
		return nil, err
	}
	info := new(jetstream.ObjectInfo)
	if err := json.Unmarshal(m.Data, info); err != nil {
		return nil, fmt.Errorf("%w: its metadata is damaged: %w", ErrNoSnapshot, err)
	}
	if info.Deleted {
		return nil, ErrNoSnapshot
	}
	return info, nil
}

// last reads the last message of a subject.
func (s *Snapshots) last(ctx context.Context, subject string, tries int) (*jetstream.RawStreamMsg, error) {
	return s.read(ctx, tries, func(ctx context.Context) (*jetstream.RawStreamMsg, error) {
		return s.st.GetLastMsgForSubject(ctx, subject)
	})
}

// gone reports whether the error means that the message, or even its stream, does not exist.
func gone(err error) bool {
	return errors.Is(err, jetstream.ErrMsgNotFound) || errors.Is(err, jetstream.ErrStreamNotFound)
}

// sure is how often something important is looked up before it counts as missing: a newly elected
// leader may not have read all of its own log yet.
const sure = 3

func (s *Snapshots) read(ctx context.Context, tries int, call func(context.Context) (*jetstream.RawStreamMsg, error)) (m *jetstream.RawStreamMsg, err error) {
	for {
		err = s.c.apiUntil(ctx, s.cfg.Bucket, func(ctx context.Context) (err error) {
			m, err = call(ctx)
			return err
		})
		if tries--; tries <= 0 || !gone(err) || max(s.cfg.Replicas, s.c.replicas) == 1 {
			return m, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// Delete removes the snapshot with the given name. It returns no error if there is none.
func (s *Snapshots) Delete(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, apiWithin)
	defer cancel()
	info, err := s.lookup(ctx, name, 1)
	if err != nil && !errors.Is(err, ErrNoSnapshot) {
		return fmt.Errorf("delete snapshot %s of %s: %w", name, s.cfg.Bucket, err)
	}
	// Remove the name first: a name without its pieces would be a damaged snapshot.
	err = s.purge(ctx, s.nameSubject(name))
	if err == nil && info != nil {
		err = s.purge(ctx, s.pieces(info.NUID))
	}
	if err != nil {
		return fmt.Errorf("delete snapshot %s of %s: %w", name, s.cfg.Bucket, err)
	}
	return nil
}

func (s *Snapshots) purge(ctx context.Context, subject string) error {
	return s.c.apiUntil(ctx, s.cfg.Bucket, func(ctx context.Context) error {
		return s.st.Purge(ctx, jetstream.WithPurgeSubject(subject))
	})
}

// subjects returns how many messages each subject under filter has, and when the server counted
// them.
func (s *Snapshots) subjects(ctx context.Context, filter string) (n map[string]uint64, at time.Time, err error) {
	err = s.c.api(ctx, s.cfg.Bucket, func(ctx context.Context) error {
		info, err := s.st.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err == nil {
			n, at = info.State.Subjects, info.TimeStamp
		}
		return err
	})
	if err != nil {
		return nil, at, fmt.Errorf("object store %s: %w", s.cfg.Bucket, err)
	}
	return n, at, nil
}

// Names returns the names of all snapshots in no particular order.
func (s *Snapshots) Names(ctx context.Context) ([]string, error) {
	subjects, _, err := s.subjects(ctx, s.named(">"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(subjects))
	for subject := range subjects {
		name, err := base64.URLEncoding.DecodeString(strings.TrimPrefix(subject, s.named("")))
		if err == nil {
			names = append(names, string(name))
		}
	}
	return names, nil
}

// Sweep removes pieces that belong to no snapshot. A process that was killed during Put leaves
// them. Only pieces whose age is at least old, by the clock of the server, are removed.
func (s *Snapshots) Sweep(ctx context.Context, old time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, sweepWithin)
	defer cancel()
	pieces, now, err := s.subjects(ctx, s.pieces(">"))
	if err != nil || len(pieces) == 0 {
		return err
	}
	names, err := s.Names(ctx) // after the pieces, so that snapshots completed in between are kept
	if err != nil {
		return err
	}
	for _, name := range names {
		info, err := s.lookup(ctx, name, 1)
		switch {
		case err == nil:
			delete(pieces, s.pieces(info.NUID))
		case !errors.Is(err, ErrNoSnapshot):
			return fmt.Errorf("snapshot %s of %s: %w", name, s.cfg.Bucket, err)
		}
	}
	for subject := range pieces {
		last, err := s.last(ctx, subject, 1)
		if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && now.Sub(last.Time) < old {
			continue
		}
		if err == nil {
			err = s.purge(ctx, subject)
		}
		if err != nil {
			return fmt.Errorf("object store %s: %w", s.cfg.Bucket, err)
		}
	}
	return nil
}
