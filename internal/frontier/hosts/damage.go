package hosts

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"

	berrors "go.etcd.io/bbolt/errors"
)

// ErrUnreadable: a file is not a shard's, or is damaged.
var ErrUnreadable = errors.New("unreadable")

// notTheFile are errors that say nothing of the file they came up with.
var notTheFile = []error{berrors.ErrTimeout, ErrFormat, os.ErrPermission, syscall.ENOSPC, syscall.EDQUOT}

// Damaged says whether an error of opening a file is the file's own.
func Damaged(err error) error {
	if slices.ContainsFunc(notTheFile, func(other error) bool { return errors.Is(err, other) }) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}
