package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/boltfile"
	"github.com/curtsy/curtsy/internal/disk"
	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

// format identifies everything on which a segment depends: its layout, how text is divided into
// words, and which parts of a page are indexed. A file of another format is filled again.
const format = "6"

// The buckets of the file.
var (
	bucketAbout = []byte("about") // keyFormat, keyStore, keyCursor, keyMark
	// number, eight bytes → a bucket with the segment.Segment under keyRaw. In a common bucket, up
	// to four segments would share a bbolt page and be rewritten whenever one is added or removed.
	bucketSegments = []byte("segments")
	bucketDeleted  = []byte("deleted") // number → bitmap of the segment's deleted pages
)

var (
	keyFormat = []byte("format")
	keyStore  = []byte("store")  // identity of the page store
	keyCursor = []byte("cursor") // position in its change feed up to which it was read
	keyRaw    = []byte("raw")
	keyMark   = []byte("mark") // Options.Mark when the file was made
)

// errStale means that a file must be filled again.
var errStale = errors.New("search: the index is missing, is damaged, has another format or belongs to another page store")

// lockTimeout is how long to wait for a file that another process is about to close.
const lockTimeout = 2 * time.Second

const remedy = "rebuild the search index with: curtsy reindex"

// sqliteMagic is the beginning of files of format 1.
const sqliteMagic = "SQLite format 3\x00"

// file is an open index file.
type file struct {
	*boltfile.File
	mark  string
	shop  workshop
	users sync.WaitGroup // its readers; the count may only leave zero while Index.mu is locked
}

// use returns the current file for reading, nil when there is none. The caller must call users.Done
// afterwards.
func (x *Index) use() *file {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		x.db.users.Add(1)
	}
	return x.db
}

// view calls do with the segments of the file. Without a file it does nothing.
func (x *Index) view(do func(v *view) error) error {
	f := x.use()
	if f == nil {
		return x.broken
	}
	defer f.users.Done()
	return f.View(func(tx *bolt.Tx) error {
		v, err := viewOf(tx)
		if err != nil {
			return err
		}
		v.worked = f.shop.of(tx.ID(), v)
		return do(v)
	})
}

// empty reports whether there is no file to read.
func (x *Index) empty() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db == nil
}

// openFile opens the file; for writing it creates a missing file. A scratch file need not survive a
// crash. The error The error errStale means that the file must be made again.
func openFile(path string, readOnly, scratch bool) (*file, error) {
	if f, err := disk.OpenRegular(path, os.O_RDONLY); err == nil {
		head := make([]byte, len(sqliteMagic))
		_, err := io.ReadFull(f, head)
		f.Close()
		if err == io.EOF {
			// bbolt would treat it as a file that it has just created.
			return nil, &boltfile.Damaged{Path: path, Cause: errors.New("it is empty"), Remedy: remedy}
		}
		if err == nil && string(head) == sqliteMagic {
			return nil, fmt.Errorf("%w: the format is 1, but this version writes %s", errStale, format)
		}
	} else if readOnly {
		return nil, err
	}
	db, err := boltfile.Open(path, bolt.Options{Timeout: lockTimeout, ReadOnly: readOnly, FreelistType: bolt.FreelistMapType,
		InitialMmapSize: 256 << 20, NoStatistics: true, NoSync: scratch}, remedy)
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("open search index %s: another process uses it", path)
	}
	if err != nil {
		return nil, err
	}
	db.DB().AllocSize = growth
	return &file{File: db}, nil
}

// growth is the minimum number of bytes by which a file grows; bbolt's 16 MiB is much for a shard
// of a small crawl.
const growth = 1 << 20

// create creates the buckets of a new file.
func create(tx *bolt.Tx, store, mark string) error {
	if tx.Bucket(bucketAbout) != nil {
		return nil
	}
	for _, name := range [][]byte{bucketAbout, bucketSegments, bucketDeleted} {
		if _, err := tx.CreateBucket(name); err != nil {
			return err
		}
	}
	about := tx.Bucket(bucketAbout)
	return errors.Join(about.Put(keyFormat, []byte(format)), about.Put(keyStore, []byte(store)), about.Put(keyMark, []byte(mark)), putCursor(tx, 0))
}

func putCursor(tx *bolt.Tx, cursor uint64) error {
	return tx.Bucket(bucketAbout).Put(keyCursor, binary.BigEndian.AppendUint64(nil, cursor))
}

// check returns the cursor of a file that belongs to this version and this store, and errStale for
// any other file.
func check(tx *bolt.Tx, store string) (cursor uint64, err error) {
	about := tx.Bucket(bucketAbout)
	if about == nil || tx.Bucket(bucketSegments) == nil || tx.Bucket(bucketDeleted) == nil {
		return 0, fmt.Errorf("%w: it is a bbolt file of another program", errStale)
	}
	c := about.Get(keyCursor)
	switch {
	case string(about.Get(keyFormat)) != format:
		return 0, fmt.Errorf("%w: the format is %q, but this version writes %s", errStale, about.Get(keyFormat), format)
	case string(about.Get(keyStore)) != store:
		return 0, fmt.Errorf("%w: it was built from another page store", errStale)
	case len(c) != 8:
		return 0, fmt.Errorf("%w: cursor %x", errStale, c)
	}
	return binary.BigEndian.Uint64(c), nil
}

// Remove deletes the index file at path and files that belong to it. The next Open fills a new one.
// Nobody may have it open.
func Remove(path string) error {
	// Format 1 had a log beside the file, and an index of that log.
	return errors.Join(removeEach(path, "", "-wal", "-shm"), discard(path))
}

func removeEach(path string, suffixes ...string) error {
	for _, suffix := range suffixes {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove search index: %w", err)
		}
	}
	return nil
}

// edge is deferred wherever the index is read or written. It converts damage in the file, and a
// fault while its mapped bytes are read, to an error that says what to do.
func (x *Index) edge(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if what := recover(); what != nil {
			*err = x.advise(fmt.Errorf("%v", what))
		} else if boltfile.IsDamaged(*err) && !errors.Is(*err, errDamaged) {
			*err = x.advise(*err)
		}
	}
}

// errDamaged marks errors that already say what to do.
var errDamaged = errors.New("damaged")

func (x *Index) advise(err error) error {
	var d *boltfile.Damaged
	if errors.As(err, &d) {
		err = d.Cause
	}
	return fmt.Errorf("%s is %w (%w): rebuild the search index with: curtsy reindex --dir %s", x.path, errDamaged, err, filepath.Dir(x.path))
}
