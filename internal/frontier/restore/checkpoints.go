package restore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// defaultEvery is Options.Every if that is 0.
const defaultEvery = 64 << 20

// space is the initial size of the store of checkpoints in bytes. It grows with its contents.
const space = 64 << 20

// atOnce limits concurrent checkpoints of a process.
const atOnce = 2

// Checkpoints are the checkpoints of a crawl's shards in the object store, and what follows from
// them: which name the ownership record has, and how much of a log is kept. Its methods may be
// called concurrently for different shards.
type Checkpoints struct {
	o         Options
	snapshots *queue.Snapshots
	copying   chan struct{} // has one element for each checkpoint that is being made
}

// OpenCheckpoints opens the store of checkpoints, and creates it if it is missing.
func OpenCheckpoints(ctx context.Context, o Options) (*Checkpoints, error) {
	o.Every = cmp.Or(o.Every, defaultEvery)
	c := &Checkpoints{o: o, copying: make(chan struct{}, atOnce)}
	var err error
	if c.snapshots, err = c.open(ctx); err != nil {
		return nil, fmt.Errorf("checkpoints: %w", err)
	}
	return c, nil
}

func (c *Checkpoints) open(ctx context.Context) (*queue.Snapshots, error) {
	return c.o.Queue.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: c.o.Names.Checkpoints(), MaxBytes: space})
}

// upload copies an image to the store of checkpoints, and closes it. It returns the stored size,
// and the chain to which the next checkpoint may be a delta once this one is recorded.
func (c *Checkpoints) upload(ctx context.Context, im Image) (stored int64, next Chain, err error) {
	defer im.Close()
	began := time.Now()
	// The size of a delta is only known afterwards, so space and time are reserved for the whole
	// file.
	stored, err = c.snapshots.Put(ctx, im.name.String(), im.Tx.Size(), func(w io.Writer) error {
		return im.db.Guard(func() (err error) { // the store may call this in any goroutine
			next, err = im.Copy(w)
			return err
		})
	})
	if err != nil {
		c.o.Metrics.CheckpointsFailed.Inc()
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			_, _ = c.open(ctx) // it was deleted: the next attempt finds it
		}
		return 0, Chain{}, err
	}
	c.o.Metrics.Checkpoints.Inc()
	c.o.Metrics.CheckpointBytes.Add(float64(stored))
	c.o.Metrics.CheckpointTime.Observe(time.Since(began).Seconds())
	return stored, next, nil
}

// Keep copies a shard's state to the store of checkpoints whenever that is due, until ctx ends. It
// fails if the shard is lost. It takes the shard's lock itself.
func (c *Checkpoints) Keep(ctx context.Context, s *Copies, own *queue.Ownership) error {
	if err := c.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
		s.ledger.Log.Warn("cannot clean up after the shard's last owner yet", "error", err)
	}
	t := time.NewTicker(store.CommitEvery)
	defer t.Stop()
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	var next time.Time
	var log logState
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if log.name == "" {
			log = c.logState(ctx, s.ledger.ID)
		}
		s.ledger.Mu.Lock()
		due := s.Due(c.o.Every, log.capacity)
		s.ledger.Mu.Unlock()
		if !due || time.Now().Before(next) || !own.Valid() {
			continue
		}
		err := c.make(ctx, s, own)
		switch {
		case err == nil:
			again.Reset()
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, queue.ErrLost):
			return err
		default:
			wait := again.Next()
			next = time.Now().Add(wait)
			s.ledger.Log.Warn("cannot write a checkpoint; trying again", "wait", wait, "error", err)
			if log = c.logState(ctx, s.ledger.ID); log.filling() {
				s.ledger.Log.Error("the shard's event log is filling up because no checkpoint can be written; when it is full, the shard stops",
					"stream", log.name, "bytes", log.bytes, "of", log.capacity)
			}
		}
	}
}

