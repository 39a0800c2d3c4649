package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// A file of version 1 has separate records for what is stored in blocks since version 2: see
// transaction.go.
var (
	oldSeen  = []byte("seen")  // host id, hash of the URL (, probe) → order
	oldURLs  = []byte("urls")  // host id, order → URL record
	oldQueue = []byte("queue") // host id, origin index, depth, order → nothing
	// host id → record of a host that was never visited; files of still older versions have none
	oldSleepers = []byte("sleepers")
)

// upgradeStretch is the number of records that are upgraded in one transaction.
const upgradeStretch = 50_000

// bringUpToDate upgrades a file of version 1 to version 2, stretch records in each transaction. If
// it is killed, the next call repeats its work, because the old buckets and the version number are
// changed last.
func bringUpToDate(db *boltfile.File, path string, stretch int) error {
	old, err := isOld(db, path)
	if err != nil || !old {
		return err
	}
	if err := db.Update(emptyBlocks); err != nil {
		return fmt.Errorf("upgrade %s: %w", path, err)
	}
	for _, b := range toBlocks {
		if err := b.move(db, stretch); err != nil {
			return fmt.Errorf("upgrade %s: %w", path, err)
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

// isOld reports whether a file is of version 1.
func isOld(db *boltfile.File, path string) (old bool, err error) {
	err = db.View(func(tx *bolt.Tx) error {
		old = tx.Bucket(oldURLs) != nil && tx.Bucket(BucketMeta) != nil
		if !old {
			return nil
		}
		return CheckFormat(tx, path)
	})
	return old, err
}

// emptyBlocks makes the bucket of blocks empty, which a killed upgrade may have begun to fill.
func emptyBlocks(tx *bolt.Tx) error {
	if tx.Bucket(BucketBlocks) != nil {
		if err := tx.DeleteBucket(BucketBlocks); err != nil {
			return err
		}
	}
	_, err := tx.CreateBucket(BucketBlocks)
	return err
}

// oldBucket is a bucket of version 1 whose records are stored in blocks now.
type oldBucket struct {
	name []byte
	// take returns what puts a record into the blocks, and what ends the transaction's part.
	take func(tx *bolt.Tx) (put func(k, v []byte) error, flush func() error)
}

// toBlocks are those buckets, in the order in which they are moved.
var toBlocks = []oldBucket{
	{oldURLs, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
		m := Records(tx)
		return m.Put, m.Flush
	}},
	{oldQueue, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
		m := readyIn(tx)
		return m.Put, m.Flush
	}},
	{oldSleepers, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
		b := tx.Bucket(BucketBlocks)
		return func(k, v []byte) error { return b.Put(RecordKey(KeyHost(k)), v) }, func() error { return nil }
	}},
	{oldSeen, func(tx *bolt.Tx) (func(k, v []byte) error, func() error) {
		s := knownIn(tx)
		return func(k, v []byte) error {
			order, n := binary.Uvarint(v)
			if len(k) < 12 || n <= 0 {
				return fmt.Errorf("seen %x: %w", k, ErrRecord)
			}
			return s.Add(uint32(KeyHost(k)), binary.BigEndian.Uint64(k[4:]), order)
		}, s.Flush
	}},
}

// move puts the records of a bucket into the blocks, stretch of them in each transaction.
func (b *oldBucket) move(db *boltfile.File, stretch int) error {
	var from []byte
	for more := true; more; {
		err := db.Update(func(tx *bolt.Tx) error {
			if tx.Bucket(b.name) == nil {
				more = false
				return nil
			}
			put, flush := b.take(tx)
			c := tx.Bucket(b.name).Cursor()
			k, v := c.Seek(from)
			for n := 0; k != nil && n < stretch; k, v = c.Next() {
				if err := put(k, v); err != nil {
					return err
				}
				n++
			}
			from, more = bytes.Clone(k), k != nil
			return flush()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
