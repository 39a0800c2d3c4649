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

// Forgot is what a takedown did to an archive.
type Forgot struct {
	Files    int // written anew, or removed because nothing was left
	Records  int // that are not there any more
	Outlinks int // lines that are gone from metadata of pages that stay
}

// forgetStretch is how many URLs one transaction of a takedown looks at.
const forgetStretch = 1000

// Forget takes the records of forgotten URLs out of all files of the archive, and their names out
// of the metadata of other pages: entries as crawl.Spec.Forgotten has them, hides whether a URL is
// under one, and mark a name for this list of entries. Nothing is done for a list that was carried
// out before. Captures of such URLs that come meanwhile must be turned away by the caller. A file
// is written anew beside the old one and takes its place in one step; cut short, the same is done
// again.
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

// unmark notes that nothing is forgotten any more, so that the same list is carried out again
// should it come back: meanwhile more is archived. Called with mu held.
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

// forgetIn writes those closed files anew that hold what is forgotten. A file that cannot be is an
// error, and keeps no other from it.
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
		// An index that cannot be read says nothing: then the file does.
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

// settle notes that a file has its name, and that the next start need not cut it to the length that
// it was closed with: written anew it has another.
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

// unlearn removes what is known of the captures of forgotten URLs: nothing may refer to them.
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

// taken is what was taken out of a file.
type taken struct{ records, outlinks int }

// rewrite writes a file anew without the records of URLs that are hidden, and its index, and
// returns what that was. A file in which nothing else is goes. Of the records that stay every byte
// stays, but of metadata that names what is hidden.
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
		// The index goes first: without one, a file is looked at again.
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
	// Were its index on disk before it, the old file would come back without being looked at again.
	if err := syncDir(filepath.Dir(path)); err != nil {
		return taken{}, err
	}
	if _, err := Index(path); err != nil {
		return taken{}, err
	}
	return gone, syncDir(filepath.Dir(path))
}

// without copies a file but for the records of URLs that are hidden, and what metadata says of
// them. kept counts the records of others.
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
