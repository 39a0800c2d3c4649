package store

import (
	"encoding/binary"
	"fmt"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

// TestUpgrade opens a file of version 1: the records are in blocks afterwards, and the old buckets
// are gone. A second opening changes nothing.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	const hosts, urls = 3, 40
	path := testPath(t)
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
		for id := range HostID(hosts) {
			put(oldSleepers, (id + 1).Append(nil), []byte{byte(id)})
			for n := range uint64(urls) {
				put(oldURLs, URLKey(nil, id+1, n), []byte("record"))
				put(oldQueue, QueueKey(nil, id+1, 0, 1, 0, n), nil)
				put(oldSeen, binary.BigEndian.AppendUint64((id+1).Append(nil), 1000+n), binary.AppendUvarint(nil, n))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		f := testFile(t, path, Hooks{})
		for id := range HostID(hosts) {
			if v := f.Tx.Bucket(BucketBlocks).Get(RecordKey(id + 1)); len(v) != 1 || v[0] != byte(id) {
				t.Errorf("host %d: record %x", id+1, v)
			}
			for n := range uint64(urls) {
				if v := f.Records().Get(URLKey(nil, id+1, n)); string(v) != "record" {
					t.Errorf("host %d, URL %d: record %q", id+1, n, v)
				}
				if f.Ready().Get(QueueKey(nil, id+1, 0, 1, 0, n)) == nil {
					t.Errorf("host %d, URL %d: not queued", id+1, n)
				}
				seen := false
				f.Known().Each(uint32(id+1), 1000+n, func(order uint64) bool { seen = order == n; return !seen })
				if !seen {
					t.Errorf("host %d, URL %d: not seen", id+1, n)
				}
			}
		}
		if f.Tx.Bucket(oldURLs) != nil || f.Tx.Bucket(oldSleepers) != nil {
			t.Error("old buckets are left")
		}
		crash(t, f)
	}
}
