package site

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"golang.org/x/sys/unix"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// batchMax is how many findings one transaction writes, and how many children of a directory are
// compared at a time.
const batchMax = 500

// errRootMoved means that the document root is no longer the same directory as at the beginning of
// the scan.
var errRootMoved = errors.New("the document root was replaced")

// errRootEmpty means that the document root is empty, but was not before.
var errRootEmpty = errors.New("the document root is empty: this looks like a file system that is not mounted, so nothing is reported as deleted; if it is meant to be empty, put a file there")

// tree compares a document root with the stored state. It commits its findings in batches. Only one
// goroutine may use it.
type tree struct {
	root  string // as configured
	names names
	db    *boltfile.File
	log   *slog.Logger
	watch func(dir string)     // is called for every directory before its names are read
	later func(rel string)     // is called for files to be compared again
	count func(changes []kind) // is called with the changes of each commit

	id    rootID
	batch []finding
}

// rootID identifies the directory of the root. A deployment may switch a link, and a file system
// may be mounted over it.
type rootID struct {
	path     string // links resolved
	dev, ino uint64
}

func identify(root string) (rootID, error) {
	path, err := filepath.EvalSymlinks(root)
	if err != nil {
		return rootID{}, err
	}
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return rootID{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return rootID{}, fmt.Errorf("%s is not a directory", root)
	}
	return rootID{path, uint64(st.Dev), st.Ino}, nil
}

// all compares the whole root. If it returns nil, the state has everything that existed when it
// began.
func (t *tree) all(ctx context.Context) error {
	id, err := identify(t.root)
	if err != nil {
		return fmt.Errorf("document root: %w", err)
	}
	t.id, t.batch = id, nil
	if err := t.dir(ctx, ""); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	return t.db.Update(func(tx *bolt.Tx) error { return tx.Bucket(bucketMeta).Put(metaBaseline, []byte("done")) })
}

// some compares single paths, including the contents of directories.
func (t *tree) some(ctx context.Context, rels []string) error {
	t.batch = nil
	for _, rel := range rels {
		if err := t.look(ctx, rel); err != nil {
			return err
		}
	}
	return t.flush()
}

func (t *tree) abs(rel string) string { return filepath.Join(t.id.path, filepath.FromSlash(rel)) }

