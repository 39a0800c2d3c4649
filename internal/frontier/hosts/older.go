package hosts

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// A file of version 1 has separate records for what is stored in blocks since version 2: see
// blocks.go.
var (
	oldSeen  = []byte("seen")  // host id, hash of the URL (, probe) → order
	oldURLs  = []byte("urls")  // host id, order → URL record
	oldQueue = []byte("queue") // host id, origin index, depth, order → nothing
	// host id → record of a host that was never visited; files of still older versions have none
	oldSleepers = []byte("sleepers")
)

// UpToDateSome is the number of records that are upgraded in one transaction. Tests reduce it.
var UpToDateSome = 50_000

// bringUpToDate upgrades a file of version 1 to version 2. If it is killed, the next call repeats
// its work, because the old buckets and the version number are changed last.
func bringUpToDate(db *boltfile.File, path string) error {
	var old bool
	err := db.View(func(tx *bolt.Tx) error {
		old = tx.Bucket(oldURLs) != nil && tx.Bucket(BucketMeta) != nil
		if !old {
			return nil
		}
		return CheckFormat(tx, path)
	})
	if err != nil || !old {
		return err
	}
	err = db.Update(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketBlocks) != nil {
			if err := tx.DeleteBucket(bucketBlocks); err != nil {
				return err
			}
		}
		_, err := tx.CreateBucket(bucketBlocks)
		return err
	})
	if err != nil {
		return fmt.Errorf("upgrade %s: %w", path, err)
	}
	for _, b := range []struct {
		old  []byte
		take func(tx *bolt.Tx) (take func(k, v []byte) error, flush func() error)
	}{
		{oldURLs, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
			m := Records(tx)
			return m.Put, m.Flush
		}},
		{oldQueue, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
			m := ready(tx)
			return m.Put, m.Flush
		}},
		{oldSleepers, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
			b := tx.Bucket(bucketBlocks)
			return func(k, v []byte) error { return b.Put(recordKey(KeyHost(k)), v) }, func() error { return nil }
		}},
		{oldSeen, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
			s := known(tx)
			return func(k, v []byte) error {
				order, n := binary.Uvarint(v)
				if len(k) < 12 || n <= 0 {
					return fmt.Errorf("seen %x: %w", k, ErrRecord)
				}
				return s.Add(uint32(KeyHost(k)), binary.BigEndian.Uint64(k[4:]), order)
			}, s.Flush
		}},
	} {
		var from []byte
		for more := true; more; {
			err := db.Update(func(tx *bolt.Tx) error {
				if tx.Bucket(b.old) == nil {
					more = false
					return nil
				}
				take, flush := b.take(tx)
				c := tx.Bucket(b.old).Cursor()
				k, v := c.Seek(from)
				for n := 0; k != nil && n < UpToDateSome; k, v = c.Next() {
					if err := take(k, v); err != nil {
						return err
					}
					n++
				}
				from, more = bytes.Clone(k), k != nil
				return flush()
			})
			if err != nil {
				return fmt.Errorf("upgrade %s: %w", path, err)
			}
		}
	}
	return db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{oldSeen, oldURLs, oldQueue, oldSleepers} {
			if tx.Bucket(name) == nil {
				continue
			}
			if err := tx.DeleteBucket(name); err != nil {
				return fmt.Errorf("upgrade %s: %w", path, err)
			}
		}
		return putFormat(tx)
	})
}
