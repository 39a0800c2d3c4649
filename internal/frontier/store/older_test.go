package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

// The file of version 1 that the tests upgrade.
const oldHosts, oldURLsEach = 3, 40

// version1 makes such a file.
func version1(t *testing.T) (path string) {
	t.Helper()
	path = testPath(t)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bolt.Tx) error {
		b := map[string]*bolt.Bucket{}
		for _, name := range [][]byte{BucketMeta, oldSeen, oldURLs, oldQueue, oldSleepers} {
			var err error
			if b[string(name)], err = tx.CreateBucket(name); err != nil {
				return err
			}
		}
		put := func(bucket, k, v []byte) {
			if err := b[string(bucket)].Put(k, v); err != nil {
				t.Fatal(err)
			}
		}
		put(BucketMeta, keyFormat, fmt.Appendf(nil, "frontier 1 canon %d", canon.Version))
		for id := range HostID(oldHosts) {
			put(oldSleepers, (id + 1).Append(nil), []byte{byte(id)})
			for n := range uint64(oldURLsEach) {
				put(oldURLs, URLKey(nil, id+1, n), []byte("record"))
				put(oldQueue, QueueKey(nil, id+1, 0, 1, 0, n), nil)
				put(oldSeen, binary.BigEndian.AppendUint64((id+1).Append(nil), 1000+n), binary.AppendUvarint(nil, n))
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// isUpgraded checks that all of it is in blocks, and that the old buckets are gone.
func isUpgraded(t *testing.T, path string) {
	t.Helper()
	f := testFile(t, path, Hooks{})
	defer crash(t, f)
	for id := HostID(1); id <= oldHosts; id++ {
		if v := f.Tx.Bucket(BucketBlocks).Get(RecordKey(id)); len(v) != 1 || v[0] != byte(id-1) {
			t.Errorf("host %d: record %x", id, v)
		}
		for n := range uint64(oldURLsEach) {
			if v := f.Records().Get(URLKey(nil, id, n)); string(v) != "record" {
				t.Errorf("host %d, URL %d: record %q", id, n, v)
			}
			if f.Ready().Get(QueueKey(nil, id, 0, 1, 0, n)) == nil {
				t.Errorf("host %d, URL %d: not queued", id, n)
			}
			seen := false
			f.Known().Each(uint32(id), 1000+n, func(order uint64) bool { seen = order == n; return !seen })
			if !seen {
				t.Errorf("host %d, URL %d: not seen", id, n)
			}
		}
	}
	if f.Tx.Bucket(oldURLs) != nil || f.Tx.Bucket(oldSleepers) != nil {
		t.Error("old buckets are left")
	}
}

// TestUpgrade opens a file of version 1, for writing and for reading. A second opening changes
// nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	path := version1(t)
	isUpgraded(t, path)
	isUpgraded(t, path)

	path = version1(t)
	db, err := OpenDB(path, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	isUpgraded(t, path)
}

// TestUpgradeInStretches: the records of a large file are upgraded in many transactions. If one of
// them was the last before a kill, the upgrade begins again.
func TestUpgradeInStretches(t *testing.T) {
	t.Parallel()
	for _, stretch := range []int{1, 7, oldURLsEach * oldHosts} {
		path := version1(t)
		db, err := OpenBolt(path, false)
		if err != nil {
			t.Fatal(err)
		}
		// It is killed after the first kind of records.
		if err := errors.Join(db.Update(emptyBlocks), toBlocks[0].move(db, stretch), db.Close()); err != nil {
			t.Fatal(err)
		}
		if db, err = OpenBolt(path, false); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(bringUpToDate(db, path, stretch), db.Close()); err != nil {
			t.Fatal(err)
		}
		isUpgraded(t, path)
	}
}
