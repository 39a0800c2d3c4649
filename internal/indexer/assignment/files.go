package assignment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/curtsy/curtsy/internal/pages"
)

// The files of a shard in the directory of an indexer:
//
//	pages-<shard>.db      the page store
//	pages-<shard>.db.new  a new store: it replaces the other once the record names it
//	search-<shard>.db     the search index
//
// Every step may be interrupted. The record, and the identities of the first two files, tell what
// was done.

// PagesFile returns the path of the page store of a shard.
func PagesFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("pages-%d.db", shard))
}

func newFile(dir string, shard int) string { return PagesFile(dir, shard) + ".new" }

// SearchFile returns the path of the search index of a shard.
func SearchFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("search-%d.db", shard))
}

// markAssignment is the mark of a store for the instance that owned it last. A copy that was left
// behind when somebody moved a file has another instance than the record.
const markAssignment = "home"

// stamp identifies a page store file. The zero stamp means that there is no file.
type stamp struct {
	identity, record string
	pages            int64
}

// counts reports whether the record names this file.
func (s stamp) counts(h Record) bool {
	return s.identity != "" && s.identity == h.Store && (s.record == "" || s.record == h.Instance)
}

// look reads the stamp of a page store that is not open.
func look(path string) (s stamp, err error) {
	store, err := pages.OpenReadOnly(path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	s.identity, s.pages = store.Identity(), store.Stats().Pages
	s.record, err = store.Mark(markAssignment)
	return s, errors.Join(err, store.Close())
}
