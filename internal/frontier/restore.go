package frontier

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// errNoState: neither the file nor a checkpoint nor the log has the complete state of a shard.
var errNoState = errors.New("the shard's state is lost")

// recordOf reads a shard's ownership record; the zero Record when there is none.
func (f *Frontier) recordOf(ctx context.Context, id int, kv jetstream.KeyValue) (r queue.Record, err error) {
	e, err := kv.Get(ctx, ownerKey(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &r)
	}
	if err != nil {
		err = fmt.Errorf("ownership record %s: %w", ownerKey(id), err)
	}
	return r, err
}

// sameDir reports whether the shard's last owner was a process with this directory. The directory
// is locked, so that process is dead, and there is nothing to wait for. Our name in the record does
// not prove this, because another process may have the same name. The epoch in the file does,
// because nothing is granted before it is written there.
func (f *Frontier) sameDir(ctx context.Context, id int, kv jetstream.KeyValue) (bool, error) {
	if f.opt.Embedded {
		return true, nil
	}
	rec, err := f.recordOf(ctx, id, kv)
	if err != nil {
		return false, err
	}
	was, err := peekFile(f.path(id))
	return err == nil && wrote(was, rec), nil
}

// wrote reports whether the owner that a record names was the last to write a file.
func wrote(m store.Meta, rec queue.Record) bool { return m.Epoch == rec.Epoch && m.Owner == rec.Owner }

func (f *Frontier) path(id int) string { return filepath.Join(f.opt.Dir, store.FileName(id)) }

// attainable is nil, or the reason why a shard should not be acquired: its state is only in another
// directory. Acquiring the shard would make that state unusable.
func (f *Frontier) attainable(ctx context.Context, id int, kv jetstream.KeyValue) error {
	if f.opt.Embedded {
		return nil
	}
	rec, err := f.recordOf(ctx, id, kv)
	if err != nil || rec == (queue.Record{}) {
		return err
	}
	if was, err := peekFile(f.path(id)); err == nil && wrote(was, rec) {
		return nil
	}
	if rec.Checkpoint != "" || rec.Previous != "" {
		names, err := f.snapshots.Names(ctx)
		if err != nil || stands(rec.Checkpoint, names) || stands(rec.Previous, names) {
			return err
		}
	}
	first, err := f.firstOfLog(ctx, id)
	if err != nil || first <= 1 {
		return err
	}
	return fmt.Errorf("shard %d: %w: the checkpoints %q of its last owner %s are not in the object store %s, and its event log %s begins at message %d: "+
		"stop the other frontiers and start only %s with its old directory first; or start a new crawl with another name",
		id, errNoState, []string{rec.Checkpoint, rec.Previous}, rec.Owner, f.names.Checkpoints(), f.names.EventsStream(id), first, rec.Owner)
}