func (t *tree) look(ctx context.Context, rel string) error {
	if !t.names.announced(rel) {
		return nil
	}
	info, err := os.Lstat(t.abs(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return errors.Join(t.found(finding{rel: rel}), t.gone(rel, false))
	case err != nil:
		t.log.Warn("cannot read the state of a file", "path", rel, "err", err)
		return nil
	case info.IsDir():
		return errors.Join(t.found(finding{rel: rel}), t.dir(ctx, rel))
	}
	if err := t.gone(rel, false); err != nil {
		return err
	}
	old, err := t.known(rel)
	if err != nil {
		return err
	}
	return t.file(ctx, rel, old)
}

// known returns the stored record of a file, or nil if there is none.
func (t *tree) known(rel string) (old *record, err error) {
	err = t.db.View(func(tx *bolt.Tx) error {
		if b := tx.Bucket(bucketFiles).Get(key(rel)); b != nil {
			r, err := readRecord(b)
			old = &r
			return err
		}
		return nil
	})
	return old, err
}

// dir compares a directory and its contents.
func (t *tree) dir(ctx context.Context, rel string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t.watch(t.abs(rel)) // before the names are read, so that no later change is missed
	entries, err := os.ReadDir(t.abs(rel))
	switch {
	case errors.Is(err, fs.ErrNotExist) && rel != "":
		return t.gone(rel, false)
	case err != nil && rel == "":
		return fmt.Errorf("document root: %w", err)
	case err != nil:
		t.log.Warn("cannot read a directory; its last known state is kept", "path", rel, "err", err)
		return nil
	}
	if rel == "" && len(entries) == 0 {
		if had, err := below(t.db, "", 1); err != nil || len(had) > 0 {
			return errors.Join(err, errRootEmpty)
		}
	}
	return t.merge(ctx, rel, entries)
}

// merge walks the names in a directory and the stored names of it side by side, both in order.
func (t *tree) merge(ctx context.Context, rel string, entries []fs.DirEntry) error {
	var after *child
	for {
		list, err := children(t.db, rel, after, batchMax)
		if err != nil {
			return err
		}
		for i := range list {
			c := &list[i]
			for len(entries) > 0 && entries[0].Name() < c.name {
				if err := t.entry(ctx, rel, entries[0], nil); err != nil {
					return err
				}
				entries = entries[1:]
			}
			if len(entries) > 0 && entries[0].Name() == c.name && entries[0].IsDir() == c.dir {
				var old *record
				if !c.dir {
					old = &c.rec
				}
				if err := t.entry(ctx, rel, entries[0], old); err != nil {
					return err
				}
				entries = entries[1:]
				continue
			}
			// It does not exist any more, or a file became a directory or the reverse.
			silent := !t.names.element(rel, c.name)
			if c.dir {
				err = t.gone(join(rel, c.name), silent)
			} else {
				err = t.found(finding{rel: join(rel, c.name), silent: silent})
			}
			if err != nil {
				return err
			}
		}
		if len(list) < batchMax {
			break
		}
		after = &list[len(list)-1]
	}
	for _, e := range entries {
		if err := t.entry(ctx, rel, e, nil); err != nil {
			return err
		}
	}
	return nil
}

// entry compares one name in a directory. old is its stored record if both are files.
func (t *tree) entry(ctx context.Context, dir string, e fs.DirEntry, old *record) error {
	rel := join(dir, e.Name())
	switch {
	case !t.names.element(dir, e.Name()):
		if e.IsDir() {
			return t.gone(rel, true)
		}
		if old != nil {
			return t.found(finding{rel: rel, silent: true})
		}
		return nil
	case e.IsDir():
		return t.dir(ctx, rel)
	case e.Type().IsRegular(), e.Type()&fs.ModeSymlink != 0:
		return t.file(ctx, rel, old)
	case old != nil:
		return t.found(finding{rel: rel})
	}
	return nil
}

// file compares one file.
func (t *tree) file(ctx context.Context, rel string, old *record) error {
	if !t.names.announced(rel) {
		return nil // its URL is too long for a report
	}
	st, err := statFile(t.abs(rel))
	if err == nil && old != nil && old.sure(st) {
		return nil
	}
	var r record
	if err == nil {
		r, err = digest(ctx, t.abs(rel))
	}
	switch {
	case err == nil:
		return t.found(finding{rel: rel, file: &r})
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errNoFile):
		if old == nil {
			return nil
		}
		return t.found(finding{rel: rel})
	case errors.Is(err, errUnsettled):
		t.later(rel)
		return nil
	}
	t.log.Warn("cannot read a file; its last known state is kept", "path", rel, "err", err)
	return nil
}

// gone removes everything below a directory that does not exist or is not announced any more.
func (t *tree) gone(rel string, silent bool) error {
	for {
		list, err := below(t.db, rel, batchMax)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			t.batch = append(t.batch, finding{rel: r, silent: silent})
		}
		if err := t.flush(); err != nil { // otherwise the same files would be listed again
			return err
		}
	}
}

func (t *tree) found(f finding) error {
	t.batch = append(t.batch, f)
	if len(t.batch) < batchMax {
		return nil
	}
	return t.flush()
}

// flush commits the findings, unless the root was replaced meanwhile: then files may only appear to
// be gone.
func (t *tree) flush() error {
	if len(t.batch) == 0 {
		return nil
	}
	if id, err := identify(t.root); err != nil || id != t.id {
		t.batch = nil
		return errors.Join(errRootMoved, err)
	}
	changes, err := commit(t.db, time.Now(), t.batch)
	if err != nil {
		return err
	}
	t.batch = t.batch[:0]
	t.count(changes)
	return nil
}
