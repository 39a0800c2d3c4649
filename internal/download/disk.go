package download

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// openRegular opens a file of the directory without following a symbolic link. With create it
// creates a missing file.
func openRegular(dir, name string, flag int, create bool) (*os.File, error) {
	at := filepath.Join(dir, name)
	before, err := os.Lstat(at)
	if errors.Is(err, fs.ErrNotExist) && create {
		// O_EXCL does not create a file through a link either.
		return os.OpenFile(at, flag|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		// Opening a pipe would block.
		return nil, fmt.Errorf("%s is not a regular file", at)
	}
	f, err := os.OpenFile(at, flag, 0)
	if err != nil {
		return nil, err
	}
	if after, err := f.Stat(); err != nil || !os.SameFile(before, after) {
		f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", at)
	}
	return f, nil
}

// replace replaces a file in one step, and returns when that is on disk.
func replace(dir, name string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(dir, ownPrefix+"*.new")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes sure that the names in a directory survive a power failure.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// sweep removes files to which a killed process had not given their final names. No other process
// may use the directory.
func sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ownPrefix) && strings.HasSuffix(e.Name(), ".new") {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