// prepare provides the shard's file for openShard. That is the file in this directory, if the last
// owner that the record names wrote it; otherwise the last checkpoint, or the one before; otherwise
// an empty file, if the log is still complete. It returns the names of checkpoints that proved
// unreadable.
func (f *Frontier) prepare(ctx context.Context, id int, own *queue.Ownership) (unreadable []string, err error) {
	before := own.Predecessor()
	path := f.path(id)
	f.files.RLock()
	defer f.files.RUnlock()
	names, err := f.checkpointsOf(ctx, id, before)
	if err != nil {
		return nil, err
	}
	was, err := peekFile(path)
	from := "the whole event log"
	if len(names) > 0 {
		from = "checkpoint " + names[0] + " and the event log after it"
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		if before.Owner == f.opt.Instance { // otherwise the shard was elsewhere
			f.log.Warn("the shard's file is missing, although this frontier was its last owner: restoring it", "shard", id, "file", path, "from", from)
		}
	case err != nil && !errors.Is(err, store.ErrUnreadable):
		return nil, err
	case err != nil:
		f.log.Error("the shard's file cannot be read: restoring it", "shard", id, "from", from, "error", err)
	case wrote(was, before):
		return nil, nil
	case before == (queue.Record{}) && !newer(names, was.Epoch):
		// The record is lost: see checkpointsOf.
		return nil, f.nameAgain(ctx, own, names)
	default:
		f.log.Info("another frontier owned the shard since this directory did: its file here is not used", "shard", id,
			"file", was.Epoch, "record", before.Epoch, "owner", before.Owner)
	}
	for i, name := range names {
		err := f.restore(ctx, id, name, path)
		if err == nil && before == (queue.Record{}) {
			err = f.nameAgain(ctx, own, names[i:])
		}
		if err == nil {
			return unreadable, nil
		}
		if !errors.Is(err, queue.ErrNoSnapshot) {
			return nil, err
		}
		f.log.Error("a checkpoint cannot be read", "shard", id, "checkpoint", name, "error", err)
		unreadable = append(unreadable, name)
	}
	first, err := f.firstOfLog(ctx, id)
	if err != nil {
		return nil, err
	}
	if first > 1 {
		return nil, fmt.Errorf("shard %d: %w: none of the checkpoints %q in the object store %s can be read, and its event log %s begins at message %d: "+
			"restore the object store, or start a new crawl with another name",
			id, errNoState, names, f.names.Checkpoints(), f.names.EventsStream(id), first)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return unreadable, nil // with an empty file: the log is complete
}

// reportLoss warns when a shard was owned before but its file is empty. An embedded frontier makes
// no checkpoints, so only the rest of the event log remains.
func (f *Frontier) reportLoss(ctx context.Context, s *Shard, own *queue.Ownership) {
	before := own.Predecessor()
	if !f.opt.Embedded || s.was.Epoch > 0 || before == (queue.Record{}) {
		return
	}
	first, err := f.firstOfLog(ctx, s.ledger.ID)
	if err != nil {
		s.ledger.Log.Warn("the shard's file is empty or missing, although the shard was owned before; its event log cannot be read either", "file", s.ledger.Path,
			"owner", before.Owner, "epoch", before.Epoch, "error", err)
		return
	}
	if first <= 1 {
		s.ledger.Log.Warn("the shard's file is empty or missing, although the shard was owned before: it is rebuilt from its event log, which is complete",
			"file", s.ledger.Path, "owner", before.Owner, "epoch", before.Epoch)
		return
	}
	s.ledger.Log.Warn("the shard's file is empty or missing, although the shard was owned before: its hosts, URLs and counts are lost. "+
		"It is rebuilt from the rest of its event log. Submit the seeds of the crawl again to find the rest; its pages are fetched again",
		"file", s.ledger.Path, "owner", before.Owner, "epoch", before.Epoch, "log_begins_at", first, "messages_missing", first-1)
}

// nameAgain writes the first of these checkpoints into a record that was lost, so that tidy does
// not delete it.
func (f *Frontier) nameAgain(ctx context.Context, own *queue.Ownership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return own.Update(ctx, func(r *queue.Record) { r.Checkpoint = names[0] })
}

// checkpointsOf returns the names of checkpoints to try, the best first: those in the record, or
// when there is no record, those in the store.
func (f *Frontier) checkpointsOf(ctx context.Context, id int, rec queue.Record) ([]string, error) {
	if rec != (queue.Record{}) {
		return slices.DeleteFunc([]string{rec.Checkpoint, rec.Previous}, func(s string) bool { return s == "" }), nil
	}
	names, err := f.snapshots.Names(ctx)
	if err != nil {
		return nil, err
	}
	var found []checkpointName
	for _, name := range names {
		if c, ok := parseCheckpoint(name); ok && c.shard == id {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b checkpointName) int {
		return cmp.Or(cmp.Compare(b.epoch, a.epoch), cmp.Compare(b.n, a.n))
	})
	names = names[:0]
	for _, c := range found {
		names = append(names, c.String())
	}
	return names, nil
}

// newer reports whether the first of these checkpoints was made in a later epoch.
func newer(names []string, epoch uint64) bool {
	if len(names) == 0 {
		return false
	}
	c, ok := parseCheckpoint(names[0])
	return ok && c.epoch > epoch
}

// firstOfLog is the sequence of the first message that a shard's log still has. It is 0 or 1 when
// nothing was ever deleted.
func (f *Frontier) firstOfLog(ctx context.Context, id int) (uint64, error) {
	st, err := f.q.JS.Stream(ctx, f.names.EventsStream(id))
	if err != nil {
		return 0, fmt.Errorf("event log %d: %w", id, err)
	}
	return st.CachedInfo().State.FirstSeq, nil
}

// restore writes the checkpoint of that name to path, in place of an existing file. The error wraps
// queue.ErrNoSnapshot when there is no readable checkpoint.
func (f *Frontier) restore(ctx context.Context, id int, name, path string) (err error) {
	began := time.Now()
	temp := path + ".new"
	defer removeAll(temp)
	if err := f.fetch(ctx, name, temp); err != nil {
		return err
	}
	info, err := os.Stat(temp)
	if err != nil {
		return err
	}
	if err := arrive(temp, name, info.Size(), time.Now()); err != nil {
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
	f.log.Info("checkpoint restored", "shard", id, "checkpoint", name, "bytes", info.Size(), "took", time.Since(began).Round(time.Millisecond))
	return nil
}

// fetch writes the checkpoint of that name to path. If it is a delta, the checkpoint on which it is
// based is fetched first, and so on. If any of them cannot be read, fetch fails.
func (f *Frontier) fetch(ctx context.Context, name, path string) error {
	removeAll(path) // left behind by a restore that was killed
	var deltas []string
	for at := name; ; {
		if err := f.get(ctx, at, path); err != nil {
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
func (f *Frontier) get(ctx context.Context, name, path string) error {
	file, err := disk.OpenRegular(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return err
	}
	if err = f.snapshots.Get(ctx, name, file); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
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

// peekFile reads the Meta of a shard's file. The error is os.ErrNotExist when there is no file, and
// store.ErrUnreadable when it is damaged.
func peekFile(path string) (m store.Meta, err error) {
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

// arrive adapts a checkpoint that was just copied to path to this machine: its times are shifted to
// the clock here, as if no time had passed since it was made (shiftTimes).
func arrive(path, name string, size int64, now time.Time) error {
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
		if err := shiftTimes(tx, shift); err != nil {
			return err
		}
		return m.Save(tx)
	})
	if boltfile.IsDamaged(err) { // in a block: the checkpoint before may be readable
		err = store.Damaged(err)
	}
	return errors.Join(err, db.Close())
}
