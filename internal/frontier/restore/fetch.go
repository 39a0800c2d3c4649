package restore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// restore writes the checkpoint of that name to path, in place of an existing file. The error wraps
// queue.ErrNoSnapshot when there is no readable checkpoint.
func (f *Files) restore(ctx context.Context, id int, name, path string) (err error) {
	began := time.Now()
	temp := path + ".new"
	defer removeAll(temp)
	if err := f.checkpoints.Fetch(ctx, name, temp); err != nil {
		return err
	}
	info, err := os.Stat(temp)
	if err != nil {
		return err
	}
	if err := Arrive(temp, name, info.Size(), time.Now()); err != nil {
		if errors.Is(err, store.ErrUnreadable) {
			err = fmt.Errorf("checkpoint %s: %w: %w", name, queue.ErrNoSnapshot, err)
		}
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return err
	}
	f.o.Log.Info("checkpoint restored", "shard", id, "checkpoint", name, "bytes", info.Size(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// removeAll removes the file at path, and deltas beside it.
func removeAll(path string) {
	_ = os.Remove(path)
	files, _ := os.ReadDir(filepath.Dir(path))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), filepath.Base(path)+".") {
			_ = os.Remove(filepath.Join(filepath.Dir(path), f.Name()))
		}
	}
}

// syncDir makes a rename in dir survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Fetch writes the checkpoint of that name to path. If it is a delta, the checkpoint on which it is
// based is fetched first, and so on. If any of them cannot be read, Fetch fails.
func (c *Checkpoints) Fetch(ctx context.Context, name, path string) error {
	removeAll(path) // left behind by a restore that was killed
	var deltas []string
	for at := name; ; {
		if err := c.get(ctx, at, path); err != nil {
			return err
		}
		base, err := baseOfFile(path)
		if err == nil && len(deltas) > maxDeltas {
			err = errDelta
		}
		if err != nil {
			return fmt.Errorf("checkpoint %s: %w: %w", at, queue.ErrNoSnapshot, err)
		}
		if base == "" {
			break
		}
		delta := fmt.Sprintf("%s.%d", path, len(deltas))
		if err := os.Rename(path, delta); err != nil {
			return err
		}
		deltas, at = append(deltas, delta), base
	}
	for _, delta := range slices.Backward(deltas) {
		if err := applyDelta(path, delta); errors.Is(err, errDelta) {
			return fmt.Errorf("checkpoint %s: %w: %w", name, queue.ErrNoSnapshot, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// get writes what is stored under a name to path.
func (c *Checkpoints) get(ctx context.Context, name, path string) error {
	file, err := disk.OpenRegular(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	if err = c.snapshots.Get(ctx, name, file); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// Peek reads the Meta of a shard's file. The error is os.ErrNotExist when there is no file, and
// store.ErrUnreadable when it is damaged.
func Peek(path string) (m store.Meta, err error) {
	if st, err := os.Stat(path); err != nil {
		return m, err
	} else if st.Size() == 0 {
		return m, fmt.Errorf("%s: empty: %w", path, store.ErrUnreadable)
	}
	db, err := store.OpenBolt(path, true)
	if err != nil {
		return m, store.Damaged(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) (err error) {
		if tx.Bucket(store.BucketMeta) == nil { // its creator was killed before its first commit
			return fmt.Errorf("%s: empty: %w", path, store.ErrUnreadable)
		}
		if err := store.CheckFormat(tx, path); err != nil {
			return err
		}
		if m, err = store.LoadMeta(tx); err != nil {
			return fmt.Errorf("%s: %w: %w", path, store.ErrUnreadable, err)
		}
		return nil
	})
	return m, err
}

// Arrive adapts a checkpoint that was just copied to path to this machine: its times are shifted to
// the clock here, as if no time had passed since it was made (ShiftTimes).
func Arrive(path, name string, size int64, now time.Time) error {
	db, err := store.OpenDB(path, false)
	if err != nil {
		return store.Damaged(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		m, err := store.LoadMeta(tx)
		if err != nil {
			return fmt.Errorf("%w: %w", store.ErrUnreadable, err)
		}
		shift := m.Arrived(store.Mark{Name: name, Applied: m.Applied, Size: size}, now)
		if err := ShiftTimes(tx, shift); err != nil {
			return err
		}
		return m.Save(tx)
	})
	if boltfile.IsDamaged(err) { // in a block: the checkpoint before may be readable
		err = store.Damaged(err)
	}
	return errors.Join(err, db.Close())
}
