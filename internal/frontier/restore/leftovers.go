package restore

import (
	"context"
	"errors"
	"os"
	"time"
)

// sweepAge is how old pieces of a checkpoint must be to count as left over.
const sweepAge = 10 * time.Minute

// sweepEvery is how often leftovers are removed.
const sweepEvery = time.Hour

// damagedSuffix is the end of the name of a damaged file.
const damagedSuffix = ".damaged"

// Quarantine renames a damaged file, which is closed. The shard is then restored from its last
// checkpoint and the log. The renamed file is kept for inspection; a later one replaces it.
func (f *Files) Quarantine(id int, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := os.Rename(f.Path(id), f.Path(id)+damagedSuffix)
	f.o.Log.Error("the shard's file is damaged: the file is renamed, and the shard is restored from its last checkpoint and the log", "shard", id,
		"aside", f.Path(id)+damagedSuffix, "why", why, "error", err)
}

// Sweep periodically removes what is not needed any more: pieces of checkpoints whose makers were
// killed, and files of shards that other frontiers have owned since. It returns when ctx ends. mine
// reports whether this frontier should own a shard.
func (f *Files) Sweep(ctx context.Context, mine func(id int) bool) error {
	t := time.NewTicker(sweepEvery)
	defer t.Stop()
	for {
		err := f.checkpoints.snapshots.Sweep(ctx, sweepAge)
		for id := range f.o.Shards {
			err = errors.Join(err, f.DropStale(ctx, id, mine))
		}
		if err != nil && ctx.Err() == nil {
			f.o.Log.Warn("leftovers are not removed yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

// DropStale removes the file of a shard that another frontier has owned since this one, and of
// which it has made a checkpoint. mine is as in Sweep.
func (f *Files) DropStale(ctx context.Context, id int, mine func(id int) bool) error {
	// A frontier that acquires the shard meanwhile has written the record, or does not use the file
	// yet.
	f.mu.Lock()
	defer f.mu.Unlock()
	if mine(id) {
		return nil
	}
	was, err := Peek(f.Path(id))
	if err != nil {
		return nil // there is none, or it is in use
	}
	rec, err := f.recordOf(ctx, id)
	last, ok := ParseName(rec.Checkpoint)
	if err != nil || !ok || rec.Owner == f.o.Instance || rec.Epoch <= was.Epoch || last.Epoch < was.Epoch {
		return err
	}
	f.o.Log.Info("removing the file of a shard that another frontier owns now", "shard", id, "owner", rec.Owner)
	return os.Remove(f.Path(id))
}
