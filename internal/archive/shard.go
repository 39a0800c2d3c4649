package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// DefaultMaxFile is the largest size of a file by default. A batch with one capture may exceed it.
const DefaultMaxFile = 1 << 30

// ErrWrite is wrapped by errors of writing to the archive. The data to be written is valid.
var ErrWrite = errors.New("the archive cannot be written")

// Options are the options of a shard's archive.
type Options struct {
	Crawl   string      // name of the crawl
	Info    [][2]string // of the warcinfo records, in addition to format and software
	MaxFile int64       // bytes; 0: DefaultMaxFile
	Log     *slog.Logger
	// Forgotten returns a function that reports which URLs are forgotten: links to them are left
	// out of the metadata of other pages. If it or its result is nil, nothing is forgotten.
	Forgotten func() func(canon.URL) bool
}

// Shard is the archive of one shard: the files it writes, and those it wrote. Put, SetDir and Close
// lock a mutex, so only one of them runs at a time; Tidy and Forget may run at the same time.
type Shard struct {
	store *pages.Store
	o     Options
	id    string // of the store, short

	mu     sync.Mutex // guards what follows
	dir    string     // where files are written; "": nothing is archived
	st     state      // as committed
	file   *os.File   // st.Open, or nil
	lines  *os.File   // index lines of it; nil: they are read from the file when it is closed
	enc    warc.Encoder
	buf    bytes.Buffer
	body   []byte // unpacked; links likewise; text is for metadata
	links  []byte
	text   []byte
	fields []warc.Field
	broken bool // a batch failed: the files on disk are checked before the next batch

	tidying sync.Mutex    // locked while closed files are changed
	ended   chan struct{} // see Ended
}

// state is the record of a shard's store about its archive, in the transaction of the pages.
type state struct {
	Serial int      `json:"serial"`          // of the next file
	Open   *open    `json:"open,omitempty"`  // the current file
	Ended  []open   `json:"ended,omitempty"` // closed, perhaps without their final names yet
	Dirs   []string `json:"dirs,omitempty"`  // all directories in which files were ever written
	Forgot string   `json:"forgot,omitempty"`
}

// open is a file that may not have its final name yet, and its committed length.
type open struct {
	Dir    string `json:"dir"`
	Name   string `json:"name"` // when it is closed
	Info   int64  `json:"info"` // bytes of its first record
	Length int64  `json:"length"`
}

func (o *open) path() string { return filepath.Join(o.Dir, o.Name) }

// openSuffix is appended to the name of a file that is being written.
const openSuffix = ".open"

var keyState = []byte("state")

// Open opens a shard's archive in the state of its store: files that were open are cut to what was
// committed, and closed. Nothing is archived before SetDir.
func Open(store *pages.Store, o Options) (*Shard, error) {
	if o.MaxFile == 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &Shard{fields: make([]warc.Field, 0, 16), store: store, o: o, id: store.Identity()[:8], ended: make(chan struct{}, 1)}
	err := a.recover()
	if errors.Is(err, ErrWrite) {
		// Nothing is archived, and therefore nothing stored, until this succeeds.
		o.Log.Error("the archive was changed since the last run", "err", err)
		a.broken, err = true, nil
	}
	return a, err
}

// Ended receives a value when files were closed, so that Tidy can make their indexes.
func (a *Shard) Ended() <-chan struct{} { return a.ended }

// SetDir sets the directory in which files are written from now on; "" means none. The open file in
// another directory is closed. A missing directory is created with the first file.
func (a *Shard) SetDir(dir string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if dir == a.dir {
		return nil
	}
	a.dir = dir
	if err := a.end(); err != nil || dir == "" || slices.Contains(a.st.Dirs, dir) {
		return err
	}
	// No commit names this directory, but a file may have been started in it before a kill.
	if err := a.sweep(dir); err != nil {
		a.o.Log.Error("the directory of the archive cannot be read", "err", err)
		a.broken = true // the directory is checked again before anything is written there
	}
	return nil
}

// Close closes the open file and gives it its final name.
func (a *Shard) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end()
}

