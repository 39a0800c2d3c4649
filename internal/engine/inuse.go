package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/curtsy/curtsy/internal/frontier"
)

// IsNew reports whether dir certainly has no crawl with an embedded server yet.
func IsNew(dir string) bool {
	_, err := os.Stat(natsDir(dir))
	return errors.Is(err, fs.ErrNotExist)
}

func natsDir(dir string) string { return filepath.Join(dir, "nats") }

// InUseError says that a data directory contains another crawl than the requested one.
type InUseError struct {
	Dir, Crawl string // the directory, and the crawl in it
	// Served: that crawl has an embedded server, and another server was requested.
	Served bool
	// Remote: that crawl uses another NATS server, and an embedded one was requested.
	Remote bool
}

// Error names the crawl in the directory.
func (e *InUseError) Error() string {
	if e.Served {
		return fmt.Sprintf("%s contains the crawl %q, which has its own NATS server", e.Dir, e.Crawl)
	}
	if e.Remote {
		return fmt.Sprintf("%s contains the crawl %q, which uses another NATS server", e.Dir, e.Crawl)
	}
	return fmt.Sprintf("%s contains the crawl %q", e.Dir, e.Crawl)
}

// checkInUse returns an InUseError if the files in the directory belong to another crawl. Otherwise
// they would be used for ours, because our server does not know the other crawl.
func (e *Engine) checkInUse() error {
	spec, err := frontier.ReadSpec(e.o.Dir)
	if err != nil {
		return nil // there are no files, or whoever writes the spec again reports the error
	}
	if _, err := os.Stat(filepath.Join(natsDir(e.o.Dir), "lock")); err == nil && e.srv == nil {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name, Served: true}
	}
	// A crawl with an embedded server has the store of the server beside its spec.
	if e.srv == nil && e.o.embedded() && IsNew(e.o.Dir) {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name, Remote: true}
	}
	if spec.Name != e.o.Crawl {
		return &InUseError{Dir: e.o.Dir, Crawl: spec.Name}
	}
	return nil
}
