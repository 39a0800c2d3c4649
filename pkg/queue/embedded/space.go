package embedded

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// MinStore is the least room a server starts with, in bytes.
	MinStore = 64 * mib

	bucketShare = 32 * mib // for key-value buckets and other small things
)

// roomFor derives MaxStore from the file system that dir is on. What the store already holds counts
// as room: the streams that hold it reserve it again.
func roomFor(dir string) (int64, error) {
	free, total, err := diskSpace(dir)
	if err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return room(free, total, dirSize(dir), dir)
}

func room(free, total, used int64, dir string) (int64, error) {
	have := free + used
	floor := max(gib, total/20)
	// The floor keeps the machine alive. On a disk that is too small for it, half of
	// what is free is used.
	store := max(have-floor, have/2)
	if store < MinStore {
		return 0, fmt.Errorf("%w: %s has %d MiB free but needs at least %d MiB: free some space, or use another data directory",
			ErrNoSpace, dir, free/mib, 2*MinStore/mib)
	}
	return store, nil
}

func dirSize(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				n += fi.Size()
			}
		}
		return nil // a file may vanish meanwhile
	})
	return n
}

// Budget divides maxStore bytes (Server.MaxStore) among the streams of a crawl with so many shards.
// It returns how many bytes each event log and the page queue may hold, so that creating all of
// them and a few small buckets never fails for lack of room. At most 256 MiB a log and 1 GiB of
// pages; at least 16 and 32 MiB while that fits, less when it does not.
func Budget(maxStore int64, shards int) (events, pages int64) {
	n := int64(max(shards, 1))
	left := maxStore - min(bucketShare, maxStore/4)
	pages = min(max(left/3, 32*mib), gib)
	events = min(max((left-pages)/n, 16*mib), 256*mib)
	if events*n+pages > left {
		pages = left / 3
		events = (left - pages) / n
	}
	return events, pages
}
