package frontier

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// makeOld writes the content of a shard's file in the format of version 1.
func makeOld(t *testing.T, path string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		var made []*bolt.Bucket
		for _, name := range []string{"seen", "urls", "queue"} {
			b, err := tx.CreateBucket([]byte(name))
			if err != nil {
				return err
			}
			made = append(made, b)
		}
		sleepers, err := tx.CreateBucket([]byte("sleepers"))
		if err != nil {
			return err
		}
		err = tx.Bucket([]byte("blocks")).ForEach(func(k, v []byte) error {
			if k[4] != 0 {
				return nil
			}
			return sleepers.Put(k[:4], v)
		})
		if err != nil {
			return err
		}
		c := store.Records(tx).Cursor()
		for k, v := c.First(); k != nil; k, v = c.Next() {
			r, err := urls.DecodeRecord(k, v)
			if err != nil {
				return err
			}
			seen := binary.BigEndian.AppendUint64(store.KeyHost(k).Append(nil), store.SeenHash(r.URL))
			err = errors.Join(made[0].Put(seen, binary.AppendUvarint(nil, r.Order)), made[1].Put(k, v))
			if err == nil && r.Class == crawl.Queued && !r.Waiting() {
				err = made[2].Put(store.QueueKey(nil, store.KeyHost(k), r.Origin, r.Depth, r.Rank, r.Order), []byte{})
			}
			if err != nil {
				return err
			}
		}
		if err := tx.DeleteBucket([]byte("blocks")); err != nil {
			return err
		}
		return tx.Bucket(store.BucketMeta).Put([]byte("format"), fmt.Appendf(nil, "frontier 1 canon %d", canon.Version))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestOlderFile: a file of version 1 is converted when it is opened, also for reading, in as many
// steps as it takes.
func TestOlderFile(t *testing.T) {
	defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
	hosts.MaxResident = 4 // so that others are evicted
	b := newBench(t, testSpec("http://a.example/"))
	for h := range 9 {
		var list []string
		for i := range 400 {
			list = append(list, fmt.Sprintf("http://h%d.example/page-%d.html", h, i))
		}
		b.links(h, "http://a.example/", list...)
	}
	for _, v := range b.grant(3) {
		b.finish(v, crawl.Stored, "")
	}
	want := b.status()
	b.commit()
	b.crash()
	path := filepath.Join(b.dir, store.FileName(0))
	makeOld(t, path)
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if m, err := restore.Peek(path); err != nil || m.Counts.Queued != want.Queued {
		t.Errorf("its metadata: %+v, %v", m, err)
	}
	db, err := store.OpenDB(path, true)
	if err != nil {
		t.Fatal(err)
	}
	err = db.View(func(tx *bolt.Tx) error {
		n := int64(0)
		c := store.Records(tx).Cursor()
		for k, _ := c.First(); k != nil; k, _ = c.Next() {
			n++
		}
		if n != want.Discovered {
			t.Errorf("%d records, want %d", n, want.Discovered)
		}
		return nil
	})
	if err := errors.Join(err, db.Close(), os.WriteFile(path, older, 0o600)); err != nil {
		t.Fatal(err)
	}
	b.open()
	b.verify()
	if got := b.status(); got.Discovered != want.Discovered || got.Queued != want.Queued || got.Stored != want.Stored {
		t.Errorf("%+v, want %+v", got, want)
	}
	b.links(5, "http://a.example/", "http://h0.example/page-7.html", "http://h0.example/page-x.html")
	if got := b.status(); got.Discovered != want.Discovered+1 {
		t.Errorf("%d URLs, want one more than %d", got.Discovered, want.Discovered)
	}
	b.commit()
	b.crash()
	b.open()
	b.verify()
}
