package restore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/pkg/queue"
)

// Options say where the state of a frontier's shards is. All fields are required, if not stated
// otherwise.
type Options struct {
	Dir      string // of the shards' files
	Instance string // the name of this frontier, which the ownership records have
	Embedded bool   // it is the only frontier, and makes no checkpoints
	Shards   int    // of the crawl
	Queue    *queue.Conn
	Names    crawl.Names
	Records  jetstream.KeyValue // the bucket of the ownership records
	Logs     []*queue.Log       // the event logs, by shard
	Log      *slog.Logger
	Metrics  *store.Metrics
	// Every is the growth of a shard's log in bytes after which its state is copied again. 0: 64
	// MiB.
	Every int64
}

// errNoState: neither the file nor a checkpoint nor the log has the complete state of a shard.
var errNoState = errors.New("the shard's state is lost")

// OwnerKey is the key of a shard's ownership record.
func OwnerKey(id int) string { return fmt.Sprintf("frontier.%d", id) }

// Files are the files of a frontier's shards in its directory. Its methods may be called
// concurrently.
type Files struct {
	o           Options
	checkpoints *Checkpoints // nil when Embedded
	// Locked (for reading) while a shard's file is being created, and while one is removed.
	mu sync.RWMutex
}

// NewFiles returns the files in a directory. checkpoints is nil for an embedded frontier.
func NewFiles(o Options, checkpoints *Checkpoints) *Files {
	return &Files{o: o, checkpoints: checkpoints}
}

// recordOf reads a shard's ownership record; the zero Record when there is none.
func (f *Files) recordOf(ctx context.Context, id int) (r queue.Record, err error) {
	e, err := f.o.Records.Get(ctx, OwnerKey(id))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(e.Value(), &r)
	}
	if err != nil {
		err = fmt.Errorf("ownership record %s: %w", OwnerKey(id), err)
	}
	return r, err
}

// SameDir reports whether the shard's last owner was a process with this directory. The directory
// is locked, so that process is dead, and there is nothing to wait for. Our name in the record does
// not prove this, because another process may have the same name. The epoch in the file does,
// because nothing is granted before it is written there.
func (f *Files) SameDir(ctx context.Context, id int) (bool, error) {
	if f.o.Embedded {
		return true, nil
	}
	rec, err := f.recordOf(ctx, id)
	if err != nil {
		return false, err
	}
	was, err := Peek(f.Path(id))
	return err == nil && wrote(was, rec), nil
}

// wrote reports whether the owner that a record names was the last to write a file.
func wrote(m store.Meta, rec queue.Record) bool { return m.Epoch == rec.Epoch && m.Owner == rec.Owner }

// Path is the path of a shard's file.
func (f *Files) Path(id int) string { return filepath.Join(f.o.Dir, store.FileName(id)) }

// Attainable is nil, or the reason why a shard should not be acquired: its state is only in another
// directory. Acquiring the shard would make that state unusable.
func (f *Files) Attainable(ctx context.Context, id int) error {
	if f.o.Embedded {
		return nil
	}
	rec, err := f.recordOf(ctx, id)
	if err != nil || rec == (queue.Record{}) {
		return err
	}
	if was, err := Peek(f.Path(id)); err == nil && wrote(was, rec) {
		return nil
	}
	if rec.Checkpoint != "" || rec.Previous != "" {
		names, err := f.checkpoints.snapshots.Names(ctx)
		if err != nil || Stands(rec.Checkpoint, names) || Stands(rec.Previous, names) {
			return err
		}
	}
	first, err := f.firstOfLog(ctx, id)
	if err != nil || first <= 1 {
		return err
	}
	return fmt.Errorf("shard %d: %w: the checkpoints %q of its last owner %s are not in the object store %s, and its event log %s begins at message %d: "+
		"stop the other frontiers and start only %s with its old directory first; or start a new crawl with another name",
		id, errNoState, []string{rec.Checkpoint, rec.Previous}, rec.Owner, f.o.Names.Checkpoints(), f.o.Names.EventsStream(id), first, rec.Owner)
}

