package frontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	defaultCheckpoint = 64 << 20
	entryOverhead     = 64 // what a message of the log takes beside its data, about
	// checkpointRoom is what the store of checkpoints reserves at first; it grows with what is put in.
	checkpointRoom = 64 << 20
	// sweepAge is how old pieces of a checkpoint must be to count as left behind.
	sweepAge   = 10 * time.Minute
	sweepEvery = time.Hour
)

// checkpointName says which state of a shard a checkpoint holds: who made it, how far it had applied the log. It is
// unique: a name is used once.
type checkpointName struct {
	shard int
	epoch uint64
	gen   int // how often the log had been found to begin anew: sequences of different generations do not compare
	seq   uint64
	n     int // counts within the epoch
}

func (c checkpointName) String() string {
	return fmt.Sprintf("%d-%d-%d-%d-%d", c.shard, c.epoch, c.gen, c.seq, c.n)
}

// parseCheckpoint reads a name; ok is false for what is none.
func parseCheckpoint(name string) (c checkpointName, ok bool) {
	_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d", &c.shard, &c.epoch, &c.gen, &c.seq, &c.n)
	return c, err == nil && c.String() == name
}

// mark is the last checkpoint that a shard's state knows to be recorded.
type mark struct {
	Name    string `json:"name"`
	Applied int64  `json:"applied"` // meta.Applied in it
	Size    int64  `json:"size"`    // as stored, compressed
}

// image is a shard's state as of one commit, to be copied while work goes on.
type image struct {
	tx      *bolt.Tx
	name    checkpointName
	applied int64
}

// image commits and returns what was committed. The caller holds mu, and rolls image.tx back when it is done.
func (s *shard) image() (image, error) {
	s.changes++ // so that the meta says when
	if err := s.commit(true); err != nil {
		return image{}, err
	}
	tx, err := s.db.Begin(false)
	if err != nil {
		return image{}, s.fail(err)
	}
	s.copies++
	return image{tx, checkpointName{s.id, s.epoch, s.m.Gen, s.m.Seq, s.copies}, s.m.Applied}, nil
}

// openCheckpoints opens the store of checkpoints, and creates it when missing.
func (f *Frontier) openCheckpoints(ctx context.Context) (*queue.Snapshots, error) {
	return f.q.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: f.names.Checkpoints(), MaxBytes: checkpointRoom})
}

// upload copies an image to the store of checkpoints.
func (f *Frontier) upload(ctx context.Context, im image) (stored int64, err error) {
	defer im.tx.Rollback()
	began := time.Now()
	stored, err = f.snapshots.Put(ctx, im.name.String(), im.tx.Size(), func(w io.Writer) error {
		_, err := im.tx.WriteTo(w)
		return err
	})
	if err != nil {
		f.met.checkpointsFailed.Inc()
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			_, _ = f.openCheckpoints(ctx) // somebody has deleted it: the next try finds it
		}
		return 0, err
	}
	f.met.checkpoints.Inc()
	f.met.checkpointBytes.Add(float64(stored))
	f.met.checkpointTime.Observe(time.Since(began).Seconds())
	return stored, nil
}

// checkpointDue reports whether so much of the log was applied since the last checkpoint that there should be another.
// logRoom is how much the log may hold: a checkpoint is due long before it is full, since only that empties it.
func (s *shard) checkpointDue(every, logRoom int64) bool {
	if !s.caughtUp || s.broken != nil {
		return false
	}
	limit := max(every, s.m.Mark.Size/2)
	if logRoom > 0 {
		limit = min(limit, logRoom/4)
	}
	return s.copySoon || s.m.Applied-s.m.Mark.Applied > limit
}

// checkpoint copies a shard's state to the store of checkpoints whenever that is due, until ctx ends.
func (f *Frontier) checkpoint(ctx context.Context, s *shard, own *queue.Ownership) error {
	if err := f.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
		s.log.Warn("cannot tidy up after the shard's last owner yet", "error", err)
	}
	t := time.NewTicker(commitEvery)
	defer t.Stop()
	var wait time.Duration
	var next time.Time
	var log logState
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
		if log.name == "" {
			log = f.logState(ctx, s.id)
		}
		s.mu.Lock()
		due := s.checkpointDue(f.opt.Checkpoint, log.room)
		s.mu.Unlock()
		if !due || time.Now().Before(next) || !own.Valid() {
			continue
		}
		err := f.makeCheckpoint(ctx, s, own)
		switch {
		case err == nil:
			wait = 0
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, queue.ErrLost):
			return err
		default:
			wait = min(max(2*wait, time.Second), time.Minute)
			next = time.Now().Add(wait)
			s.log.Warn("no checkpoint could be made, trying again", "wait", wait, "error", err)
			if log = f.logState(ctx, s.id); log.filling() {
				s.log.Error("the shard's event log fills up because no checkpoint can be made; once it is full the shard stands still",
					"stream", log.name, "bytes", log.bytes, "of", log.room)
			}
		}
	}
}

