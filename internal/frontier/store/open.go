package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// FileName is the frontier's file of one shard.
func FileName(shard int) string { return fmt.Sprintf("frontier-%d.db", shard) }

// OpenDB opens or creates a shard's file. It waits at most a second for another process to close
// it.
func OpenDB(path string, readOnly bool) (*boltfile.File, error) {
	db, err := OpenBolt(path, readOnly)
	if err != nil {
		return nil, err
	}
	if readOnly {
		old := false
		err = db.View(func(tx *bolt.Tx) error {
			old = tx.Bucket(BucketBlocks) == nil || tx.Bucket(oldURLs) != nil
			return CheckFormat(tx, path)
		})
		// Nobody has it open: a file is only opened for reading when no crawl runs
		if err == nil && old {
			return reopen(db, path)
		}
	} else if err = bringUpToDate(db, path, upgradeStretch); err == nil {
		err = db.Update(func(tx *bolt.Tx) error { return initFormat(tx, path) })
	}
	if err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// reopen upgrades a file that was opened for reading, and opens it for reading again.
func reopen(db *boltfile.File, path string) (*boltfile.File, error) {
	db.Close()
	db, err := OpenDB(path, false)
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("an older version wrote %s, and upgrading it needs permission to write: "+
			"run `curtsy status --dir %s` as the user who owns it: %w", path, filepath.Dir(path), err)
	}
	return OpenDB(path, true)
}

// mapRoom is the size of the initial mapping of a file. A file that outgrows its mapping makes its
// writer wait while a checkpoint is being read. The mapping costs address space, not memory; on
// Windows it would cost disk space.
func mapRoom() int {
	if strconv.IntSize < 64 || runtime.GOOS == "windows" {
		return 0
	}
	return 4 << 30
}

// OpenBolt opens a bbolt file with the options of a shard. It waits at most a second for its lock.
func OpenBolt(path string, readOnly bool) (*boltfile.File, error) {
	o := bolt.Options{
		Timeout:  time.Second,
		ReadOnly: readOnly,
		// Few pages are free, so the first one that fits is found quickly
		FreelistType:   bolt.FreelistArrayType,
		NoFreelistSync: true, // it is rebuilt on opening; commits write less
	}
	if !readOnly {
		o.InitialMmapSize = mapRoom()
	}
	remedy := fmt.Sprintf("stop the crawl if it runs, move the file away (mv %[1]s %[1]s.damaged) and start the crawl again with its seeds: "+
		"the shard then starts empty and fetches its pages again. A frontier daemon restores the file by itself, from the last checkpoint and the log", path)
	db, err := boltfile.Open(path, o, remedy)
	if errors.Is(err, syscall.ENOMEM) { // there is not enough address space
		o.InitialMmapSize = 0
		db, err = boltfile.Open(path, o, remedy)
	}
	if errors.Is(err, berrors.ErrTimeout) {
		return nil, fmt.Errorf("open %s: another process uses it (the lock file beside it has the pid): stop it with `curtsy stop`, or query it with --nats: %w", path, err)
	}
	if boltfile.IsDamaged(err) {
		return nil, err // the error names the file
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	return db, nil
}
