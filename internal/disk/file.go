package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// FileMode is the mode of every file in a data directory, and DirMode the mode of a data directory
// that we create. Stored pages may be private to their owner.
const (
	FileMode fs.FileMode = 0o600
	DirMode  fs.FileMode = 0o700
)

// OpenRegular opens a file of a data directory like os.OpenFile, with FileMode if flag creates it.
// It follows no symbolic link and accepts regular files only. Otherwise anyone who may write to the
// directory could make us truncate or fill a file elsewhere. Links in the directories above are
// followed.
func OpenRegular(path string, flag int) (*os.File, error) {
	// The file is truncated only when it is known to be a regular one. With O_NONBLOCK, opening a
	// pipe does not wait for its other end.
	f, err := os.OpenFile(path, flag&^os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, FileMode)
	if err != nil {
		return nil, explain(path, err)
	}
	info, err := f.Stat()
	if err == nil {
		err = irregular(path, info.Mode())
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadRegular reads a whole file of a data directory.
func ReadRegular(path string) ([]byte, error) {
	f, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// Replace writes body to a file at path in one step, replacing the file that was there. It also
// replaces a temporary file that an earlier crash left behind.
func Replace(path string, body []byte) error {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // its mode may differ from FileMode
	}
	f, err := OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(temp, path)
}
