package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/crawl"
)

// File is one shard's bbolt file: the transaction that is open between two commits, the shard's
// state, its messages to others and its lines of the crawl log. The caller of its methods must have
// locked Mu, unless a method's comment says otherwise. A file may be open for reading only.
type File struct {
	ID   int    // of the shard
	Path string // of the file
	Log  *slog.Logger

	Mu sync.Mutex // guards everything below, and what is kept in the file

	// DB is the open file; nil: it is closed.
	DB *boltfile.File
	Transaction
	Outbox
	Lines

	// Meta is the shard's state, and Phase what its owner may do.
	Meta  Meta
	Phase Phase
	At    time.Time // the broker's time of the event being applied; zero between events

	Epoch  uint64      // in which the owner acts
	Valid  func() bool // reports whether we may act as the owner now
	VisitN uint64      // number of the last visit granted in the epoch

	// Metrics are the frontier's; nil in a file that is only read.
	Metrics *Metrics

	saved    []byte // Meta as it was committed last
	copySoon bool   // a checkpoint is due, whatever the log holds
	hooks    Hooks
}

// Options describe the file of a shard.
type Options struct {
	ID    int    // of the shard
	Path  string // of the file
	Log   *slog.Logger
	Hooks Hooks
}

// Hooks are what a File calls in the package that keeps records in it. Both are called with Mu
// held.
type Hooks struct {
	// BeforeCommit writes the records that changed in memory.
	BeforeCommit func() error
	// AfterUse is called at the end of what Guarded runs, unless the file can no longer be written.
	AfterUse func()
}

// New returns the file of a shard, which is still to be opened.
func New(o Options) *File {
	f := &File{ID: o.ID, Path: o.Path, Log: o.Log, hooks: o.Hooks}
	f.Outbox = Outbox{file: f, eventsOut: make(chan struct{}, 1), pagesOut: make(chan struct{}, 1)}
	f.Lines.file = f
	return f
}

// Own makes the file be used by an owner of the shard: in that epoch, while valid returns true.
func (f *File) Own(epoch uint64, valid func() bool) { f.Epoch, f.Valid = epoch, valid }

// Share gives the file what all shards of a process share. crawlLog may be nil.
func (f *File) Share(crawlLog io.Writer, m *Metrics) { f.CrawlLog, f.Metrics = crawlLog, m }

// OpenFile opens the shard's file, and creates it unless it is opened for reading only.
func (f *File) OpenFile(readOnly bool) (err error) {
	f.DB, err = OpenDB(f.Path, readOnly)
	return err
}

// CloseFile closes the file. The transaction must have ended.
func (f *File) CloseFile() error {
	db := f.DB
	f.DB = nil
	return db.Close()
}

// Begin begins the transaction through which everything is read, and written if write is true, and
// reads the shard's state.
func (f *File) Begin(write bool) (err error) {
	if f.Tx, err = f.DB.Begin(write); err != nil {
		return err
	}
	if f.Meta, err = LoadMeta(f.Tx); err != nil {
		return err
	}
	if !write {
		f.Epoch = f.Meta.Epoch
	}
	return nil
}

// Opened notes in the state that owner has opened the file in this epoch.
func (f *File) Opened(owner string) {
	f.Meta.Epoch, f.Meta.Owner, f.Meta.Clean = f.Epoch, owner, false
}

// NextVisit returns the identity of a new visit. It is never given twice: the epoch of each owner
// is another.
func (f *File) NextVisit() crawl.VisitID {
	f.VisitN++
	return crawl.VisitID{Epoch: f.Epoch, N: f.VisitN}
}

// Applying sets the broker's time of the event that is being applied; the zero time: none is.
func (f *File) Applying(sent time.Time) { f.At = sent }

// Applied moves the position in the log behind an event of so many bytes.
func (f *File) Applied(seq uint64, sent time.Time, bytes int) {
	f.Meta.Seq, f.Meta.SeqTime = seq, sent.UnixNano()
	f.Meta.Applied += int64(bytes) + EntryOverhead
}

// Rewind sets the position in the log back, because the log was found to begin again. It returns
// the time of the event that was applied last (Unix ns); 0: nothing was applied since the position
// was set back before. A checkpoint is due, because no log contains what a rewind does.
func (f *File) Rewind(seq uint64, at time.Time) (applied int64) {
	applied = f.Meta.SeqTime
	f.Meta.Gen++
	f.Meta.Seq, f.Meta.SeqTime = seq, 0
	if !at.IsZero() {
		f.Meta.SeqTime = at.UnixNano()
	}
	f.WantCheckpoint()
	return applied
}

// WantCheckpoint makes a checkpoint due, however little the log holds.
func (f *File) WantCheckpoint() { f.copySoon = true }

// CheckpointWanted reports whether WantCheckpoint was called since the last checkpoint began.
func (f *File) CheckpointWanted() bool { return f.copySoon }

// CheckpointBegun reports whether WantCheckpoint was called since the last checkpoint began, and
// clears it.
func (f *File) CheckpointBegun() (wanted bool) {
	wanted, f.copySoon = f.copySoon, false
	return wanted
}

// EndTx notes that the transaction has ended and that no other will begin.
func (f *File) EndTx() {
	f.Transaction = Transaction{Changes: f.Changes}
	f.Phase.close()
}

// Fail marks the shard as failed. The state of its transaction is unknown then, and only opening
// the file again makes memory and disk agree.
func (f *File) Fail(err error) error {
	if f.Phase.Err == nil {
		f.Phase.Err = fmt.Errorf("shard %d (%s): %w", f.ID, f.Path, f.Blame(err))
	}
	return f.Phase.Err
}

// Guarded runs do, which uses the shard's transaction: one event, one tick or one grant. Damage in
// the file makes the shard fail, but not the process.
func (f *File) Guarded(do func() error) error {
	if f.DB == nil {
		return do() // closed; do finds that out
	}
	err := f.DB.Guard(func() error {
		err := do()
		if f.Phase.MayWrite() == nil {
			f.hooks.AfterUse()
		}
		return err
	})
	if f.DB.Damage() != nil {
		f.EndTx() // the transaction must not be used any more
		f.Fail(f.DB.Damage())
	}
	return err
}

// InStretches calls some repeatedly until ctx ends, each time with the lock, which it takes itself.
// While some reports more work, the next call follows after as long as the last one took, so that
// others get the lock half of the time. Otherwise the next call follows after CommitEvery.
func (f *File) InStretches(ctx context.Context, some func(now time.Time) (more bool, err error)) error {
	for wait := CommitEvery; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		f.Mu.Lock()
		began := time.Now()
		more := false
		err := f.Guarded(func() (err error) {
			more, err = some(began)
			return err
		})
		wait = CommitEvery
		if more {
			wait = max(time.Since(began), time.Millisecond)
		}
		f.Mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// Blame adds the file's name and a remedy to an error that only damage explains.
func (f *File) Blame(err error) error {
	if errors.Is(err, ErrRecord) && !boltfile.IsDamaged(err) && f.DB != nil {
		return f.DB.Blame(err)
	}
	return err
}
