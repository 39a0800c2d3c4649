package store

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// ErrUnreadable: a file is damaged, or is not a shard's file.
var ErrUnreadable = errors.New("unreadable")

// notTheFile are errors of opening a file that do not mean that the file is damaged.
var notTheFile = []error{berrors.ErrTimeout, ErrFormat, os.ErrPermission, syscall.ENOSPC, syscall.EDQUOT, syscall.EMFILE, syscall.ENFILE}

// Damaged wraps err in ErrUnreadable if the file itself is the cause.
func Damaged(err error) error {
	if slices.ContainsFunc(notTheFile, func(other error) bool { return errors.Is(err, other) }) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}