// end closes the open file and stores this. The caller must hold mu.
func (a *Shard) end() error {
	if a.broken {
		return a.recover()
	}
	if a.st.Open == nil {
		return nil
	}
	next := a.st
	next.Ended, next.Open = append(slices.Clone(next.Ended), *next.Open), nil
	if err := a.save(next); err != nil {
		return err
	}
	return a.finish()
}

// save stores a state without pages.
func (a *Shard) save(next state) error {
	_, err := a.store.PutAlong(nil, func(own *bolt.Bucket, _ []*pages.Page) error { return putState(own, next) })
	if err == nil {
		a.st = next
	}
	return err
}

func putState(own *bolt.Bucket, st state) error {
	text, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return own.Put(keyState, text)
}

// load reads the state from the store.
func (a *Shard) load() (err error) {
	a.st, err = stateOf(a.store)
	return err
}

// stateOf returns a store's record of its archive.
func stateOf(store *pages.Store) (st state, err error) {
	err = store.Along(func(own *bolt.Bucket) error {
		if own == nil {
			return nil
		}
		if text := own.Get(keyState); text != nil {
			return json.Unmarshal(text, &st)
		}
		return nil
	})
	return st, err
}

// recover makes the files match the state in the store, and closes them all. The caller must hold
// mu, unless nobody else has the Shard yet.
func (a *Shard) recover() error {
	a.letGo()
	if err := a.load(); err != nil {
		return err
	}
	ended := slices.Clone(a.st.Ended)
	if a.st.Open != nil {
		ended = append(ended, *a.st.Open)
	}
	for i := range ended {
		lost, err := a.cut(&ended[i])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
		if lost {
			if err := a.unrefer(); err != nil {
				return err
			}
		}
	}
	dirs := a.st.Dirs
	if a.dir != "" && !slices.Contains(dirs, a.dir) {
		dirs = append(slices.Clone(dirs), a.dir) // a commit that would have named it has failed
	}
	for _, dir := range dirs {
		if err := a.sweep(dir); err != nil {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
	}
	if a.st.Open != nil {
		next := a.st
		next.Ended, next.Open = ended, nil
		if err := a.save(next); err != nil {
			return err
		}
	}
	a.broken = false
	return a.finish()
}

// cut truncates a file to its committed length. lost means that it was shorter.
func (a *Shard) cut(o *open) (lost bool, err error) {
	path := o.path() + openSuffix
	f, err := disk.OpenRegular(path, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return false, a.cutNamed(o)
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return false, err
	case info.Size() == o.Length:
		return false, nil
	case info.Size() > o.Length:
		return false, errors.Join(f.Truncate(o.Length), f.Sync())
	}
	cut, err := mend(path, f)
	if err != nil && !errors.Is(err, warc.ErrDamaged) {
		return false, err
	}
	a.o.Log.Error("a file of the archive is shorter than before: incomplete records are removed", "file", path, "bytes", info.Size(),
		"were", o.Length, "taken", cut, "err", err)
	o.Length = info.Size() - cut
	return true, nil
}

// unrefer makes sure that no revisit refers to anything archived so far, because it is not known
// which records are lost. The next capture of each URL is therefore archived completely, once.
func (a *Shard) unrefer() error {
	for from := []byte(urlPrefix); from != nil; {
		_, err := a.store.PutAlong(nil, func(own *bolt.Bucket, _ []*pages.Page) error {
			whole := map[canon.URL]last{}
			c, n := own.Cursor(), 0
			k, v := c.Seek(from)
			for from = nil; k != nil && bytes.HasPrefix(k, []byte(urlPrefix)); k, v = c.Next() {
				if n++; n > forgetStretch {
					from = bytes.Clone(k)
					break
				}
				if l, err := parseLast(v); err == nil && l.Full != nil {
					l.Full = nil
					whole[canon.URL(k[len(urlPrefix):])] = l
				}
			}
			for u, l := range whole {
				if err := putLast(own, u, l); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cutNamed is cut for a file that has its final name already. Such a file can be longer than
// committed only if somebody has renamed it (Repair): the records after the committed length come
// again, and go into another file.
func (a *Shard) cutNamed(o *open) error {
	info, err := os.Stat(o.path())
	if errors.Is(err, fs.ErrNotExist) {
		a.o.Log.Error("a file of the archive no longer exists", "file", o.path())
		return nil
	}
	if err != nil || info.Size() <= o.Length {
		return err
	}
	if err := os.Remove(o.path() + indexSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := disk.OpenRegular(o.path(), os.O_RDWR)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(o.Length), f.Sync(), f.Close())
}

// sweep removes what a kill has left in a directory: files of this store that were started and
// never named in a commit, index lines that may be incomplete, and files that were being rewritten.
func (a *Shard) sweep(dir string) error {
	names, err := ownFiles(dir, a.id)
	if err != nil {
		return err
	}
	for _, name := range names {
		// A file that was named in a commit has a number below the next one.
		stray := strings.HasSuffix(name, ".warc.gz"+openSuffix) && serialOf(name) >= a.st.Serial
		if stray || strings.HasSuffix(name, newSuffix) || strings.HasSuffix(name, indexSuffix+openSuffix) {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// finish gives closed files their final names. The caller must hold mu.
func (a *Shard) finish() error {
	a.letGo()
	return a.giveNames()
}

// giveNames is finish if the files are closed already.
func (a *Shard) giveNames() error {
	for _, o := range a.st.Ended {
		err := os.Rename(o.path()+openSuffix, o.path())
		if err == nil {
			err = syncDir(o.Dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrWrite, err)
		}
	}
	if len(a.st.Ended) > 0 {
		select {
		case a.ended <- struct{}{}:
		default:
		}
	}
	return nil
}

// letGo closes the open files.
func (a *Shard) letGo() {
	if a.file != nil {
		a.file.Close() // everything that counts is on disk
	}
	if a.lines != nil {
		a.lines.Close()
	}
	a.file, a.lines = nil, nil
}

// Put stores a batch as pages.Store.Put does, and archives its captures in the same transaction. A
// page of crawl.KindCapture is only a capture.
func (a *Shard) Put(batch []pages.Page) (pages.Result, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	isCapture := func(p pages.Page) bool { return p.Kind == crawl.KindCapture }
	var captures []pages.Page
	if slices.ContainsFunc(batch, isCapture) {
		stored := make([]pages.Page, 0, len(batch))
		for _, p := range batch {
			if isCapture(p) {
				captures = append(captures, p)
			} else {
				stored = append(stored, p)
			}
		}
		batch = stored
	}
	any := len(captures) > 0 || slices.ContainsFunc(batch, func(p pages.Page) bool { return p.Capture != nil })
	if a.dir == "" || !any {
		return a.store.Put(batch)
	}
	if a.broken {
		if err := a.recover(); err != nil {
			return pages.Result{}, err
		}
	}
	w := writing{a: a, next: a.st}
	w.next.Ended, w.next.Dirs = nil, slices.Clone(w.next.Dirs) // those have their final names
	if w.next.Open != nil {
		o := *w.next.Open
		w.next.Open = &o
	}
	a.broken = true // until everything has succeeded
	res, err := a.store.PutAlong(batch, func(own *bolt.Bucket, counted []*pages.Page) error {
		return w.write(own, counted, captures)
	})
	for _, f := range w.ended {
		f.Close()
	}
	if err != nil {
		return res, err
	}
	a.st = w.next
	if err := a.giveNames(); err != nil {
		// The pages are stored. Before the next batch the files are checked.
		a.o.Log.Error("a file of the archive does not have its final name yet", "err", err)
		return res, nil
	}
	a.broken = false
	return res, nil
}

// serialOf returns the number in a file's name, or -1.
func serialOf(name string) int {
	parts := strings.Split(name, "-")
	if len(parts) < 2 {
		return -1
	}
	n, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return -1
	}
	return n
}

// newName returns the name of the next file.
func (w *writing) newName(now time.Time) string {
	name := fmt.Sprintf("%s-%s-%05d-%s.warc.gz", w.a.o.Crawl, warc.Stamp(now), w.next.Serial, w.a.id)
	w.next.Serial++
	return name
}

// ownFiles returns the names of a store's files in a directory, with any suffix after .warc.gz.
func ownFiles(dir, id string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && strings.Contains(e.Name(), "-"+id+".warc.gz") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// syncDir syncs the names in a directory to disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
