package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ours are the names of the files that Curtsy keeps in a data directory.
var ours = []string{
	"frontier-[0-9]*.db", "pages-[0-9]*.db", "pages-[0-9]*.db.owner", "search-[0-9]*.db", "search-[0-9]*.db-wal", "search-[0-9]*.db-shm",
	"spec.json", "nats.json", "crawl.jsonl", "crawl-[0-9a-f]*.jsonl", "requests.journal", "queries.db", "intake-[0-9]*.log", "reading.mark", "lock", "frontier.lock", "indexer.lock",
}

// Tighten sets FileMode on Curtsy's own files in dir that others than the owner may read or write:
// older versions created some with 0644. It does not change files with other names, files that are
// not regular, and files of another user, who chose their mode. The caller must have locked the
// directory.
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
		if ok, _ := filepath.Match(pattern, name); ok { // the patterns are valid
			return true
		}
	}
	return false
}

// tighten changes the mode of the file itself, never the mode of a link's target.
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
