package frontier

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

const defaultCheckpoint = 64 << 20

// checkpointSpace is the initial size of the store of checkpoints. It grows with its contents.
const checkpointSpace = 64 << 20

// sweepAge is how old pieces of a checkpoint must be to count as left over.
const sweepAge = 10 * time.Minute

const sweepEvery = time.Hour

// checkpointName identifies the state of a shard in a checkpoint: its owner's epoch, and how far
// the log was applied. It is unique: a name is used once.
type checkpointName struct {
	shard int
	epoch uint64
	gen   int // how often a new log was found; sequences of different logs cannot be compared
	seq   uint64
	n     int // counts within the epoch
	full  int // 0, or for a delta (delta.go) the n of the full checkpoint on which it is based
}

func (c checkpointName) String() string {
	name := fmt.Sprintf("%d-%d-%d-%d-%d", c.shard, c.epoch, c.gen, c.seq, c.n)
	if c.full > 0 {
		name += fmt.Sprintf("-%d", c.full)
	}
	return name
}

// parseCheckpoint parses a name; ok is false if it is not one.
func parseCheckpoint(name string) (c checkpointName, ok bool) {
	if strings.Count(name, "-") == 5 {
		_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d-%d", &c.shard, &c.epoch, &c.gen, &c.seq, &c.n, &c.full)
		return c, err == nil && c.String() == name && c.full < c.n
	}
	_, err := fmt.Sscanf(name, "%d-%d-%d-%d-%d", &c.shard, &c.epoch, &c.gen, &c.seq, &c.n)
	return c, err == nil && c.String() == name
}

// needs reports whether o is c, or may be a checkpoint on which c is based.
func (c checkpointName) needs(o checkpointName) bool {
	if o.shard != c.shard || o.epoch != c.epoch {
		return false
	}
	return o.n == c.n || c.full > 0 && o.n >= c.full && o.n < c.n
}

// image is a shard's state at one commit, which is copied while work continues.
type image struct {
	db      *boltfile.File
	tx      *bolt.Tx
	name    checkpointName
	applied int64
	against *chain // the checkpoint to which a delta is made; nil: a full copy is made
}

// image commits and returns the committed state. The caller holds mu, and rolls image.tx back when
// it is done with it.
func (s *Shard) image() (image, error) {
	s.ledger.CommitTime() // so that the commit writes Meta with the current time
	if err := s.ledger.Commit(true); err != nil {
		return image{}, err
	}
	tx, err := s.ledger.DB.Begin(false)
	if err != nil {
		return image{}, s.ledger.Fail(err)
	}
	s.copies++
	im := image{db: s.ledger.DB, tx: tx, applied: s.ledger.Meta.Applied,
		name: checkpointName{shard: s.ledger.ID, epoch: s.ledger.Epoch, gen: s.ledger.Meta.Gen, seq: s.ledger.Meta.Seq, n: s.copies}}
	if s.chain.usable() {
		last := s.chain
		im.against, im.name.full = &last, last.full
	}
	return im, nil
}

// openCheckpoints opens the store of checkpoints, and creates it if it is missing.
func (f *Frontier) openCheckpoints(ctx context.Context) (*queue.Snapshots, error) {
	return f.q.OpenSnapshots(ctx, queue.SnapshotConfig{Bucket: f.names.Checkpoints(), MaxBytes: checkpointSpace})
}

// upload copies an image to the store of checkpoints. It returns the stored size, and the chain to
// which the next checkpoint may be a delta once this one is recorded.
func (f *Frontier) upload(ctx context.Context, im image) (stored int64, next chain, err error) {
	defer im.tx.Rollback()
	began := time.Now()
	// The size of a delta is only known afterwards, so space and time are reserved for the whole
	// file.
	stored, err = f.snapshots.Put(ctx, im.name.String(), im.tx.Size(), func(w io.Writer) error {
		return im.db.Guard(func() (err error) { // the store may call this in any goroutine
			next, err = im.writeTo(w)
			return err
		})
	})
	if err != nil {
		f.met.CheckpointsFailed.Inc()
		if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
			_, _ = f.openCheckpoints(ctx) // it was deleted: the next attempt finds it
		}
		return 0, chain{}, err
	}
	f.met.Checkpoints.Inc()
	f.met.CheckpointBytes.Add(float64(stored))
	f.met.CheckpointTime.Observe(time.Since(began).Seconds())
	return stored, next, nil
}

