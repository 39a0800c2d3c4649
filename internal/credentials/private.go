package credentials

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// ReadPrivate reads a file that contains a secret. It reads at most limit+1 bytes, so that the
// caller can notice a file that is too long. A file is refused if others than its owner and group
// can read it, or if others than its owner can write it; the error contains the command to fix it.
// If the file does not exist, the error is os.ErrNotExist.
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
