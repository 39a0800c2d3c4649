package site

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/testaid"
)

// rootOf is a document root of a test, with its stored state.
type rootOf struct {
	t    *testing.T
	dir  string
	db   *boltfile.File
	file string
}

func newRoot(t *testing.T) *rootOf {
	t.Helper()
	r := &rootOf{t: t, dir: filepath.Join(t.TempDir(), "root"), file: filepath.Join(t.TempDir(), "rupd.db")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.open()
	t.Cleanup(func() { r.db.Close() })
	return r
}

func (r *rootOf) open() {
	db, err := openDB(r.file)
	if err != nil {
		r.t.Fatal(err)
	}
	r.db = db
}

func (r *rootOf) path(rel string) string { return filepath.Join(r.dir, rel) }

func (r *rootOf) write(rel, text string) {
	r.t.Helper()
	if err := os.MkdirAll(filepath.Dir(r.path(rel)), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(r.path(rel), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rootOf) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// tree returns a tree that compares without watching.
func (r *rootOf) tree() *tree {
	n, err := newNames("index.html", DefaultIgnore())
	r.must(err)
	return &tree{
		root: r.dir, names: n, db: r.db, log: slog.New(slog.DiscardHandler),
		watch: func(string) {}, later: func(string) {}, count: func([]kind) {},
	}
}

func (r *rootOf) scan() {
	r.t.Helper()
	r.must(r.tree().all(r.t.Context()))
}

// lines returns the lines of the log: kind and path.
func (r *rootOf) lines() (list []string) {
	r.t.Helper()
	r.must(r.db.View(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketLog).ForEach(func(_, v []byte) error {
			list = append(list, string(v[:1])+" "+string(v[1:]))
			return nil
		})
	}))
	return list
}

// net returns the net effect of the whole log, by URL.
func (r *rootOf) net() (list []string) {
	r.t.Helper()
	n := r.tree().names
	r.must(r.db.View(func(tx *bolt.Tx) error {
		changes, _, done, err := fold(tx, nil, maxPaths, func(string) bool { return true })
		for _, c := range changes {
			list = append(list, string(rune(c.kind))+" "+n.url(c.rel))
		}
		if !done {
			return fmt.Errorf("not done")
		}
		return err
	}))
	slices.Sort(list)
	return list
}

func (r *rootOf) want(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	if got := r.net(); !slices.Equal(got, want) {
		r.t.Errorf("net effect %q, want %q; the log: %q", got, want, r.lines())
	}
}

// follow runs a follower until the test ends or stop is called. It returns after the first scan.
func (r *rootOf) follow(every time.Duration) (stop func()) {
	r.t.Helper()
	w, err := newWatcher(r.tree().names, slog.New(slog.DiscardHandler))
	r.must(err)
	scanned := make(chan struct{}, 1000)
	f := &follower{
		tree: r.tree(), watcher: w, settle: 20 * time.Millisecond, every: every, log: slog.New(slog.DiscardHandler),
		scanned: func(time.Duration) { scanned <- struct{}{} }, failed: func(err error) { r.t.Log(err) },
	}
	f.tree.watch = w.watch
	f.tree.later = func(rel string) { f.again = append(f.again, rel) }
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.run(ctx) }()
	<-scanned
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			if err := <-ended; err != nil {
				r.t.Error(err)
			}
			w.fs.Close()
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// await waits until the log's net effect is want.
func (r *rootOf) await(want ...string) {
	r.t.Helper()
	slices.Sort(want)
	testaid.Until(r.t, fmt.Sprintf("the net effect %q", want), func() bool { return slices.Equal(r.net(), want) }, func() string {
		return fmt.Sprintf("the net effect is %q, the log %q", r.net(), r.lines())
	})
}

// Files that exist at the first scan are not changes.
func TestFollow(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("index.html", "1")
	r.write("docs/a.html", "1")
	r.write("docs/old/b.html", "1")
	r.follow(time.Hour)
	r.await()

	r.write("docs/a.html", "2")
	r.write("index.html", "2")
	r.await("C docs/a.html", "C ")
	r.write("new/deep/er/index.html", "1") // directories that appear together with their contents
	r.await("C docs/a.html", "C ", "N new/deep/er/")
	r.write("new/deep/er/x, y.html", "1") // they are watched from then on
	r.await("C docs/a.html", "C ", "N new/deep/er/", "N new/deep/er/x%2C%20y.html")
	r.must(os.Rename(r.path("docs/old"), r.path("docs/older")))
	r.await("C docs/a.html", "C ", "N new/deep/er/", "N new/deep/er/x%2C%20y.html", "D docs/old/b.html", "N docs/older/b.html")
	r.write("docs/older/b.html", "2") // a renamed directory is watched under its new name
	r.write("docs/older/c.html", "1")
	r.must(os.RemoveAll(r.path("new")))
	r.await("C docs/a.html", "C ", "D docs/old/b.html", "N docs/older/b.html", "N docs/older/c.html")
	r.must(os.Rename(r.path("docs"), r.path("texts"))) // a directory that contains directories
	r.await("C ", "D docs/a.html", "D docs/old/b.html", "N texts/a.html", "N texts/older/b.html", "N texts/older/c.html")
	r.write("texts/older/d.html", "1")
	r.await("C ", "D docs/a.html", "D docs/old/b.html", "N texts/a.html", "N texts/older/b.html", "N texts/older/c.html", "N texts/older/d.html")
}

// Editors write a new file and rename it to the old name. Their temporary files have no URL.
func TestFollowEditors(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("a.html", "1")
	r.write("b.html", "1")
	r.follow(time.Hour)
	r.write(".a.html.swp", "x")
	r.write("4913", "")
	r.write("a.html~", "1")
	r.write("a.html.tmp", "2")
	r.must(os.Rename(r.path("a.html.tmp"), r.path("a.html")))
	r.write(".git/objects/aa", "x")
	r.write("robots.txt", "User-agent: *\n")
	r.write("b.html", "1")                                            // the same content as before
	r.must(os.Chtimes(r.path("b.html"), time.Now(), time.Unix(1, 0))) // only its time changes
	r.write("last.html", "1")
	r.await("C a.html", "N last.html")
	if got := r.lines(); len(got) != 2 {
		t.Errorf("the log has %q, want two lines", got)
	}
}

// A site is deployed by switching a link. Only files that differ are changes.
func TestFollowSwitchedLink(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	base := filepath.Dir(r.dir)
	r.must(os.Rename(r.dir, filepath.Join(base, "1")))
	r.must(os.Symlink("1", r.dir))
	r.write("same.html", "1")
	r.write("other.html", "1")
	r.follow(time.Hour)
	r.must(os.Mkdir(filepath.Join(base, "2"), 0o755))
	r.must(os.WriteFile(filepath.Join(base, "2", "same.html"), []byte("1"), 0o644))
	r.must(os.WriteFile(filepath.Join(base, "2", "other.html"), []byte("2"), 0o644))
	r.must(os.Symlink("2", filepath.Join(base, "next")))
	r.must(os.Rename(filepath.Join(base, "next"), r.dir))
	r.await("C other.html")
	r.write("same.html", "2") // the new root is watched
	r.await("C other.html", "C same.html")
}

// Links to files are followed by scans; links to directories are not.
func TestFollowLinks(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("a.html", "1")
	outside := filepath.Join(t.TempDir(), "x.html")
	r.must(os.WriteFile(outside, []byte("1"), 0o644))
	r.follow(50 * time.Millisecond)
	r.must(os.Symlink(outside, r.path("x.html")))
	r.must(os.Symlink("..", r.path("up")))
	r.must(os.Symlink("nowhere", r.path("dangling.html")))
	r.await("N x.html")
	n := len(r.lines())
	r.must(os.WriteFile(outside, []byte("2"), 0o644))
	testaid.Until(t, "another line in the log", func() bool { return len(r.lines()) > n })
	if got := r.lines(); len(got) != 2 || got[1] != "C x.html" {
		t.Errorf("the log has %q, want x.html new and changed", got)
	}
}

// If the event queue overflows, or the kernel watches no more directories, scans still find all
// changes.
func TestScanFindsWhatWasMissed(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for i := range 30 {
		r.write(fmt.Sprintf("d%d/a.html", i), "1")
	}
	stop := r.follow(time.Hour)
	stop()
	r.write("d1/a.html", "2")
	r.must(os.RemoveAll(r.path("d2")))
	r.write("d3/b.html", "1")
	r.must(os.Remove(r.path("d4/a.html")))
	r.write("d4/a.html/index.html", "1") // a directory replaces a file
	info, err := os.Stat(r.path("d5/a.html"))
	r.must(err)
	r.write("d5/a.html", "3") // with the same length and time as before
	r.must(os.Chtimes(r.path("d5/a.html"), info.ModTime(), info.ModTime()))
	r.follow(time.Hour)
	r.await("C d1/a.html", "D d2/a.html", "N d3/b.html", "D d4/a.html", "N d4/a.html/", "C d5/a.html")

	w, err := newWatcher(r.tree().names, slog.New(slog.DiscardHandler))
	r.must(err)
	defer w.fs.Close()
	for i := range maxDirty + 1 {
		w.add(fmt.Sprint(i))
	}
	if rels, all := w.take(); !all || len(rels) != 0 {
		t.Errorf("%d paths, all %v; want a scan instead of so many paths", len(rels), all)
	}
}

// An empty or missing root means that its file system is not mounted.
func TestRootNotMounted(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("a/b.html", "1")
	r.scan()
	r.must(os.Rename(r.path("a"), r.path("../a")))
	if err := r.tree().all(t.Context()); err == nil || !strings.Contains(err.Error(), "not mounted") {
		t.Errorf("empty root: %v", err)
	}
	r.must(os.Remove(r.dir))
	if err := r.tree().all(t.Context()); err == nil {
		t.Error("no root, no error")
	}
	tr := r.tree()
	tr.id = rootID{path: r.dir}
	if err := tr.some(t.Context(), []string{"a/b.html"}); err == nil {
		t.Error("no root, and a file in it is gone")
	}
	r.want()
	r.must(os.Mkdir(r.dir, 0o755))
	r.must(os.Rename(r.path("../a"), r.path("a")))
	r.scan()
	r.want()
}

// Files that are no longer announced are removed from the state without a log line.
func TestIgnoreLater(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("a.html", "1")
	r.write("drafts/b.html", "1")
	r.write("b.txt", "1")
	r.scan()
	tr := r.tree()
	tr.names.ignore = []string{"drafts", "*.txt"}
	r.must(tr.all(t.Context()))
	r.want()
	if left, err := below(r.db, "", 10); err != nil || !slices.Equal(left, []string{"a.html"}) {
		t.Errorf("left are %q, %v", left, err)
	}
}

// A directory has more names than are compared at a time, and names whose order differs from the
// order of paths.
func TestScanManyNames(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	for i := range 3 * batchMax {
		r.write(fmt.Sprintf("many/%d", i), "1")
	}
	for _, rel := range []string{"a/x", "a-b", "a.b", "a!/x", "ab/x", "a\x01"} {
		r.write(rel, "1")
	}
	r.scan()
	r.must(os.Remove(r.path("many/777")))
	r.write("many/5", "2")
	r.must(os.RemoveAll(r.path("a")))
	r.scan()
	r.want("D many/777", "C many/5", "D a/x")
	if got := len(r.lines()); got != 3 {
		t.Errorf("%d lines", got)
	}
	r.must(os.RemoveAll(r.path("many")))
	r.scan()
	if got := len(r.lines()); got != 3+3*batchMax-1 {
		t.Errorf("%d lines", got)
	}
}

// A file that is written to while it is read is read again, until it no longer changes.
func TestFollowFileBeingWritten(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	r.write("big.iso", "1")
	r.follow(time.Hour)
	f, err := os.OpenFile(r.path("big.iso"), os.O_WRONLY|os.O_APPEND, 0)
	r.must(err)
	chunk := []byte(strings.Repeat("x", 1<<20))
	h := sha256.New()
	h.Write([]byte("1"))
	pause := time.NewTicker(5 * time.Millisecond) // so that it is read in between
	defer pause.Stop()
	for range 20 {
		_, err := f.Write(chunk)
		r.must(err)
		h.Write(chunk)
		<-pause.C
	}
	r.must(f.Close())
	want := [32]byte(h.Sum(nil))
	testaid.Until(t, "the digest of the whole file", func() bool {
		rec, err := r.tree().known("big.iso")
		r.must(err)
		return rec.sum == want
	})
	r.want("C big.iso")
}

// An equal stat proves nothing if the file was digested within one tick of the kernel's clock after
// its last change.
func TestSure(t *testing.T) {
	t.Parallel()
	at := time.Now().UnixNano()
	st := stat{size: 1, mtime: 2, ctime: at - racy - 1, inode: 4}
	if r := (record{stat: st, at: at}); !r.sure(st) {
		t.Error("an old file is not sure")
	}
	late := st
	late.ctime++
	if r := (record{stat: late, at: at}); r.sure(late) {
		t.Error("a file that was just written is sure")
	}
	for _, other := range []stat{{2, 2, st.ctime, 4}, {1, 3, st.ctime, 4}, {1, 2, st.ctime - 1, 4}, {1, 2, st.ctime, 5}} {
		if r := (record{stat: st, at: at}); r.sure(other) {
			t.Errorf("%+v is taken for %+v", other, st)
		}
	}
	r := record{stat: st, at: at, sum: [32]byte{1, 31: 2}}
	if back, err := readRecord(r.bytes()); err != nil || back != r {
		t.Errorf("%+v, %v", back, err)
	}
	if _, err := readRecord(r.bytes()[1:]); err == nil {
		t.Error("a short record is read")
	}
}
