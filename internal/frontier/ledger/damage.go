package ledger

import (
	"errors"
	"fmt"
	"os"

	berrors "go.etcd.io/bbolt/errors"
)

// ErrUnreadable: a file is not a shard's, or is damaged.
var ErrUnreadable = errors.New("unreadable")

// Damaged says whether an error of opening a file is the file's own.
func Damaged(err error) error {
	if errors.Is(err, berrors.ErrTimeout) || errors.Is(err, ErrFormat) || errors.Is(err, os.ErrPermission) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnreadable, err)
}