// writeTo writes a checkpoint of the image.
func (im *image) writeTo(w io.Writer) (next chain, err error) {
	d, err := newDiffer(w, im.against, im.tx.Size())
	if err == nil {
		_, err = im.tx.WriteTo(d)
	}
	if err == nil {
		err = d.end()
	}
	if err != nil {
		return chain{}, err
	}
	return d.next(im.against, im.name), nil
}

// checkpointDue reports whether enough of the log was applied since the last checkpoint. logRoom is
// the capacity of the log. A checkpoint is due long before the log is full, because only
// checkpoints permit emptying it.
func (s *Shard) checkpointDue(every, logCapacity int64) bool {
	if !s.ledger.Phase.Active() {
		return false
	}
	limit := max(every, s.ledger.Meta.Mark.Size/2)
	if logCapacity > 0 {
		limit = min(limit, logCapacity/4)
	}
	return s.ledger.CheckpointWanted() || s.ledger.Meta.Applied-s.ledger.Meta.Mark.Applied > limit
}

// checkpoint copies the shard's state to the store of checkpoints whenever that is due, until ctx
// ends.
func (f *Frontier) checkpoint(ctx context.Context, s *Shard, own *queue.Ownership) error {
	if err := f.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
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
			log = f.logState(ctx, s.ledger.ID)
		}
		s.ledger.Mu.Lock()
		due := s.checkpointDue(f.opt.Checkpoint, log.capacity)
		s.ledger.Mu.Unlock()
		if !due || time.Now().Before(next) || !own.Valid() {
			continue
		}
		err := f.makeCheckpoint(ctx, s, own)
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
			if log = f.logState(ctx, s.ledger.ID); log.filling() {
				s.ledger.Log.Error("the shard's event log is filling up because no checkpoint can be written; when it is full, the shard stops",
					"stream", log.name, "bytes", log.bytes, "of", log.capacity)
			}
		}
	}
}

// makeCheckpoint makes a checkpoint: first the copy, then the record that names it. Only then it
// deletes what neither this checkpoint nor the one before needs. A crash in between leaves a copy
// that no record names (tidy removes it), or a log that is longer than necessary.
func (f *Frontier) makeCheckpoint(ctx context.Context, s *Shard, own *queue.Ownership) error {
	if err := f.copying.enter(ctx); err != nil {
		return err
	}
	defer f.copying.leave()
	began := time.Now()
	s.ledger.Mu.Lock()
	var im image
	err := s.ledger.Guarded(func() (err error) {
		im, err = s.image()
		return err
	})
	wanted := s.ledger.CheckpointBegun()
	s.ledger.Mu.Unlock()
	if err != nil {
		return err
	}
	name := im.name.String()
	size, next, err := f.upload(ctx, im)
	if err == nil {
		err = f.record(ctx, own, name, s.unreadable)
	}
	s.ledger.Mu.Lock()
	if err != nil {
		if wanted {
			s.ledger.WantCheckpoint()
		}
		// Checkpoints on which it is based may be missing, or the changes too large
		s.chain = chain{}
		s.ledger.Mu.Unlock()
		return err
	}
	s.ledger.Meta.CheckpointMade(store.Mark{Name: name, Applied: im.applied, Size: size})
	s.chain = next
	s.ledger.Mu.Unlock()
	s.ledger.Log.Info("checkpoint written", "name", name, "bytes", size, "took", time.Since(began).Round(time.Millisecond))
	if err := f.tidy(ctx, s, own); err != nil && ctx.Err() == nil {
		s.ledger.Log.Warn("data that the checkpoint made unnecessary is not deleted yet", "error", err)
	}
	if last, before := recorded(own.Record()); before.gen != last.gen || before.seq < last.seq {
		if f.logState(ctx, s.ledger.ID).filling() {
			// Another checkpoint permits emptying the log up to this one. It must be requested
			// here, because a full log accepts no events that would make one due.
			s.ledger.Mu.Lock()
			s.ledger.WantCheckpoint()
			s.ledger.Mu.Unlock()
		}
	}
	return nil
}

