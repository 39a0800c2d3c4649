package pages

import (
	"errors"
	"fmt"
	"syscall"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// file is the open bbolt file of a store: its transactions, and errors that say what to do. Its
// methods may be called from many goroutines.
type file struct {
	db   *boltfile.File
	path string
}

// errRecord means that a record that was written completely cannot be read.
var errRecord = errors.New("a record cannot be read")

// Path returns the path of the file.
func (f *file) Path() string { return f.path }

// view runs do in a read transaction.
func (f *file) view(do func(*bolt.Tx) error) error { return f.named(f.db.View(do)) }

// write runs do in a write transaction.
func (f *file) write(do func(*bolt.Tx) error) error { return f.named(f.db.Update(do)) }

// named adds the file and the remedy to an error that only damage explains.
func (f *file) named(err error) error {
	if errors.Is(err, errRecord) {
		return f.db.Blame(err)
	}
	return err
}

// Damaged is closed when the file turns out to be damaged. Damage then describes it, and what to
// do. Nothing can be read or written any more.
func (f *file) Damaged() <-chan struct{} { return f.db.Damaged() }

// Damage returns the reason why Damaged was closed, nil before.
func (f *file) Damage() error { return f.db.Damage() }

// writeError says what could not be written, and whether space was missing.
func (f *file) writeError(what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, berrors.ErrMaxSizeReached) {
		return fmt.Errorf("%s in %s: %w: %w", what, f.path, ErrNoSpace, err)
	}
	return fmt.Errorf("%s in %s: %w", what, f.path, err)
}

// remedy says what to do about a damaged file.
func remedy(path string) string {
	return fmt.Sprintf("stop the crawl if it runs, move the file away (mv %[1]s %[1]s.damaged) and start the crawl again: its pages are fetched again", path)
}

// damaged is the error for a file that can be opened but is no page store.
func damaged(path, why string) error {
	return fmt.Errorf("open page store: %w: %w", ErrFormat, &boltfile.Damaged{Path: path, Cause: errors.New(why), Remedy: remedy(path)})
}
