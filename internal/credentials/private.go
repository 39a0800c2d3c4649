package credentials

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadPrivate reads a file with a secret in it, and at most limit bytes and one more, by which the
// caller sees that there is more. A file that others than its owner and group can read, or others
// than its owner can write, is refused with what to type. What is not there is os.ErrNotExist.
func ReadPrivate(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Mode().Perm()&0o037 != 0:
		return nil, fmt.Errorf("other users can read or change it (its mode is %04o); type: chmod 600 %s", info.Mode().Perm(), name)
	}
	return io.ReadAll(io.LimitReader(f, limit+1))
}
