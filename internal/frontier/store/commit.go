package store

import (
	"bytes"
	"errors"
	"time"
)

// A shard commits its changes after CommitEvery or CommitChanges, whichever comes first. Nothing
// waits for a commit, because visits are granted without one.
const (
	CommitEvery   = 250 * time.Millisecond
	CommitChanges = 16_000 // a link makes three changes, a fetched page two or three
)

// Commit writes what changed and the shard's state, and ends the transaction. With again it begins
// the next one. The order is: records that changed (Hooks.BeforeCommit), the outbox, the blocks,
// Meta, the crawl log, the commit; then the messages of the transaction may be sent. An error means
// that the shard has failed (Fail).
func (f *File) Commit(again bool) error {
	if err := f.Phase.MayWrite(); err != nil {
		return err
	}
	if err := f.hooks.BeforeCommit(); err != nil {
		return f.Fail(err)
	}
	if again && !f.Unsaved() {
		return nil
	}
	if err := f.write(); err != nil {
		return f.Fail(err)
	}
	f.Lines.write()
	if err := f.end(); err != nil {
		return err
	}
	f.Outbox.committed()
	if !again {
		f.EndTx()
		return nil
	}
	tx, err := f.DB.Begin(true)
	if err != nil {
		f.EndTx()
		return f.Fail(err)
	}
	f.Tx = tx
	return nil
}

// Unsaved reports whether there is anything to commit.
func (f *File) Unsaved() bool {
	return f.Changes > 0 || f.Lines.changed() || f.Outbox.changed() || !bytes.Equal(f.saved, f.Meta.encode())
}

// write writes into the transaction what is kept in memory until a commit.
func (f *File) write() error {
	if err := f.Outbox.write(); err != nil {
		return err
	}
	if err := f.Flush(); err != nil {
		return err
	}
	f.Meta.Written = time.Now().UnixMilli()
	f.saved = f.Meta.encode()
	return f.Put(BucketMeta, keyMeta, f.saved)
}

// end commits the transaction. Afterwards none is open.
func (f *File) end() error {
	began := time.Now()
	err := f.DB.Fault("commit")
	if err == nil {
		err = f.Tx.Commit()
	}
	if err != nil {
		f.Tx.Rollback()
		f.EndTx()
		return errors.Join(f.Fail(err), f.DB.Fault("committed"))
	}
	if err := f.DB.Fault("committed"); err != nil {
		f.EndTx()
		return f.Fail(err)
	}
	f.Metrics.Commit.Observe(time.Since(began).Seconds())
	f.Tx, f.Changes = nil, 0
	return nil
}

// CommitTime makes the next commit write the state even if only its time has changed.
func (f *File) CommitTime() { f.saved = nil }
