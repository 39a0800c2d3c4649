package pages

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Format is the version of the layout in doc.go. A file of format 1 or 2 can be read. It becomes a
// file of format 3 when it is opened for writing: that has more buckets, and its records may have
// more fields.
const Format = 3

// Errors of Open, for callers that act on them. The returned error wraps them and says what to do.
var (
	ErrInUse  = errors.New("in use by another process")
	ErrFormat = errors.New("this version cannot read the page store")
)

// ErrNoSpace is wrapped by errors of writing if the disk, a quota or Options.MaxSize leaves no
// space. The data itself is valid.
var ErrNoSpace = errors.New("too little space")

// lockTimeout is how long Open waits until another process closes the file.
const lockTimeout = time.Second

var (
	bucketMeta    = []byte("meta")
	bucketBodies  = []byte("bodies")
	bucketChanges = []byte("changes")
	bucketDigests = []byte("digests")
	bucketExpires = []byte("expires")
	bucketAbout   = []byte("about")
	keyFormat     = []byte("format")
	keyCounters   = []byte("counters")
)

// Options of Open. The zero value is what a crawl uses.
type Options struct {
	// MaxSize is the size in bytes beyond which the file does not grow. Put then fails as on a full
	// disk, and stored pages stay. 0 means no limit.
	MaxSize int
	// Mmap is how much address space is reserved for the file when it is opened, in bytes. A file
	// that outgrows it is mapped again, and writing waits for that until no read is running. 0
	// means 256 MiB.
	Mmap int
	// Mine reports whether the pages of a host belong to this store. Messages about aliases and
	// main pages of other hosts go into the outbox. nil means that all hosts do.
	Mine func(canon.Host) bool
	// Fault is called at each commit: see boltfile.File.SetFault. It is nil except in tests.
	Fault func(point string) error
}

// Store is an open page store: it writes pages and reads them. Feed, Outbox and Datasets have the
// rest of the file. All methods may be called from many goroutines.
type Store struct {
	file
	identity string
	owner    string // path of the owner note, "" when read-only
	mine     func(canon.Host) bool

	// Writers lock this from reading the counters to publishing the new ones.
	writing  sync.Mutex
	counters atomic.Pointer[counters] // as of the last commit
	digests  digests
	feed     *Feed
	outbox   *Outbox
	datasets *Datasets
}

// Stats are the counts and sizes of a store.
type Stats struct {
	Pages      int64  // stored
	Bytes      int64  // of them, decoded
	Packed     int64  // of them, as stored
	Tombstones int64  // URLs of pages that were removed, may not be stored, or are aliases
	Outbox     int64  // queued messages
	LastSeq    uint64 // the latest number in the change feed
	FileBytes  int64
}

// Open opens or creates the page store at path for writing. Its directory must exist. Only one
// process can open it: the error wraps ErrInUse and names the other process. It wraps ErrFormat if
// the file has another format.
func Open(path string, o Options) (*Store, error) { return open(path, o, false) }

// OpenReadOnly opens an existing page store for reading, also one that a killed process left.
// Several readers may have a file open, but not while a writer has it open. It writes nothing.
func OpenReadOnly(path string) (*Store, error) {
	if info, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("open page store: %w", err)
	} else if info.Size() == 0 {
		return nil, damaged(path, "it is empty")
	}
	return open(path, Options{}, true)
}