// makeCheckpoint makes one: first the copy, then the record that names it, and only then is dropped what neither it
// nor the one before needs. A crash in between leaves a copy that nobody names (tidy removes it), or a log that is longer
// than it must be.
func (f *Frontier) makeCheckpoint(ctx context.Context, s *shard, own *queue.Ownership) error {
	if err := f.copying.enter(ctx); err != nil {
		return err
	}
	defer f.copying.leave()
	began := time.Now()
	s.mu.Lock()
	soon := s.copySoon
	im, err := s.image()
	s.copySoon = false
	s.mu.Unlock()
	if err != nil {
		return err
	}
	name := im.name.String()
	size, err := f.upload(ctx, im)
	if err == nil {
		err = f.record(ctx, own, name, s.unreadable)
	}
	s.mu.Lock()
	if err != nil {
		s.copySoon = s.copySoon || soon
		s.mu.Unlock()
		return err
	}
	s.m.Mark = mark{name, im.applied, size}
	s.changes++
	s.mu.Unlock()
	s.log.Info("checkpoint made", "name", name, "bytes", size, "took", time.Since(began).Round(time.Millisecond))
	if err := f.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
		s.log.Warn("what the checkpoint makes superfluous is not dropped yet", "error", err)
	}
	if last, before := recorded(own.Record()); before.gen != last.gen || before.seq < last.seq {
		if f.logState(ctx, s.id).filling() {
			// Another one lets go of the log up to this one: a full log brings nothing that would make one due.
			s.mu.Lock()
			s.copySoon = true
			s.mu.Unlock()
		}
	}
	return nil
}

// recorded reads the names in a record; what is no name is zero.
func recorded(rec queue.Record) (last, before checkpointName) {
	last, _ = parseCheckpoint(rec.Checkpoint)
	before, _ = parseCheckpoint(rec.Previous)
	return last, before
}

// record writes the checkpoint's name into the ownership record. The one before stays named, but for those that are known to
// be unreadable.
func (f *Frontier) record(ctx context.Context, own *queue.Ownership, name string, unreadable []string) error {
	var err error
	for range 3 { // an answer may have been lost; asking again tells
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

// tidy drops what the record just written makes superfluous: checkpoints of this shard that it does not name, and the
// part of the log that even the checkpoint before the last has applied, but for its last message, which anchors it.
func (f *Frontier) tidy(ctx context.Context, s *shard, own *queue.Ownership) error {
	rec := own.Record()
	names, err := f.snapshots.Names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		c, ok := parseCheckpoint(name)
		// A later epoch's are none of ours: then the shard is not, either.
		if !ok || c.shard != s.id || c.epoch > rec.Epoch || name == rec.Checkpoint || name == rec.Previous {
			continue
		}
		if err := f.snapshots.Delete(ctx, name); err != nil {
			return err
		}
	}
	last, before := recorded(rec)
	s.mu.Lock()
	gen, applied := s.m.Gen, s.m.Seq
	s.mu.Unlock()
	if last.gen != gen || before.gen != gen || before.seq > last.seq || last.seq > applied || before.seq < 2 || !own.Valid() {
		return nil
	}
	for _, name := range []string{rec.Checkpoint, rec.Previous} {
		if !slices.Contains(names, name) || slices.Contains(s.unreadable, name) {
			return nil // the log is all there is
		}
	}
	return f.logs[s.id].Purge(ctx, before.seq-1)
}

// logState says how much a shard's log holds and may hold; a room of 0 is no limit, no name that it cannot be told.
type logState struct {
	name        string
	bytes, room int64
}

func (l logState) filling() bool { return l.room > 0 && l.bytes > l.room/2 }

func (f *Frontier) logState(ctx context.Context, id int) logState {
	st, err := f.q.JS.Stream(ctx, f.names.EventsStream(id))
	if err != nil {
		return logState{}
	}
	info := st.CachedInfo()
	return logState{info.Config.Name, int64(info.State.Bytes), max(info.Config.MaxBytes, 0)}
}

// sweep removes now and then what nobody will need: pieces of checkpoints whose makers were killed, and files of shards that
// others have had since.
func (f *Frontier) sweep(ctx context.Context, kv jetstream.KeyValue) error {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		err := f.snapshots.Sweep(ctx, sweepAge)
		for id := range f.spec().Shards {
			err = errors.Join(err, f.dropStale(ctx, id, kv))
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("leftovers are not removed yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// dropStale removes the file of a shard that another frontier has had since this one, and has made a checkpoint of.
func (f *Frontier) dropStale(ctx context.Context, id int, kv jetstream.KeyValue) error {
	f.files.Lock() // who takes the shard now has written the record before and finds a file after, or neither
	defer f.files.Unlock()
	if f.claims.has(id) {
		return nil
	}
	was, err := peekFile(f.path(id))
	if err != nil {
		return nil // none, or one that is in use
	}
	rec, err := f.recordOf(ctx, id, kv)
	last, ok := parseCheckpoint(rec.Checkpoint)
	if err != nil || !ok || rec.Owner == f.opt.Instance || rec.Epoch <= was.Epoch || last.epoch < was.Epoch {
		return err
	}
	f.log.Info("removing a file of a shard that is elsewhere now", "shard", id, "owner", rec.Owner)
	return os.Remove(f.path(id))
}

// turns lets only so many in at a time.
type turns chan struct{}

func (t turns) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) leave() { <-t }
