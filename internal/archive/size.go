package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/pages"
)

// Sizes determines the size of the archive of some shards. Its zero value is ready to use. It may
// be used concurrently.
type Sizes struct {
	mu    sync.Mutex // guards what follows
	at    time.Time  // when the directories were last read
	files int64
	bytes int64
}

// sizeLasts is how long a result is reused: directories may have many files, and a running crawl is
// asked several times a second.
const sizeLasts = 10 * time.Second

// Of returns how many WARC files these stores have written, including open ones, and their size in
// bytes. The result is at most ten seconds old. A directory that cannot be read counts as empty.
func (s *Sizes) Of(stores []*pages.Store) (files, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && time.Since(s.at) < sizeLasts {
		return s.files, s.bytes
	}
	s.files, s.bytes = 0, 0
	mine := map[string]map[string]bool{} // by directory: the stores that have written there
	for _, store := range stores {
		st, err := stateOf(store)
		if err != nil {
			continue // another error reports this store
		}
		for _, dir := range st.Dirs {
			if mine[dir] == nil {
				mine[dir] = map[string]bool{}
			}
			mine[dir][store.Identity()[:8]] = true
		}
	}
	for dir, ids := range mine {
		s.add(dir, ids)
	}
	s.at = time.Now()
	return s.files, s.bytes
}

// add counts the files of these stores in a directory.
func (s *Sizes) add(dir string, ids map[string]bool) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), openSuffix)
		bare, isWARC := strings.CutSuffix(name, ".warc.gz")
		if !e.Type().IsRegular() || !isWARC || !ids[bare[strings.LastIndexByte(bare, '-')+1:]] {
			continue
		}
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			// It was renamed meanwhile.
			info, err = os.Stat(filepath.Join(dir, name))
		}
		if err != nil {
			continue
		}
		s.files++
		s.bytes += info.Size()
	}
}
