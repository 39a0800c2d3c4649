package assignment

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/curtsy/curtsy/internal/pages"
)

// A shard's files in the directory of an indexer:
//
//	pages-<shard>.db      the page store
//	pages-<shard>.db.new  one being made: it becomes the other once the home record names it
//	search-<shard>.db     the search index
//
// What may be interrupted at any line is told by the record and by the identities of the first two.

// PagesFile is the page store of a shard.
func PagesFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("pages-%d.db", shard))
}

func newFile(dir string, shard int) string { return PagesFile(dir, shard) + ".new" }

// SearchFile is the search index of a shard.
func SearchFile(dir string, shard int) string {
	return filepath.Join(dir, fmt.Sprintf("search-%d.db", shard))
}

// markAssignment is where a store keeps the instance that held it last: a copy left behind when a
// file was moved by hand has another than the record.
const markAssignment = "home"

// stamp tells one page store file from another; the zero stamp is no file.
type stamp struct {
	identity, record string
	pages            int64
}

// counts reports whether the file is the one the record names.
func (s stamp) counts(h Record) bool {
	return s.identity != "" && s.identity == h.Store && (s.record == "" || s.record == h.Instance)
}

// look reads the stamp of a page store nobody has open.
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
