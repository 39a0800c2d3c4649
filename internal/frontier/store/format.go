package store

import (
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/pkg/canon"
)

// formatVersion is the layout of frontier-<shard>.db, which is described below. A file of version 1
// is upgraded when it is opened (older.go). A file of version 2 has no evicted hosts and is
// otherwise the same as one of version 3. Files of other versions are refused.
const formatVersion = 3

// oldestFormat is the oldest version that can be upgraded.
const oldestFormat = 1

// ErrFormat says that a file was written by another version of Curtsy.
var ErrFormat = errors.New("the format is different")

var keyFormat = []byte("format")

// CheckFormat refuses a file of another format with ErrFormat.
func CheckFormat(tx *bolt.Tx, path string) error {
	b := tx.Bucket(BucketMeta)
	if b == nil {
		return fmt.Errorf("open %s: not a frontier file: %w", path, ErrFormat)
	}
	var format, version int
	if _, err := fmt.Sscanf(string(b.Get(keyFormat)), "frontier %d canon %d", &format, &version); err != nil ||
		format < oldestFormat || format > formatVersion || version < canon.OldestVersion || version > canon.Version {
		return fmt.Errorf("open %s: its format is %q, but this program writes \"frontier %d canon %d\": use the version that wrote it, or start again with another --dir: %w",
			path, b.Get(keyFormat), formatVersion, canon.Version, ErrFormat)
	}
	return nil
}

func initFormat(tx *bolt.Tx, path string) error {
	if tx.Bucket(BucketMeta) != nil {
		if err := CheckFormat(tx, path); err != nil {
			return err
		}
	}
	for _, name := range allBuckets {
		if _, err := tx.CreateBucketIfNotExists(name); err != nil {
			return fmt.Errorf("create %s: %w", path, err)
		}
	}
	return putFormat(tx)
}

func putFormat(tx *bolt.Tx) error {
	return tx.Bucket(BucketMeta).Put(keyFormat, fmt.Appendf(nil, "frontier %d canon %d", formatVersion, canon.Version))
}
