package frontier

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/pkg/queue"
)

// errNoState: neither file nor checkpoint nor log has all of a shard.
var errNoState = errors.New("the shard's state is nowhere to be found")

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

// sameDir reports whether the shard's last owner was a process with this very directory, which is locked: then it is gone,
// and nothing need be waited for. Our name in the record does not prove it, since another process may have been
// given the same; the epoch in the file does, since nothing is granted before it stands there.
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
func wrote(m meta, rec queue.Record) bool { return m.Epoch == rec.Epoch && m.Owner == rec.Owner }

func (f *Frontier) path(id int) string { return filepath.Join(f.opt.Dir, fileName(id)) }

// attainable says why a shard had better not be taken, if so: its state is in another directory, and nowhere else. Taking
// it would make what is there unusable.
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
		if err != nil || slices.Contains(names, rec.Checkpoint) || slices.Contains(names, rec.Previous) {
			return err
		}
	}
	first, err := f.firstOfLog(ctx, id)
	if err != nil || first <= 1 {
		return err
	}
	return fmt.Errorf("shard %d: %w: the checkpoints %q of its last owner %s are not in the object store %s, and its event log %s begins at message %d: "+
		"stop the other frontiers and start %s with its old directory, alone at first; or begin the crawl anew under another name",
		id, errNoState, []string{rec.Checkpoint, rec.Previous}, rec.Owner, f.names.Checkpoints(), f.names.EventsStream(id), first, rec.Owner)
}

// prepare puts the shard's file where openShard finds it, as the owner that own stands for must have it: the file that
// is there if it is the one the record's last owner wrote; else the last checkpoint, or the one before; else an empty
// one, if the log still has everything. It returns the names of checkpoints that turned out unreadable.
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
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil && !errors.Is(err, errUnreadable):
		return nil, err
	case err != nil:
		f.log.Error("the shard's file cannot be read: restoring it from a checkpoint", "shard", id, "error", err)
	case wrote(was, before):
		return nil, nil
	case before == (queue.Record{}) && !newer(names, was.Epoch): // the record is lost: see checkpointsOf
		return nil, f.nameAgain(ctx, own, names)
	default:
		f.log.Info("the shard was elsewhere since this directory had it; its file here is not used", "shard", id,
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
			"bring the object store back, or begin the crawl anew under another name",
			id, errNoState, names, f.names.Checkpoints(), f.names.EventsStream(id), first)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return unreadable, nil // from an empty file: the log has everything
}

// nameAgain puts the first of these checkpoints into a record that was lost, so that it is not taken for a leftover.
func (f *Frontier) nameAgain(ctx context.Context, own *queue.Ownership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return own.Update(ctx, func(r *queue.Record) { r.Checkpoint = names[0] })
}

// checkpointsOf returns the names of checkpoints to try, the best first: those in the record, or when there is no record
// what is in the store.
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

// firstOfLog is the sequence of the first message a shard's log still has; 0 or 1 when nothing was ever dropped.
func (f *Frontier) firstOfLog(ctx context.Context, id int) (uint64, error) {
	st, err := f.q.JS.Stream(ctx, f.names.EventsStream(id))
	if err != nil {
		return 0, fmt.Errorf("event log %d: %w", id, err)
	}
	return st.CachedInfo().State.FirstSeq, nil
}

