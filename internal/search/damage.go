package search

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
)

// damaged reports whether SQLite found that a file is broken, or is not a database.
func damaged(err error) bool {
	var code interface{ Code() int }
	if !errors.As(err, &code) {
		return false
	}
	c := code.Code() & 0xff
	return c == 11 || c == 26 // SQLITE_CORRUPT, SQLITE_NOTADB
}

// edge is deferred wherever the index is asked or filled. It turns damage in the file, and a fault
// while SQLite reads it, into an error that says what to do.
func (x *Index) edge(err *error) func() {
	before := debug.SetPanicOnFault(true) // SQLite maps the index of its log into memory
	return func() {
		debug.SetPanicOnFault(before)
		if what := recover(); what != nil {
			*err = x.advise(fmt.Errorf("%v", what))
		} else if damaged(*err) && !errors.Is(*err, errDamaged) {
			*err = x.advise(*err)
		}
	}
}

// errDamaged marks errors that already say what to do.
var errDamaged = errors.New("damaged")

func (x *Index) advise(err error) error {
	return fmt.Errorf("%s is %w (%w): stop the crawl if it runs, and build the search index anew with: curtsy reindex --dir %s", x.path, errDamaged, err, filepath.Dir(x.path))
}
