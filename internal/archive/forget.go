package archive

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Forgot counts what forgetting removed from an archive.
type Forgot struct {
	Files    int // rewritten, or removed because nothing remained
	Records  int // removed
	Outlinks int // lines removed from metadata of pages that stay
}

// forgetStretch is how many URLs are processed in one transaction.
const forgetStretch = 1000

// Forget removes the records of forgotten URLs from all files of the archive, and their names from
// the metadata of other pages. entries are as in crawl.Spec.Forgotten, hides reports whether a URL
// is below one of them, and mark identifies this list of entries. A list that was already processed
// is skipped. The caller must refuse captures of such URLs that arrive meanwhile. A file is
// rewritten under another name and replaced in one step; after an interruption this is done again.
func (a *Shard) Forget(entries []string, mark string, hides func(canon.URL) bool) (did Forgot, err error) {
	a.mu.Lock()
	if len(entries) == 0 {
		defer a.mu.Unlock()
		return did, a.unmark()
	}
	nothing := len(a.st.Dirs) == 0 || a.st.Forgot == mark
	if !nothing {
		err = errors.Join(a.end(), a.unlearn(entries, hides))
	}
	a.mu.Unlock()
	if nothing || err != nil {
		return did, err
	}
	if _, err := a.Tidy(); err != nil {
		return did, err
	}
	if err := a.forgetIn(hides, &did); err != nil {
		return did, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken {
		if err := a.recover(); err != nil {
			return did, err
		}
	}
	next := a.st
	next.Forgot = mark
	return did, a.save(next)
}

// unmark records that nothing is forgotten now, so that the same list is processed again if it is
// set again: meanwhile more may be archived. The caller must hold mu.
func (a *Shard) unmark() error {
	if a.st.Forgot == "" {
		return nil
	}
	if a.broken {
		if err := a.recover(); err != nil {
			return err
		}
	}
	next := a.st
	next.Forgot = ""
	return a.save(next)
}

// forgetIn rewrites the closed files that contain forgotten URLs. A file that cannot be rewritten
// is an error, but the others are rewritten.
func (a *Shard) forgetIn(hides func(canon.URL) bool, did *Forgot) error {
	a.tidying.Lock()
	defer a.tidying.Unlock()
	files, err := a.closed()
	if err != nil {
		return err
	}
	var failed error
	for _, path := range files {
		if found, err := named(path, hides); !found && err == nil {
			continue
		}
		// If the index cannot be read, the file itself is read.
		var gone taken
		if err = a.settle(path); err == nil {
			gone, err = rewrite(path, hides)
		}
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("remove forgotten records from %s: %w", path, err))
		}
		if gone.records+gone.outlinks > 0 {
			did.Files++
			did.Records, did.Outlinks = did.Records+gone.records, did.Outlinks+gone.outlinks
		}
	}
	return failed
}

// settle records that a file has its name, so that the next start does not cut it to the length
// with which it was closed: a rewritten file has another length.
func (a *Shard) settle(path string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken {
		if err := a.recover(); err != nil {
			return err
		}
	}
	next := a.st
	next.Ended = slices.DeleteFunc(slices.Clone(next.Ended), func(o open) bool { return o.path() == path })
	if len(next.Ended) == len(a.st.Ended) {
		return nil
	}
	return a.save(next)
}

// unlearn removes the records about captures of forgotten URLs, because nothing may refer to them.
func (a *Shard) unlearn(entries []string, hides func(canon.URL) bool) error {
	for _, entry := range entries {
		for _, prefix := range prefixes(entry) {
			for from := []byte(prefix); from != nil; {
				_, err := a.store.PutAlong(nil, func(own *bolt.Bucket, _ []*pages.Page) error {
					var all [][]byte
					c := own.Cursor()
					k, _ := c.Seek(from)
					for from = nil; k != nil && bytes.HasPrefix(k, []byte(prefix)); k, _ = c.Next() {
						if len(all) == forgetStretch {
							from = bytes.Clone(k)
							break
						}
						if hides(canon.URL(k[len(urlPrefix):])) {
							all = append(all, bytes.Clone(k))
						}
					}
					for _, k := range all {
						if err := own.Delete(k); err != nil {
							return err
						}
					}
					return nil
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// taken is what was removed from a file.
type taken struct{ records, outlinks int }

// rewrite writes a file again without the records of hidden URLs, and then its index. It returns
// what was removed. A file with nothing else is removed. The remaining records stay unchanged,
// except metadata that names hidden URLs.
func rewrite(path string, hides func(canon.URL) bool) (gone taken, err error) {
	temp := path + newSuffix
	if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return gone, err
	}
	from, err := os.Open(path)
	if err != nil {
		return gone, err
	}
	defer from.Close()
	to, err := disk.OpenRegular(temp, os.O_CREATE|os.O_EXCL|os.O_WRONLY)
	if err != nil {
		return gone, err
	}
	kept := 0
	gone, kept, err = without(from, to, hides)
	if err := errors.Join(err, to.Sync(), to.Close()); err != nil {
		return taken{}, errors.Join(err, os.Remove(temp))
	}
	if kept == 0 {
		// The index is removed first, because a file without an index is always checked.
		for _, name := range []string{path + indexSuffix, path, temp} {
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return taken{}, err
			}
		}
		return gone, syncDir(filepath.Dir(path))
	}
	if err := os.Rename(temp, path); err != nil {
		return taken{}, err
	}
	// If the new index reached the disk before the new file, the old file could come back after a
	// crash without being checked again.
	if err := syncDir(filepath.Dir(path)); err != nil {
		return taken{}, err
	}
	if _, err := Index(path); err != nil {
		return taken{}, err
	}
	return gone, syncDir(filepath.Dir(path))
}

// without copies a file without the records of hidden URLs, and without the lines of metadata that
// name them. kept counts the records that remain.
func without(from io.ReaderAt, to io.Writer, hides func(canon.URL) bool) (gone taken, kept int, err error) {
	in := warc.NewReader(io.NewSectionReader(from, 0, 1<<62))
	var enc warc.Encoder
	for {
		rec, err := in.Next()
		if err == io.EOF {
			return gone, kept, nil
		}
		var block []byte
		if err == nil && rec.Type() == warc.Metadata {
			block, err = io.ReadAll(rec)
		}
		if err == nil {
			err = rec.Close()
		}
		if err != nil {
			return gone, kept, err
		}
		uri := rec.URI()
		if uri != "" && hides(canon.URL(uri)) {
			gone.records++
			continue
		}
		if uri != "" {
			kept++
		}
		if rest, n := unnamed(block, hides); n > 0 {
			gone.outlinks += n
			anew, err := renamed(&enc, rec, rest)
			if err == nil {
				_, err = to.Write(anew)
			}
			if err != nil {
				return gone, kept, err
			}
			continue
		}
		if _, err := io.Copy(to, io.NewSectionReader(from, rec.Offset, rec.Length)); err != nil {
			return gone, kept, err
		}
	}
}
