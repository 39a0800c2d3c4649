package parts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/feed"
)

// folder is a folder of parts.
type folder struct{ dir string }

func (f *folder) prepare(context.Context) error {
	err := os.MkdirAll(f.dir, disk.DirMode)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist) {
		return &feed.Permanent{Err: fmt.Errorf("%w: use another folder, or change its permissions", err)}
	}
	return err
}

// put writes a file under another name, and gives it its name when it is on disk.
func (f *folder) put(_ context.Context, name string, content []byte) (err error) {
	file, err := os.CreateTemp(f.dir, ".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	_, err = file.Write(content)
	if err := errors.Join(err, file.Chmod(disk.FileMode), file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), filepath.Join(f.dir, name)); err != nil {
		return err
	}
	d, err := os.Open(f.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *folder) list(_ context.Context, prefix string, do func(name string) error) error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			if err := do(e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *folder) remove(_ context.Context, name string) error {
	err := os.Remove(filepath.Join(f.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (f *folder) close() {}
