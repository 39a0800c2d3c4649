package engine

import (
	"errors"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/frontier"
	"github.com/curtsy/curtsy/internal/indexer"
)

// OpenFeeds opens the page stores of a stopped crawl for feeds, which write their positions into
// them. It locks the directory until the crawl is closed. Only questions about pages and feeds are
// answered.
func OpenFeeds(dir string) (*asker.Crawl, error) {
	if err := disk.Check(dir, false); err != nil {
		return nil, err
	}
	spec, err := frontier.ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	lock, err := Lock(dir)
	if err != nil {
		return nil, err
	}
	x, err := indexer.OpenFeeds(dir, spec)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	files := func() error { return errors.Join(x.Close(), lock.Unlock()) }
	return asker.Stopped(spec, files, x.Handlers(spec.Agent)), nil
}
