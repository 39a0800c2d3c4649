package site

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// maxDirty is how many paths with events are remembered. Beyond it the whole root is scanned.
const maxDirty = 10000

// watcher collects the paths of inotify events until they are compared. Its methods may be called
// concurrently.
type watcher struct {
	fs    *fsnotify.Watcher
	log   *slog.Logger
	wake  chan struct{} // has a token when there is something to compare
	names names

	mu          sync.Mutex          // guards what follows
	root        string              // links resolved
	dirs        map[string]struct{} // watched, absolute
	dirty       map[string]struct{}
	all         bool      // everything may have changed
	first, last time.Time // of the collected events
	full        bool      // the kernel watches no more directories
	failed      int       // directories that could not be watched since the scan began
}

func newWatcher(n names, log *slog.Logger) (*watcher, error) {
	fs, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	return &watcher{fs: fs, log: log, wake: make(chan struct{}, 1), names: n, dirs: map[string]struct{}{}, dirty: map[string]struct{}{}}, nil
}

// begin is called before a scan of the root, which is at path now.
func (w *watcher) begin(path string) {
	w.mu.Lock()
	w.full, w.failed = false, 0
	was := w.root
	w.root = path
	w.mu.Unlock()
	if was != path {
		w.unwatch(was)
	}
}

// unwatch stops watching dir and everything below it. The library remembers a watch under its first
// name, so a renamed directory must be unwatched before it can be watched under its new name.
func (w *watcher) unwatch(dir string) {
	w.mu.Lock()
	var gone []string
	if _, ok := w.dirs[dir]; ok {
		for d := range w.dirs {
			if d == dir || strings.HasPrefix(d, dir+"/") {
				gone = append(gone, d)
				delete(w.dirs, d)
			}
		}
	}
	w.mu.Unlock()
	for _, d := range gone { // without mu: the library waits for run while it holds its own mutex
		_ = w.fs.Remove(d) // fails if the kernel has already removed it
	}
}

// unwatched returns how many directories the last scan could not watch.
func (w *watcher) unwatched() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// watch adds a directory, which may be watched already.
func (w *watcher) watch(dir string) {
	w.mu.Lock()
	full := w.full
	w.dirs[dir] = struct{}{}
	w.mu.Unlock()
	var err error
	if !full {
		err = w.fs.Add(dir)
	}
	if !full && err == nil {
		return
	}
	w.mu.Lock()
	delete(w.dirs, dir)
	w.failed++
	first := !w.full && errors.Is(err, unix.ENOSPC)
	w.full = w.full || first
	w.mu.Unlock()
	switch {
	case first:
		w.log.Warn("too many directories to watch: changes there are found only by scans; raise fs.inotify.max_user_watches", "directory", dir)
	case err != nil && !errors.Is(err, unix.ENOENT):
		w.log.Warn("a directory is not watched", "directory", dir, "err", err)
	}
}

// run takes events until ctx ends.
func (w *watcher) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-w.fs.Events:
			if !ok {
				return errors.New("inotify ended")
			}
			if ev.Op&(fsnotify.Rename|fsnotify.Remove) != 0 {
				w.unwatch(ev.Name) // before its new name is added
			}
			w.touch(ev.Name)
		case err, ok := <-w.fs.Errors:
			if !ok {
				return errors.New("inotify ended")
			}
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				w.log.Warn("inotify", "err", err)
			}
			w.add("") // an event was missed
		}
	}
}

func (w *watcher) touch(abs string) {
	w.mu.Lock()
	root := w.root
	w.mu.Unlock()
	rel, err := filepath.Rel(root, abs)
	if err != nil || strings.HasPrefix(rel, "..") {
		return
	}
	if rel == "." {
		rel = ""
	}
	if rel = filepath.ToSlash(rel); rel == "" || w.names.announced(rel) {
		w.add(rel)
	}
}

// add adds a path to be compared; "" means everything.
func (w *watcher) add(rel string) {
	w.mu.Lock()
	w.last = time.Now()
	if len(w.dirty) == 0 && !w.all {
		w.first = w.last
	}
	if w.all = w.all || rel == "" || len(w.dirty) >= maxDirty; w.all {
		clear(w.dirty)
	} else {
		w.dirty[rel] = struct{}{}
	}
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// settled returns how long to wait until a burst is over: until there was no event for settle, but
// at most ten times that.
func (w *watcher) settled(settle time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dirty) == 0 && !w.all {
		return 0
	}
	return min(time.Until(w.last.Add(settle)), time.Until(w.first.Add(10*settle)))
}

// take returns what was collected, and starts anew.
func (w *watcher) take() (rels []string, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for rel := range w.dirty {
		rels = append(rels, rel)
	}
	all = w.all
	clear(w.dirty)
	w.all = false
	return rels, all
}