// make makes a checkpoint: first the copy, then the record that names it. Only then it
// deletes what neither this checkpoint nor the one before needs. A crash in between leaves a copy
// that no record names (tidy removes it), or a log that is longer than necessary.
func (c *Checkpoints) make(ctx context.Context, s *Copies, own *queue.Ownership) error {
	select {
	case c.copying <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-c.copying }()
	began := time.Now()
	s.ledger.Mu.Lock()
	var im Image
	err := s.ledger.Guarded(func() (err error) {
		im, err = s.Image()
		return err
	})
	wanted := s.ledger.CheckpointBegun()
	s.ledger.Mu.Unlock()
	if err != nil {
		return err
	}
	name := im.name.String()
	size, next, err := c.upload(ctx, im)
	if err == nil {
		err = c.record(ctx, own, name, s.unreadable)
	}
	s.ledger.Mu.Lock()
	if err != nil {
		if wanted {
			s.ledger.WantCheckpoint()
		}
		// Checkpoints on which it is based may be missing, or the changes too large
		s.Recorded(Chain{})
		s.ledger.Mu.Unlock()
		return err
	}
	s.ledger.Meta.CheckpointMade(store.Mark{Name: name, Applied: im.applied, Size: size})
	s.Recorded(next)
	s.ledger.Mu.Unlock()
	s.ledger.Log.Info("checkpoint written", "name", name, "bytes", size, "took", time.Since(began).Round(time.Millisecond))
	if err := c.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
		s.ledger.Log.Warn("data that the checkpoint made unnecessary is not deleted yet", "error", err)
	}
	if last, before := Recorded(own.Record()); before.Gen != last.Gen || before.Seq < last.Seq {
		if c.logState(ctx, s.ledger.ID).filling() {
			// Another checkpoint permits emptying the log up to this one. It must be requested
			// here, because a full log accepts no events that would make one due.
			s.ledger.Mu.Lock()
			s.ledger.WantCheckpoint()
			s.ledger.Mu.Unlock()
		}
	}
	return nil
}

// HandOver stores the last copy of a shard, which is about to be released with its name. The record
// gets the name only if a checkpoint that it names cannot be read, because Release would keep that
// one.
func (c *Checkpoints) HandOver(ctx context.Context, s *Copies, im Image, own *queue.Ownership) error {
	name := im.name.String()
	_, _, err := c.upload(ctx, im)
	if err == nil && len(s.unreadable) > 0 {
		err = c.record(ctx, own, name, s.unreadable)
	}
	return err
}

// record writes the checkpoint's name into the ownership record. The previous name is kept, unless
// that checkpoint is known to be unreadable.
func (c *Checkpoints) record(ctx context.Context, own *queue.Ownership, name string, unreadable []string) error {
	var err error
	for range 3 { // an answer may have been lost, so the update is repeated
		err = own.Update(ctx, func(r *queue.Record) {
			if r.Checkpoint == name {
				return
			}
			if !slices.Contains(unreadable, r.Checkpoint) {
				r.Previous = r.Checkpoint
			}
			if slices.Contains(unreadable, r.Previous) {
				r.Previous = ""
			}
			r.Checkpoint = name
		})
		if err == nil || errors.Is(err, queue.ErrLost) || ctx.Err() != nil {
			break
		}
	}
	return err
}

// tidy deletes what the record just written makes superfluous: checkpoints of this shard that the
// record does not name and on which no delta that it names is based, and the part of the log that
// even the checkpoint before the last has applied. The last message of that part stays, because it
// anchors the log.
func (c *Checkpoints) tidy(ctx context.Context, s *Copies, own *queue.Ownership) error {
	rec := own.Record()
	names, err := c.snapshots.Names(ctx)
	if err != nil {
		return err
	}
	last, before := Recorded(rec)
	for _, name := range names {
		n, ok := ParseName(name)
		// Checkpoints of a later epoch are not ours. In that case we no longer own the shard.
		if !ok || n.Shard != s.ledger.ID || n.Epoch > rec.Epoch || name == rec.Checkpoint || name == rec.Previous || last.Needs(n) || before.Needs(n) {
			continue
		}
		if err := c.snapshots.Delete(ctx, name); err != nil {
			return err
		}
	}
	s.ledger.Mu.Lock()
	gen, applied := s.ledger.Meta.Gen, s.ledger.Meta.Seq
	broken := s.chain.broken(names)
	if broken { // a checkpoint on which it is based was deleted: a full one repairs this
		s.Recorded(Chain{})
		s.ledger.WantCheckpoint()
	}
	s.ledger.Mu.Unlock()
	if last.Gen != gen || before.Gen != gen || before.Seq > last.Seq || last.Seq > applied || before.Seq < 2 || !own.Valid() {
		return nil
	}
	for _, name := range []string{rec.Checkpoint, rec.Previous} {
		if !Stands(name, names) || slices.Contains(s.unreadable, name) {
			return nil // the log is all that remains
		}
	}
	if broken {
		return nil
	}
	return c.o.Logs[s.ledger.ID].Purge(ctx, before.Seq-1)
}

// logState is the size and capacity of a shard's log. A capacity of 0 means no limit. Without a
// name, the log could not be read.
type logState struct {
	name            string
	bytes, capacity int64
}

func (l logState) filling() bool { return l.capacity > 0 && l.bytes > l.capacity/2 }

func (c *Checkpoints) logState(ctx context.Context, id int) logState {
	st, err := c.o.Queue.JS.Stream(ctx, c.o.Names.EventsStream(id))
	if err != nil {
		return logState{}
	}
	info := st.CachedInfo()
	return logState{info.Config.Name, int64(info.State.Bytes), max(info.Config.MaxBytes, 0)}
}
