package embedded

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

const (
	mib = 1 << 20
	gib = 1 << 30

	// MinStore is the smallest store that a server starts with, in bytes.
	MinStore = 64 * mib

	bucketShare = 32 * mib // for key-value buckets and other small data
)

// roomFor derives MaxStore from the file system of dir. The size of the existing store counts as
// free space, because its streams reserve that space again.
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
	// The floor keeps the machine usable. If the disk is too small for the floor, half of the free
	// space is used.
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
		return nil // a file may disappear during the walk
	})
	return n
}

// Budget divides maxStore bytes (Server.MaxStore) among the streams of a crawl with the given
// number of shards. It returns the capacity of each event log and of the page queue in bytes. All
// of them and a few small buckets fit into maxStore, so creating them never fails for lack of
// space. A log gets 16 to 256 MiB and the page queue 32 MiB to 1 GiB. If maxStore is too small for
// the lower limits, they get less.
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
