// Package boltfile opens bbolt files so that damage in them is an error and does not end the
// process. The error names the file and what to do.
//
// If a page makes no sense, bbolt panics; if the disk cannot read a page, the process gets a fault.
// This package therefore checks the pages before bbolt opens the file, and guards everything that
// is done in a transaction. After a File was found damaged, every later use returns the same error,
// because the state of its transactions is unknown.
package boltfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/disk"
)

// File is an open bbolt file. Its methods may be called from many goroutines.
type File struct {
	db *bolt.DB
	// bbolt's own handle; closing it releases the lock even if bbolt can no longer close the file
	file   *os.File
	path   string
	remedy string
	dead   atomic.Pointer[Damaged]
	died   chan struct{} // closed when dead is set
	// a writing transaction was abandoned, and bbolt's Close would wait for it forever
	stuck atomic.Bool
	fault func(point string) error // nil: none
}

// Open opens or creates the file at path. Only the owner can read it. Open follows no symbolic link
// and accepts regular files only. If the file is damaged, the error is a *Damaged: "FILE is damaged
// (why): " and remedy, a sentence that says what to do. If another process has the file open for
// longer than o.Timeout, the error is bbolt's ErrTimeout.
func Open(path string, o bolt.Options, remedy string) (f *File, err error) {
	f = &File{path: path, remedy: remedy, died: make(chan struct{})}
	o.OpenFile = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		if f.file != nil { // a copy opens the file as it is
			return os.OpenFile(name, flag|syscall.O_NOFOLLOW, mode)
		}
		file, err := openLocked(name, flag, o.ReadOnly, o.Timeout)
		if err != nil {
			return nil, err
		}
		limit := checkPages
		switch {
		case o.ReadOnly && !o.PreLoadFreelist:
			limit = checkPagesToRead
		case o.NoFreelistSync:
			// Check the whole file: bbolt is about to read all of it, in a goroutine whose panics
			// we cannot recover.
			limit = 0
		}
		if err := check(file, limit); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		f.file = file
		return file, nil
	}
	err = f.guard(true, func() (err error) {
		f.db, err = bolt.Open(path, disk.FileMode, &o)
		return err
	})
	switch {
	case err == nil:
		return f, nil
	case f.file != nil:
		f.file.Close() // bbolt has closed it, unless it panicked
	}
	var bad *Damaged
	if errors.As(err, &bad) {
		return nil, err
	}
	for _, e := range []error{errStructure, berrors.ErrInvalid, berrors.ErrVersionMismatch, berrors.ErrChecksum} {
		if errors.Is(err, e) {
			return nil, f.damage(err)
		}
	}
	return nil, err
}

// openLocked opens a regular file and locks it as bbolt does, so that no other process writes while
// the pages are checked. bbolt locks it once more, which changes nothing.
func openLocked(name string, flag int, shared bool, timeout time.Duration) (*os.File, error) {
	file, err := disk.OpenRegular(name, flag)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	for end := time.Now().Add(timeout); ; time.Sleep(lockPoll) {
		err := syscall.Flock(int(file.Fd()), how|syscall.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), file.Close())
		}
		if timeout > 0 && time.Now().After(end) {
			return nil, errors.Join(berrors.ErrTimeout, file.Close())
		}
	}
}

// lockPoll is how often a locked file is tried again. bbolt uses the same interval.
const lockPoll = 50 * time.Millisecond

// View runs do in a reading transaction. If the file is damaged, the error is a *Damaged.
func (f *File) View(do func(*bolt.Tx) error) error {
	return f.guard(false, func() error { return f.db.View(do) })
}

// Update runs do in a writing transaction, which is committed unless do fails. If the file is
// damaged, the error is a *Damaged.
func (f *File) Update(do func(*bolt.Tx) error) error {
	if f.fault == nil {
		return f.guard(true, func() error { return f.db.Update(do) })
	}
	err := f.guard(true, func() error {
		return f.db.Update(func(tx *bolt.Tx) error { return errors.Join(do(tx), f.Fault("commit")) })
	})
	return errors.Join(err, f.Fault("committed"))
}

// SetFault makes the file call fault before each commit with "commit " and the name of the file,
// and after it with "committed " and the name. The commit returns the error of fault. SetFault is
// for tests that stop a service at a commit, or simulate a full disk. It must be called before the
// file is used.
func (f *File) SetFault(fault func(point string) error) { f.fault = fault }

// Fault calls the function given to SetFault. Code that commits a transaction from Begin must call
// it.
func (f *File) Fault(point string) error {
	if f.fault == nil {
		return nil
	}
	return f.fault(point + " " + filepath.Base(f.path))
}

// Begin begins a transaction. The caller must use it within Guard.
func (f *File) Begin(writable bool) (tx *bolt.Tx, err error) {
	err = f.guard(writable, func() (err error) {
		tx, err = f.db.Begin(writable)
		return err
	})
	return tx, err
}

// DB is bbolt's handle, for its settings. Operations on it are not guarded.
func (f *File) DB() *bolt.DB { return f.db }

// Guard runs code that works with a transaction from Begin. After a *Damaged, that transaction must
// not be used any more, not even to roll it back.
func (f *File) Guard(do func() error) error { return f.guard(true, do) }

// Damage is the damage found so far, nil if there is none.
func (f *File) Damage() error {
	if d := f.dead.Load(); d != nil {
		return d
	}
	return nil
}

// Damaged is closed when damage is found.
func (f *File) Damaged() <-chan struct{} { return f.died }

// Blame returns a *Damaged for something that the caller found in the file. The rest of the file
// can still be used.
func (f *File) Blame(cause error) error { return &Damaged{f.path, cause, f.remedy} }

// Close closes the file and releases its lock.
func (f *File) Close() error {
	if f.stuck.Load() {
		return f.file.Close()
	}
	return f.guard(true, f.db.Close)
}
