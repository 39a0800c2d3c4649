package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ours are the names of the files that Curtsy keeps in a data directory.
var ours = []string{
	"frontier-*.db", "pages-*.db", "pages-*.db.owner", "search-*.db", "search-*.db-wal", "search-*.db-shm",
	"spec.json", "crawl.jsonl", "crawl-*.jsonl", "requests.journal", "lock", "*.lock",
}

// Tighten gives Curtsy's own files in dir FileMode where others than the owner may read or
// write them: older versions created some with 0644. It leaves alone other names, files
// that are not regular, and files of another user, who chose their mode. The caller must
// hold the directory's lock.
func Tighten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !isOurs(e.Name()) {
			continue
		}
		if err := tighten(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func isOurs(name string) bool {
	for _, pattern := range ours {
		if ok, _ := filepath.Match(pattern, name); ok { // the patterns are good
			return true
		}
	}
	return false
}

// tighten changes the mode of the file itself, not of what a link in its place leads to.
func tighten(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm()&^FileMode == 0 {
		return err
	}
	f, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(FileMode), f.Close())
}
