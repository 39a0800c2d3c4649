package indexer

import (
	"context"
	"log/slog"
	"time"

	"github.com/curtsy/curtsy/internal/backoff"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/tracing"
)

// searchFollower has the search index of a shard: it opens the index, lets it follow the change
// feed of the page store, and builds it again when the spec requests that (reindex.go).
type searchFollower struct {
	part
	x       *Indexer
	log     *slog.Logger
	rebuilt rebuilt
}

// open opens the index. Until then it cannot be searched.
func (f *searchFollower) open() error {
	index, err := search.Open(assignment.SearchFile(f.x.o.Dir, f.id), f.store, search.Options{Log: f.log, Turn: f.x.analyze, Read: f.marks.read, Content: f.content, Hidden: f.x.hides, HiddenHost: f.x.hidesHost,
		Mark: f.x.reindexMark(), Readers: &f.x.readers, Indexed: f.traced(), Fault: f.x.o.Fault})
	if err == nil {
		f.index.Store(index)
	}
	return err
}

// follow makes the index follow the store. Its errors do not stop the storing of pages.
func (f *searchFollower) follow(ctx context.Context) error {
	again := backoff.Delay{Least: time.Second, Most: time.Minute}
	for {
		if index := f.index.Load(); index != nil {
			return index.Run(ctx)
		}
		if again.Sleep(ctx) != nil {
			return nil
		}
		if err := f.open(); err != nil {
			f.log.Error("the search index cannot be opened", "err", err)
		}
	}
}

// close closes the index, after everything that uses it has ended.
func (f *searchFollower) close() error {
	if index := f.index.Swap(nil); index != nil {
		return index.Close()
	}
	return nil
}

// analyze lets as many indexes analyze at the same time as there are tokens.
func (x *Indexer) analyze(ctx context.Context) (done func(), err error) {
	select {
	case x.analyzing <- struct{}{}:
		return func() { <-x.analyzing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// traced returns the function that search calls for the pages it has read, nil if nothing is
// traced.
func (f *searchFollower) traced() search.IndexedFunc {
	if f.x.traces == nil {
		return nil
	}
	return func(batch []pages.Page, began time.Time) {
		f.x.traceKept(f.id, batch, began, (*tracing.Visit).Indexed)
	}
}
