package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Check fails if something in dir has the name of one of Curtsy's own files, but is not a regular
// file, or if "nats" there is not a directory. With write it also fails if this process may not
// read and write such a file. The error names the file and says what to type. A hard link is the
// file itself, so it may be used. If there is no dir, there is nothing to complain about.
//
// Each opener fails in such a case too. But some try again later, because a file may be in use for
// a moment, and some can do without the file. Nobody would then learn what is wrong.
func Check(dir string, write bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.Name() == "nats":
			err = checkDirectory(path, write)
		case !isOurs(e.Name()):
			continue
		case write && e.Type().IsRegular():
			var f *os.File
			if f, err = OpenRegular(path, os.O_RDWR); err == nil {
				err = f.Close()
			}
		default:
			err = irregular(path, e.Type())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a running crawl renames files
			return err
		}
	}
	return nil
}

// checkDirectory fails unless path is a directory, or a link to one. With write this process must
// be allowed to read it.
func checkDirectory(path string, write bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return irregular(path, fs.ModeSymlink)
	case err != nil:
		return explain(path, err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; move it away: mv %[1]s %[1]s.moved", path)
	case write:
		if _, err := os.ReadDir(path); err != nil {
			return explain(path, err)
		}
	}
	return nil
}

// irregular returns an error unless a file of that mode is a regular file.
func irregular(path string, mode fs.FileMode) error {
	what := "a special file"
	switch mode.Type() {
	case 0:
		return nil
	case fs.ModeSymlink:
		to, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("%s is a symbolic link to a file that does not exist; remove it: rm %[1]s", path)
		}
		if info, err := os.Stat(to); err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf("%s is a symbolic link to something that is not a file; remove it: rm %[1]s", path)
		}
		return fmt.Errorf("%s is a symbolic link, not a regular file; replace it by its file: mv %s %[1]s (the whole directory may be a link)", path, to)
	case fs.ModeDir:
		what = "a directory"
	case fs.ModeNamedPipe:
		what = "a pipe"
	}
	return fmt.Errorf("%s is %s, not a regular file; move it away: mv %[1]s %[1]s.moved", path, what)
}

// explain returns the error of opening a file, with what to type if there is something.
func explain(path string, err error) error {
	if errors.Is(err, syscall.ELOOP) {
		return irregular(path, fs.ModeSymlink)
	}
	if errors.Is(err, syscall.EISDIR) {
		return irregular(path, fs.ModeDir)
	}
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	info, statErr := os.Lstat(path)
	if statErr != nil {
		return err
	}
	me := os.Geteuid()
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != me {
		return fmt.Errorf("%w; it belongs to user %d, and you are user %d: run curtsy as that user, or: sudo chown %[3]d %s", err, owner.Uid, me, path)
	}
	return fmt.Errorf("%w; it is your own: chmod u+rw %s", err, path)
}