// Prepare provides the shard's file for openShard. That is the file in this directory, if the last
// owner that the record names wrote it; otherwise the last checkpoint, or the one before; otherwise
// an empty file, if the log is still complete. It returns the names of checkpoints that proved
// unreadable.
func (f *Files) Prepare(ctx context.Context, id int, own *queue.Ownership) (unreadable []string, err error) {
	before := own.Predecessor()
	path := f.Path(id)
	f.mu.RLock()
	defer f.mu.RUnlock()
	names, err := f.checkpointsOf(ctx, id, before)
	if err != nil {
		return nil, err
	}
	was, err := Peek(path)
	from := "the whole event log"
	if len(names) > 0 {
		from = "checkpoint " + names[0] + " and the event log after it"
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		if before.Owner == f.o.Instance { // otherwise the shard was elsewhere
			f.o.Log.Warn("the shard's file is missing, although this frontier was its last owner: restoring it", "shard", id, "file", path, "from", from)
		}
	case err != nil && !errors.Is(err, store.ErrUnreadable):
		return nil, err
	case err != nil:
		f.o.Log.Error("the shard's file cannot be read: restoring it", "shard", id, "from", from, "error", err)
	case wrote(was, before):
		return nil, nil
	case before == (queue.Record{}) && !newer(names, was.Epoch):
		// The record is lost: see checkpointsOf.
		return nil, f.nameAgain(ctx, own, names)
	default:
		f.o.Log.Info("another frontier owned the shard since this directory did: its file here is not used", "shard", id,
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
		f.o.Log.Error("a checkpoint cannot be read", "shard", id, "checkpoint", name, "error", err)
		unreadable = append(unreadable, name)
	}
	first, err := f.firstOfLog(ctx, id)
	if err != nil {
		return nil, err
	}
	if first > 1 {
		return nil, fmt.Errorf("shard %d: %w: none of the checkpoints %q in the object store %s can be read, and its event log %s begins at message %d: "+
			"restore the object store, or start a new crawl with another name",
			id, errNoState, names, f.o.Names.Checkpoints(), f.o.Names.EventsStream(id), first)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return unreadable, nil // with an empty file: the log is complete
}

// ReportLoss warns when a shard was owned before but its file is empty. An embedded frontier makes
// no checkpoints, so only the rest of the event log remains.
func (f *Files) ReportLoss(ctx context.Context, l *hosts.Ledger, was store.Meta, own *queue.Ownership) {
	before := own.Predecessor()
	if !f.o.Embedded || was.Epoch > 0 || before == (queue.Record{}) {
		return
	}
	first, err := f.firstOfLog(ctx, l.ID)
	if err != nil {
		l.Log.Warn("the shard's file is empty or missing, although the shard was owned before; its event log cannot be read either", "file", l.Path,
			"owner", before.Owner, "epoch", before.Epoch, "error", err)
		return
	}
	if first <= 1 {
		l.Log.Warn("the shard's file is empty or missing, although the shard was owned before: it is rebuilt from its event log, which is complete",
			"file", l.Path, "owner", before.Owner, "epoch", before.Epoch)
		return
	}
	l.Log.Warn("the shard's file is empty or missing, although the shard was owned before: its hosts, URLs and counts are lost. "+
		"It is rebuilt from the rest of its event log. Submit the seeds of the crawl again to find the rest; its pages are fetched again",
		"file", l.Path, "owner", before.Owner, "epoch", before.Epoch, "log_begins_at", first, "messages_missing", first-1)
}

// nameAgain writes the first of these checkpoints into a record that was lost, so that tidy does
// not delete it.
func (f *Files) nameAgain(ctx context.Context, own *queue.Ownership, names []string) error {
	if len(names) == 0 {
		return nil
	}
	return own.Update(ctx, func(r *queue.Record) { r.Checkpoint = names[0] })
}

// checkpointsOf returns the names of checkpoints to try, the best first: those in the record, or
// when there is no record, those in the store.
func (f *Files) checkpointsOf(ctx context.Context, id int, rec queue.Record) ([]string, error) {
	if rec != (queue.Record{}) {
		return slices.DeleteFunc([]string{rec.Checkpoint, rec.Previous}, func(s string) bool { return s == "" }), nil
	}
	names, err := f.checkpoints.snapshots.Names(ctx)
	if err != nil {
		return nil, err
	}
	var found []Name
	for _, name := range names {
		if c, ok := ParseName(name); ok && c.Shard == id {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b Name) int {
		return cmp.Or(cmp.Compare(b.Epoch, a.Epoch), cmp.Compare(b.N, a.N))
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
	c, ok := ParseName(names[0])
	return ok && c.Epoch > epoch
}

// firstOfLog is the sequence of the first message that a shard's log still has. It is 0 or 1 when
// nothing was ever deleted.
func (f *Files) firstOfLog(ctx context.Context, id int) (uint64, error) {
	st, err := f.o.Queue.JS.Stream(ctx, f.o.Names.EventsStream(id))
	if err != nil {
		return 0, fmt.Errorf("event log %d: %w", id, err)
	}
	return st.CachedInfo().State.FirstSeq, nil
}
