package store

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"
)

// A file that cannot be opened because too many are open is not damaged, so that nobody moves it
// away.
func TestDamagedIsTheFile(t *testing.T) {
	for err, want := range map[error]bool{syscall.EMFILE: false, syscall.ENFILE: false, syscall.ENOSPC: false, syscall.EIO: true} {
		if got := errors.Is(Damaged(&fs.PathError{Op: "open", Path: "x", Err: err}), ErrUnreadable); got != want {
			t.Errorf("%v: unreadable %v, want %v", err, got, want)
		}
	}
}
