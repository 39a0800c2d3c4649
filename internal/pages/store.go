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

// Format numbers the layout described in doc.go. A file of format 1 or 2 is read as it is, and
// becomes one of format 3 when it is opened for writing: that has more buckets, and records may say
// more.
const Format = 3

// Errors of Open, for callers that decide on them. What is returned wraps them and says what to do.
var (
	ErrInUse  = errors.New("in use by another process")
	ErrFormat = errors.New("this version cannot read the page store")
)

// ErrNoSpace is wrapped by errors of writing when the disk, a quota or Options.MaxSize leaves no
// room. What was to be written is all right.
var ErrNoSpace = errors.New("too little space")

// lockTimeout is how long Open waits for another process to let go of the file.
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
	// MaxSize is the size in bytes past which the file does not grow: Put then fails as on a full
	// disk and what is held stays held. 0 means no limit.
	MaxSize int
	// Mmap is how much address space is set aside for the file when it is opened. A file
	// that outgrows it is mapped anew, and writing waits for that until no read is under
	// way. 0 means 256 MiB.
	Mmap int
	// Mine reports whether the pages of a host belong to this store. Letters about aliases and main
	// pages of other hosts go into the outbox. nil: all hosts do.
	Mine func(canon.Host) bool
	// Fault is called at each commit: see boltfile.File.SetFault. nil, but for tests.
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

	outbox       atomic.Int64 // letters in it
	claimChanges atomic.Int64 // changes since it was opened of what tells of datasets
	session      string       // a random name for the time since then
	digests      digests
	// held by writers from reading the counters to publishing the new ones
	writing sync.Mutex
	mu      sync.Mutex    // guards changed
	changed chan struct{} // closed by the next commit that adds to the journal
}

// counters are kept in the file, in the transaction that changes them.
type counters struct {
	LastID, LastSeq                  uint64
	Pages, Bytes, Packed, Tombstones int64
}

// Stats says what a store holds.
type Stats struct {
	Pages      int64  // held
	Bytes      int64  // of them, decoded
	Packed     int64  // of them, as stored
	Tombstones int64  // URLs known to be gone, not to be kept, or aliases
	Outbox     int64  // letters not sent yet
	LastSeq    uint64 // latest number of the change journal
	FileBytes  int64
}

// Open opens or creates the page store at path, for writing; its directory must exist. One
// process can hold it: the error wraps ErrInUse when another does, and names it; ErrFormat when
// the file is of another format.
func Open(path string, o Options) (*Store, error) { return open(path, o, false) }

// OpenReadOnly opens an existing page store for reading, also one left by a process that was
// killed. Several readers may have a file open, but not while a writer has it. It writes nothing.
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

// damaged is the error for a file that opens, and is no page store.
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
		// Pages are freed only where a page is replaced, so the free list is short and
		// writing it costs little (m: no difference in Put). Without it, every start would
		// walk the whole file.
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
// buckets it lacks. It leaves files of newer formats alone.
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

// Identity names this store. Followers of its journal remember it, to notice when
// the file was replaced.
func (s *Store) Identity() string { return s.identity }

// Telling changes whenever what is stored of datasets does, in pages or in data.txt files; time
// that goes by changes nothing. While it is the same, so is what EachClaimed and EachFile go over.
// Take it before reading them.
func (s *Store) Telling() string {
	return fmt.Sprintf("%s-%s-%d", s.identity, s.session, s.claimChanges.Load())
}

// Path is the file's path.
func (s *Store) Path() string { return s.path }

// Stats returns what the store holds as of the last commit. It costs no read of
// the file but its size.
func (s *Store) Stats() Stats {
	c := s.counters.Load()
	st := Stats{Pages: c.Pages, Bytes: c.Bytes, Packed: c.Packed, Tombstones: c.Tombstones, LastSeq: c.LastSeq, Outbox: s.outbox.Load()}
	if info, err := os.Stat(s.path); err == nil {
		st.FileBytes = info.Size()
	}
	return st
}

// Changed returns a channel that is closed by the next commit that adds to the change journal or
// the outbox. Take it before reading them, so that no change is missed in between.
func (s *Store) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// errRecord: a record that was written whole cannot be read.
var errRecord = errors.New("a record cannot be read")

// view runs do in a reading transaction.
func (s *Store) view(do func(*bolt.Tx) error) error { return s.named(s.db.View(do)) }

// write runs do in a writing transaction.
func (s *Store) write(do func(*bolt.Tx) error) error { return s.named(s.db.Update(do)) }

// named adds the file and the way out to an error that only damage explains.
func (s *Store) named(err error) error {
	if errors.Is(err, errRecord) {
		return s.db.Blame(err)
	}
	return err
}

// Damaged is closed once the file turns out to be damaged; Damage then says how, and what to do.
// Nothing can be read or written any more.
func (s *Store) Damaged() <-chan struct{} { return s.db.Damaged() }

// Damage is what made Damaged close, nil before.
func (s *Store) Damage() error { return s.db.Damage() }

// writeError says what could not be written, and whether for want of room.
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

// Close waits for transactions under way and lets go of the file.
func (s *Store) Close() error {
	if s.owner != "" {
		// while the file is still ours, or we might remove the note of the next process
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
