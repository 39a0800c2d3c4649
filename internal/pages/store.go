package pages

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
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

// Store is an open page store. Its methods may be called from many goroutines.
type Store struct {
	db       *boltfile.File
	path     string
	identity string
	owner    string // path of the owner note, "" when read-only
	mine     func(canon.Host) bool
	counters atomic.Pointer[counters] // as of the last commit

	outbox       atomic.Int64 // queued messages
	claimChanges atomic.Int64 // how often the data about datasets changed since it was opened
	session      string       // a random name for this opening
	digests      digests
	// Writers lock this from reading the counters to publishing the new ones.
	writing sync.Mutex
	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed by the next commit that adds to the change feed
}

// counters are stored in the file, in the transaction that changes them.
type counters struct {
	LastID, LastSeq                  uint64
	Pages, Bytes, Packed, Tombstones int64
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

// remedy says what to do about a damaged file.
func remedy(path string) string {
	return fmt.Sprintf("stop the crawl if it runs, move the file away (mv %[1]s %[1]s.damaged) and start the crawl again: its pages are fetched again", path)
}

// damaged is the error for a file that can be opened but is no page store.
func damaged(path, why string) error {
	return fmt.Errorf("open page store: %w: %w", ErrFormat, &boltfile.Damaged{Path: path, Cause: errors.New(why), Remedy: remedy(path)})
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
	s := &Store{db: db, path: path, mine: o.Mine, changed: make(chan struct{}), digests: digests{run: digestRun}}
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
	s.identity, s.session = hex.EncodeToString(f[2:]), rand.Text()[:12]
	c, err := getCounters(about)
	if err != nil {
		return err
	}
	s.counters.Store(c)
	if b := tx.Bucket(bucketOutbox); b != nil {
		s.outbox.Store(int64(b.Stats().KeyN))
	}
	return nil
}

// Identity is the name of this store. Followers of its change feed remember it, to notice that the
// file was replaced.
func (s *Store) Identity() string { return s.identity }

// Telling changes whenever the stored data about datasets does, in pages or in data.txt files. Time
// alone changes nothing. While it is equal, EachClaimed and EachFile return the same. Call it
// before reading them.
func (s *Store) Telling() string {
	return fmt.Sprintf("%s-%s-%d", s.identity, s.session, s.claimChanges.Load())
}

// Path returns the path of the file.
func (s *Store) Path() string { return s.path }

// Stats returns the counts as of the last commit. It reads nothing of the file but its size.
func (s *Store) Stats() Stats {
	c := s.counters.Load()
	st := Stats{Pages: c.Pages, Bytes: c.Bytes, Packed: c.Packed, Tombstones: c.Tombstones, LastSeq: c.LastSeq, Outbox: s.outbox.Load()}
	if info, err := os.Stat(s.path); err == nil {
		st.FileBytes = info.Size()
	}
	return st
}

// Changed returns a channel that is closed by the next commit that adds to the change feed or the
// outbox. Call it before reading them, so that no change is missed in between.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// errRecord means that a record that was written completely cannot be read.
var errRecord = errors.New("a record cannot be read")

// view runs do in a read transaction.
func (s *Store) view(do func(*bolt.Tx) error) error { return s.named(s.db.View(do)) }

// write runs do in a write transaction.
func (s *Store) write(do func(*bolt.Tx) error) error { return s.named(s.db.Update(do)) }

// named adds the file and the remedy to an error that only damage explains.
func (s *Store) named(err error) error {
	if errors.Is(err, errRecord) {
		return s.db.Blame(err)
	}
	return err
}

// Damaged is closed when the file turns out to be damaged. Damage then describes it, and what to
// do. Nothing can be read or written any more.
func (s *Store) Damaged() <-chan struct{} { return s.db.Damaged() }

// Damage returns the reason why Damaged was closed, nil before.
func (s *Store) Damage() error { return s.db.Damage() }

// writeError says what could not be written, and whether space was missing.
func (s *Store) writeError(what string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, berrors.ErrMaxSizeReached) {
		return fmt.Errorf("%s in %s: %w: %w", what, s.path, ErrNoSpace, err)
	}
	return fmt.Errorf("%s in %s: %w", what, s.path, err)
}

func (s *Store) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
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

func putCounters(about *bolt.Bucket, c *counters) error {
	var b []byte
	for _, v := range [...]uint64{c.LastID, c.LastSeq, uint64(c.Pages), uint64(c.Bytes), uint64(c.Packed), uint64(c.Tombstones)} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return about.Put(keyCounters, b)
}

func getCounters(about *bolt.Bucket) (*counters, error) {
	b := about.Get(keyCounters)
	if len(b) != 48 {
		return nil, fmt.Errorf("%w: its counters are missing", ErrFormat)
	}
	at := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	return &counters{LastID: at(0), LastSeq: at(1), Pages: int64(at(2)), Bytes: int64(at(3)), Packed: int64(at(4)),
		Tombstones: int64(at(5))}, nil
}
