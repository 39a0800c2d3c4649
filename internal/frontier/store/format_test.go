package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Files whose URLs were spelled by an earlier version of the canonicaliser open as before, and are
// then files of this version. Files of a later version are refused.
func TestFormatOfOtherCanonicalisers(t *testing.T) {
	for version := canon.OldestVersion - 1; version <= canon.Version+1; version++ {
		path := filepath.Join(t.TempDir(), "frontier.db")
		db, err := bolt.Open(path, 0o600, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists(BucketMeta)
			if err != nil {
				return err
			}
			if err := b.Put(keyFormat, fmt.Appendf(nil, "frontier %d canon %d", formatVersion, version)); err != nil {
				return err
			}
			return initFormat(tx, path)
		})
		known := version >= canon.OldestVersion && version <= canon.Version
		if known && err != nil || !known && !errors.Is(err, ErrFormat) {
			t.Errorf("canon %d: %v", version, err)
		}
		if known {
			if err := db.View(func(tx *bolt.Tx) error { return CheckFormat(tx, path) }); err != nil {
				t.Errorf("canon %d, once opened: %v", version, err)
			}
		}
		db.Close()
	}
}
