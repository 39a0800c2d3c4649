package site

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// The buckets, and the format of all of them.
var (
	bucketMeta     = []byte("meta")
	bucketFiles    = []byte("files")
	bucketLog      = []byte("log")
	bucketRobots   = []byte("robots")
	bucketProgress = []byte("progress")
	bucketSpool    = []byte("spool")
	bucketTexts    = []byte("texts")

	metaFormat = []byte("format")
	// Set when the first scan is complete: every difference after that is a change.
	metaBaseline = []byte("baseline")
)

const format = "1"

// kind is what happened to a file, as the log stores it.
type kind byte

const (
	added   kind = 'N'
	changed kind = 'C'
	deleted kind = 'D'
)

// record is the state of a file when it was last compared. The bucket files has it as recordLen
// bytes, big-endian, in this order.
type record struct {
	stat
	at  int64 // when digesting began, Unix ns
	sum [32]byte
}

// stat shows cheaply that a file may have changed. Programs cannot set the time of the last status
// change (ctime), so a copy with the same size and modification time is noticed.
type stat struct {
	size, mtime, ctime int64
	inode              uint64
}

const recordLen = 8*5 + 32

// racy is the time within which two writes may have the same ctime: the kernel's clock for files
// ticks every 1 to 10 ms.
const racy = int64(100 * time.Millisecond)

// sure reports whether a file with the stat st certainly has the content of r.
func (r record) sure(st stat) bool { return r.stat == st && st.ctime < r.at-racy }

func (r record) bytes() []byte {
	b := make([]byte, 0, recordLen)
	for _, n := range []uint64{uint64(r.size), uint64(r.mtime), uint64(r.ctime), r.inode, uint64(r.at)} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return append(b, r.sum[:]...)
}

func readRecord(b []byte) (r record, err error) {
	if len(b) != recordLen {
		return r, fmt.Errorf("a file's record has %d bytes, not %d", len(b), recordLen)
	}
	n := func(i int) uint64 { return binary.BigEndian.Uint64(b[8*i:]) }
	r.stat = stat{int64(n(0)), int64(n(1)), int64(n(2)), n(3)}
	r.at = int64(n(4))
	copy(r.sum[:], b[40:])
	return r, nil
}

// openDB opens or creates the Site's file.
func openDB(name string) (*boltfile.File, error) {
	remedy := fmt.Sprintf("stop rupd, move the file away (mv %[1]s %[1]s.damaged) and start rupd again: robots must then register again, and changes count from that time", name)
	db, err := boltfile.Open(name, bolt.Options{Timeout: time.Second, FreelistType: bolt.FreelistMapType}, remedy)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		for _, b := range [][]byte{bucketMeta, bucketFiles, bucketLog, bucketRobots, bucketProgress, bucketSpool, bucketTexts} {
			if _, err := tx.CreateBucketIfNotExists(b); err != nil {
				return err
			}
		}
		meta := tx.Bucket(bucketMeta)
		if f := meta.Get(metaFormat); f != nil && string(f) != format {
			return fmt.Errorf("its format is %s, but this program knows %s; use the program that wrote it, or start again in another directory", f, format)
		}
		return meta.Put(metaFormat, []byte(format))
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", name, err), db.Close())
	}
	return db, nil
}

// finding is what was found at one path: a file, or none.
type finding struct {
	rel    string
	file   *record // nil: gone
	silent bool    // remove it without a log line: it is no longer announced
}

// commit writes findings, and the changes that follow from them to the log, in one transaction. The
// state in that transaction decides whether a finding is new, changed or nothing, so committing a
// finding twice changes nothing the second time.
func commit(db *boltfile.File, now time.Time, found []finding) (changes []kind, err error) {
	err = db.Update(func(tx *bolt.Tx) error {
		changes = changes[:0]
		files := tx.Bucket(bucketFiles)
		baseline := tx.Bucket(bucketMeta).Get(metaBaseline) != nil
		for _, f := range found {
			what, err := apply(files, f)
			if err != nil {
				return fmt.Errorf("%s: %w", f.rel, err)
			}
			if what == 0 || !baseline || f.silent {
				continue
			}
			if err := appendLog(tx, now, what, f.rel); err != nil {
				return err
			}
			changes = append(changes, what)
		}
		return nil
	})
	return changes, err
}

// apply writes one finding to the bucket files, and returns the kind of change; 0 means none.
func apply(files *bolt.Bucket, f finding) (kind, error) {
	k := key(f.rel)
	old := files.Get(k)
	switch {
	case f.file == nil && old == nil:
		return 0, nil
	case f.file == nil:
		return deleted, files.Delete(k)
	case old == nil:
		return added, files.Put(k, f.file.bytes())
	}
	was, err := readRecord(old)
	if err != nil {
		return 0, err
	}
	if err := files.Put(k, f.file.bytes()); err != nil {
		return 0, err
	}
	if was.sum == f.file.sum {
		return 0, nil // only its time changed, or it was written again with the same content
	}
	return changed, nil
}

// child is an entry directly below a directory in the stored state: a file, or a directory that
// contains files.
type child struct {
	name string
	dir  bool
	rec  record // of a file
}

// children lists up to limit of dir's children in the order of their names, beginning after after.
// A name may occur twice, as a file and as a directory, if one replaced the other.
func children(db *boltfile.File, dir string, after *child, limit int) (list []child, err error) {
	prefix := []byte{}
	if dir != "" {
		prefix = append(key(dir), 0)
	}
	err = db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketFiles).Cursor()
		from := prefix
		if after != nil {
			end := byte(0) // the directory of the same name comes after the file
			if after.dir {
				end = 1
			}
			from = append(append(bytes.Clone(prefix), after.name...), end)
		}
		for k, v := c.Seek(from); bytes.HasPrefix(k, prefix) && k != nil && len(list) < limit; {
			name, _, deeper := bytes.Cut(k[len(prefix):], []byte{0})
			if deeper {
				list = append(list, child{name: string(name), dir: true})
				k, v = c.Seek(append(append(bytes.Clone(prefix), name...), 1))
				continue
			}
			rec, err := readRecord(v)
			if err != nil {
				return fmt.Errorf("%s: %w", unkey(k), err)
			}
			list = append(list, child{name: string(name), rec: rec})
			k, v = c.Next()
		}
		return nil
	})
	return list, err
}

// below lists up to limit stored files at any depth below dir.
func below(db *boltfile.File, dir string, limit int) (rels []string, err error) {
	prefix := append(key(dir), 0)
	if dir == "" {
		prefix = nil
	}
	err = db.View(func(tx *bolt.Tx) error {
		c := tx.Bucket(bucketFiles).Cursor()
		for k, _ := c.Seek(prefix); k != nil && bytes.HasPrefix(k, prefix) && len(rels) < limit; k, _ = c.Next() {
			rels = append(rels, unkey(k))
		}
		return nil
	})
	return rels, err
}