func open(path string, o Options, readOnly bool) (*Store, error) {
	if o.Mmap == 0 {
		o.Mmap = 256 << 20
	}
	db, err := boltfile.Open(path, bolt.Options{
		Timeout:  lockTimeout,
		ReadOnly: readOnly,
		// Pages of the file are freed only if a page is replaced, so the free list is short and
		// costs little to write (m: no difference in Put). Without it, every start would read the
		// whole file.
		FreelistType:    bolt.FreelistMapType,
		InitialMmapSize: o.Mmap,
		MaxSize:         o.MaxSize,
		NoStatistics:    true,
	}, remedy(path))
	switch {
	case errors.Is(err, berrors.ErrTimeout):
		return nil, fmt.Errorf("open page store %s: %w: %s", path, ErrInUse, readOwner(path))
	case boltfile.IsDamaged(err):
		return nil, fmt.Errorf("open page store: %w: %w", ErrFormat, err)
	case err != nil:
		return nil, fmt.Errorf("open page store: %w", err)
	}
	db.SetFault(o.Fault)
	s := &Store{file: file{db, path}, mine: o.Mine, digests: digests{run: digestRun}}
	s.feed = &Feed{file: &s.file, counters: &s.counters}
	s.outbox, s.datasets = &Outbox{store: s}, &Datasets{store: s, session: rand.Text()[:12]}
	if s.mine == nil {
		s.mine = func(canon.Host) bool { return true }
	}
	if !readOnly {
		err = db.Update(initialise)
	}
	if err == nil {
		err = s.named(db.View(s.load))
	}
	if err != nil {
		db.Close()
		if boltfile.IsDamaged(err) { // which names the file
			return nil, err
		}
		return nil, fmt.Errorf("open page store %s: %w", path, err)
	}
	if !readOnly {
		s.owner = writeOwner(path)
	}
	return s, nil
}

// initialise gives a new file its buckets and its identity, and a file of an older format the
// missing buckets. It does not change files of newer formats.
func initialise(tx *bolt.Tx) error {
	var format []byte
	if about := tx.Bucket(bucketAbout); about != nil {
		format = bytes.Clone(about.Get(keyFormat))
	}
	if format != nil && (len(format) != 18 || format[0] == 0 || format[0] > Format) {
		return nil
	}
	for _, name := range [][]byte{bucketMeta, bucketBodies, bucketChanges, bucketDigests, bucketExpires, bucketAbout, bucketClaims, bucketParts,
		bucketAliases, bucketOutbox, bucketForgotten} {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return err
		}
	}
	about := tx.Bucket(bucketAbout)
	if format != nil {
		if format[0] == Format {
			return nil
		}
		format[0] = Format
		return about.Put(keyFormat, format)
	}
	if err := identify(about); err != nil {
		return err
	}
	return putCounters(about, &counters{})
}

// load checks the format and reads identity and counters.
func (s *Store) load(tx *bolt.Tx) error {
	about := tx.Bucket(bucketAbout)
	if about == nil {
		return damaged(s.path, "it is a bbolt file of another program")
	}
	f := about.Get(keyFormat)
	switch {
	case len(f) != 18:
		return damaged(s.path, "it has no format number")
	case f[0] == 0 || f[0] > Format:
		return fmt.Errorf("%w: the format is %d, but this version knows 1 to %d: use the version that wrote it, or %s", ErrFormat, f[0], Format, remedy(s.path))
	case f[1] < canon.OldestVersion || f[1] > canon.Version:
		return fmt.Errorf("%w: its URLs have the canonical form %d, but this version uses %d: %s", ErrFormat, f[1], canon.Version, remedy(s.path))
	}
	s.identity = hex.EncodeToString(f[2:])
	c, err := getCounters(about)
	if err != nil {
		return err
	}
	s.counters.Store(c)
	s.outbox.load(tx)
	return nil
}

// Identity is the name of this store. Followers of its change feed remember it, to notice that the
// file was replaced.
func (s *Store) Identity() string { return s.identity }

// Feed returns the change feed, which search and other followers read.
func (s *Store) Feed() *Feed { return s.feed }

// Outbox returns the queued messages to other shards and to the frontier.
func (s *Store) Outbox() *Outbox { return s.outbox }

// Datasets returns what stored documents state about datasets.
func (s *Store) Datasets() *Datasets { return s.datasets }

// Stats returns the counts as of the last commit. It reads nothing of the file but its size.
func (s *Store) Stats() Stats {
	c := s.counters.Load()
	st := Stats{Pages: c.Pages, Bytes: c.Bytes, Packed: c.Packed, Tombstones: c.Tombstones, LastSeq: c.LastSeq, Outbox: s.outbox.pending.Load()}
	if info, err := os.Stat(s.path); err == nil {
		st.FileBytes = info.Size()
	}
	return st
}

// Close waits for running transactions and closes the file.
func (s *Store) Close() error {
	if s.owner != "" {
		// This happens while the file is still locked. Otherwise it could remove the note of the
		// next process.
		os.Remove(s.owner)
	}
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close page store %s: %w", filepath.Base(s.path), err)
	}
	return nil
}