// restore writes the checkpoint of that name to path, in place of what may be there. The error wraps queue.ErrNoSnapshot
// when there is none to be read.
func (f *Frontier) restore(ctx context.Context, id int, name, path string) (err error) {
	began := time.Now()
	temp := path + ".new"
	defer os.Remove(temp)
	file, err := os.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	err = f.snapshots.Get(ctx, name, file)
	if err == nil {
		err = file.Sync()
	}
	info, serr := file.Stat()
	if err = errors.Join(err, serr, file.Close()); err != nil {
		return err
	}
	if err := arrive(temp, name, info.Size(), time.Now()); err != nil {
		if errors.Is(err, errUnreadable) {
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

// syncDir makes a rename in dir survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// errUnreadable: a file is not a shard's, or is damaged.
var errUnreadable = errors.New("unreadable")

// peekFile reads what a shard's file says of itself. The error is os.ErrNotExist when there is none, errUnreadable when it
// is damaged.
func peekFile(path string) (m meta, err error) {
	if _, err := os.Stat(path); err != nil {
		return m, err
	}
	db, err := openBolt(path, true)
	if err != nil {
		return m, damaged(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) (err error) {
		if tx.Bucket(bucketMeta) == nil { // its maker was killed before its first commit
			return fmt.Errorf("%s: empty: %w", path, errUnreadable)
		}
		if err := checkFormat(tx, path); err != nil {
			return err
		}
		if m, err = loadMeta(tx); err != nil {
			return fmt.Errorf("%s: %w: %w", path, errUnreadable, err)
		}
		return nil
	})
	return m, err
}

// damaged says whether an error of opening a file is the file's own.
func damaged(err error) error {
	if errors.Is(err, berrors.ErrTimeout) || errors.Is(err, ErrFormat) || errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: %w", errUnreadable, err)
}

// arrive makes a checkpoint that was just copied to path this machine's: all that waits until a time goes on waiting for as
// long as was left when the copy was made, by the clock of the machine that made it, since no two clocks need agree.
// What is fresh until a time gets no fresher by that.
func arrive(path, name string, size int64, now time.Time) error {
	db, err := openDB(path, false)
	if err != nil {
		return damaged(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		m, err := loadMeta(tx)
		if err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		m.Mark = mark{name, m.Applied, size}
		if err := shiftTimes(tx, now.Sub(time.UnixMilli(m.Written))); err != nil {
			return err
		}
		return m.save(tx)
	})
	return errors.Join(err, db.Close())
}

// shiftTimes moves the times in a shard's file by d.
func shiftTimes(tx *bolt.Tx, d time.Duration) error {
	var hosts []*host
	if err := loadHosts(tx, func(h *host) error { hosts = append(hosts, h); return nil }); err != nil {
		return fmt.Errorf("%w: %w", errUnreadable, err)
	}
	for _, h := range hosts {
		h.shift(d)
		if err := h.save(tx); err != nil {
			return err
		}
	}
	if err := errors.Join(shiftSitemaps(tx, d), shiftNested(tx, d)); err != nil {
		return err
	}
	if err := shiftSites(tx, d); err != nil {
		return err
	}
	later, urls := tx.Bucket(bucketLater), tx.Bucket(bucketURLs)
	var keys [][]byte
	err := later.ForEach(func(k, _ []byte) error { keys = append(keys, slices.Clone(k)); return nil })
	if err != nil {
		return err
	}
	for _, k := range keys {
		if err := later.Delete(k); err != nil {
			return err
		}
	}
	for _, k := range keys {
		r, err := decodeRecord(k[8:], urls.Get(k[8:]))
		if err != nil {
			return fmt.Errorf("%w: %w", errUnreadable, err)
		}
		r.Due = time.UnixMilli(max(int64(binary.BigEndian.Uint64(k))+d.Milliseconds(), 1))
		if err := later.Put(laterKey(nil, r.Due, keyHost(k[8:]), r.Order), []byte{}); err != nil {
			return err
		}
		if err := urls.Put(k[8:], r.append(nil)); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) shift(d time.Duration) {
	move := func(t *time.Time, d time.Duration) {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	move(&h.Due, d)
	for i := range h.Origins {
		o := &h.Origins[i]
		move(&o.PendingAt, d)
		move(&o.SitemapsAsked, d)
		move(&o.DataDue, d)
		move(&o.RUPDue, d)
		move(&o.History.RetryAt, d)
		move(&o.History.Since, d)
		if m := o.Mirror; m != nil {
			m.shift(d, move)
		}
		// A copy is not younger for having been on the way, and none is from the future.
		move(&o.History.Fetched, min(d, 0))
	}
}
