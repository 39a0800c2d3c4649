package search

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// format numbers everything a segment depends on: its layout, how words are made, what of a page
// is indexed. Another one means the file is filled again.
const format = "5"

// The buckets of the file.
var (
	bucketAbout = []byte("about") // keyFormat, keyStore, keyCursor, keyMark
	// number, eight bytes → a bucket of its own with the segment.Segment under keyRaw. In one
	// bucket up to four would share a page of bbolt's, and be written again with each that comes or
	// goes.
	bucketSegments = []byte("segments")
	bucketDeleted  = []byte("deleted") // number → which pages of the segment are gone, a bit each
)

var (
	keyFormat = []byte("format")
	keyStore  = []byte("store")  // identity of the page store
	keyCursor = []byte("cursor") // how far its journal was read
	keyRaw    = []byte("raw")
	keyMark   = []byte("mark") // Options.Mark of when it was made
)

// errStale says that a file must be filled again.
var errStale = errors.New("search: the index is missing, is damaged, has another format or belongs to another page store")

// lockTimeout is how long to wait for a file that another process is about to let go of.
const lockTimeout = 2 * time.Second

const remedy = "rebuild the search index with: curtsy reindex"

// sqliteMagic begins the files of format 1.
const sqliteMagic = "SQLite format 3\x00"

// file is an open index file.
type file struct {
	*boltfile.File
	mark  string
	shop  workshop
	users sync.WaitGroup // who reads it; begins to grow only while Index.mu is held
}

// use is the file as it is to be read now, nil when there is none. Whoever gets it calls
// users.Done.
func (x *Index) use() *file {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		x.db.users.Add(1)
	}
	return x.db
}

// view runs do on the segments of the file. Without a file there is nothing to do.
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

// empty reports whether there is no file to be read.
func (x *Index) empty() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.db == nil
}

// openFile opens the file, for writing also one that is not there. What is written to a scratch
// file need not outlive a crash. errStale: it must be made anew.
func openFile(path string, readOnly, scratch bool) (*file, error) {
	if f, err := os.Open(path); err == nil {
		head := make([]byte, len(sqliteMagic))
		_, err := io.ReadFull(f, head)
		f.Close()
		if err == io.EOF {
			// bbolt would take it for a file that it has just made.
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

// growth is by how many bytes a file grows at least; bbolt's 16 MiB is much for a shard of a small
// crawl.
const growth = 1 << 20

// create gives a new file its buckets.
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

// Remove deletes the index file at path with what belongs to it: the next Open fills a new one.
// Nobody may have it open.
func Remove(path string) error {
	// Format 1 had a log and an index of that beside it.
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