// recorded parses the names in a record; an invalid name is zero.
func recorded(rec queue.Record) (last, before checkpointName) {
	last, _ = parseCheckpoint(rec.Checkpoint)
	before, _ = parseCheckpoint(rec.Previous)
	return last, before
}

// record writes the checkpoint's name into the ownership record. The previous name is kept, unless
// that checkpoint is known to be unreadable.
func (f *Frontier) record(ctx context.Context, own *queue.Ownership, name string, unreadable []string) error {
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
func (f *Frontier) tidy(ctx context.Context, s *Shard, own *queue.Ownership) error {
	rec := own.Record()
	names, err := f.snapshots.Names(ctx)
	if err != nil {
		return err
	}
	last, before := recorded(rec)
	for _, name := range names {
		c, ok := parseCheckpoint(name)
		// Checkpoints of a later epoch are not ours. In that case we no longer own the shard.
		if !ok || c.shard != s.ledger.ID || c.epoch > rec.Epoch || name == rec.Checkpoint || name == rec.Previous || last.needs(c) || before.needs(c) {
			continue
		}
		if err := f.snapshots.Delete(ctx, name); err != nil {
			return err
		}
	}
	s.ledger.Mu.Lock()
	gen, applied := s.ledger.Meta.Gen, s.ledger.Meta.Seq
	broken := s.chain.broken(names)
	if broken { // a checkpoint on which it is based was deleted: a full one repairs this
		s.chain = chain{}
		s.ledger.WantCheckpoint()
	}
	s.ledger.Mu.Unlock()
	if last.gen != gen || before.gen != gen || before.seq > last.seq || last.seq > applied || before.seq < 2 || !own.Valid() {
		return nil
	}
	for _, name := range []string{rec.Checkpoint, rec.Previous} {
		if !stands(name, names) || slices.Contains(s.unreadable, name) {
			return nil // the log is all that remains
		}
	}
	if broken {
		return nil
	}
	return f.logs[s.ledger.ID].Purge(ctx, before.seq-1)
}

// logState is the size and capacity of a shard's log. A capacity of 0 means no limit. Without a
// name, the log could not be read.
type logState struct {
	name            string
	bytes, capacity int64
}

func (l logState) filling() bool { return l.capacity > 0 && l.bytes > l.capacity/2 }

func (f *Frontier) logState(ctx context.Context, id int) logState {
	st, err := f.q.JS.Stream(ctx, f.names.EventsStream(id))
	if err != nil {
		return logState{}
	}
	info := st.CachedInfo()
	return logState{info.Config.Name, int64(info.State.Bytes), max(info.Config.MaxBytes, 0)}
}

// sweep periodically removes what is not needed any more: pieces of checkpoints whose makers were
// killed, and files of shards that other frontiers have owned since.
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

// dropStale removes the file of a shard that another frontier has owned since this one, and of
// which it has made a checkpoint.
func (f *Frontier) dropStale(ctx context.Context, id int, kv jetstream.KeyValue) error {
	// A frontier that acquires the shard meanwhile has written the record, or does not use the file
	// yet.
	f.files.Lock()
	defer f.files.Unlock()
	if f.claims.has(id) {
		return nil
	}
	was, err := peekFile(f.path(id))
	if err != nil {
		return nil // there is none, or it is in use
	}
	rec, err := f.recordOf(ctx, id, kv)
	last, ok := parseCheckpoint(rec.Checkpoint)
	if err != nil || !ok || rec.Owner == f.opt.Instance || rec.Epoch <= was.Epoch || last.epoch < was.Epoch {
		return err
	}
	f.log.Info("removing the file of a shard that another frontier owns now", "shard", id, "owner", rec.Owner)
	return os.Remove(f.path(id))
}

// semaphore limits the number of goroutines in a section.
type semaphore chan struct{}

func (t semaphore) enter(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t semaphore) leave() { <-t }
