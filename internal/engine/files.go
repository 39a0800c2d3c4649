package engine

import (
	"errors"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
)

// OpenFiles opens the files of a stopped crawl for questions. Its errors say what to type if dir
// has no crawl or a running one.
func OpenFiles(dir string) (*asker.Crawl, error) {
	if err := disk.Check(dir, false); err != nil {
		return nil, err
	}
	f, err := frontier.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	x, err := indexer.OpenDir(dir)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	spec := f.Spec()
	x.Follow(&spec)
	files := func() error { return errors.Join(x.Close(), f.Close()) }
	return asker.Stopped(f.Spec(), files, f.Handlers(), x.Handlers(f.Spec().Agent)), nil
}

// OpenPages opens only the page stores and search indexes of a stopped crawl, which answer searches
// and questions about single pages.
func OpenPages(dir string) (*asker.Crawl, error) {
	if err := disk.Check(dir, false); err != nil {
		return nil, err
	}
	spec, err := frontier.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	x, err := indexer.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	x.Follow(&spec)
	return asker.Stopped(spec, x.Close, x.Handlers(spec.Agent)), nil
}
