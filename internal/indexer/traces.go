package indexer

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/search"
	"github.com/curtsy/curtsy/internal/tracing"
)

// traceKept tells of pages that were kept since began: a span for each visit that brought some.
func (x *Indexer) traceKept(shard int, batch []pages.Page, began time.Time, tell func(v *tracing.Visit, pages int, began, ended time.Time)) {
	ended, count := time.Now(), make(map[crawl.VisitID]int)
	for i := range batch {
		count[batch[i].Visit]++
	}
	for id, n := range count {
		tell(x.traces.Visit(shard, id), n, began, ended)
	}
}

// traceIndexed has search tell of the pages that it has read; nil when nothing is traced.
func (s *shard) traceIndexed() search.IndexedFunc {
	if s.x.traces == nil {
		return nil
	}
	return func(batch []pages.Page, began time.Time) {
		s.x.traceKept(s.id, batch, began, (*tracing.Visit).Indexed)
	}
}
