package search

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"

	"github.com/curtsy/curtsy/internal/boltfile"
)

// edge is deferred wherever the index is read or written. It converts damage in the file, and a
// fault while its mapped bytes are read, to an error that says what to do.
func (x *Index) edge(err *error) func() {
	before := debug.SetPanicOnFault(true)
	return func() {
		debug.SetPanicOnFault(before)
		if what := recover(); what != nil {
			*err = x.advise(fmt.Errorf("%v", what))
		} else if boltfile.IsDamaged(*err) && !errors.Is(*err, errDamaged) {
			*err = x.advise(*err)
		}
	}
}

// errDamaged marks errors that already say what to do.
var errDamaged = errors.New("damaged")

func (x *Index) advise(err error) error {
	var d *boltfile.Damaged
	if errors.As(err, &d) {
		err = d.Cause
	}
	return fmt.Errorf("%s is %w (%w): rebuild the search index with: curtsy reindex --dir %s", x.path, errDamaged, err, filepath.Dir(x.path))
}
