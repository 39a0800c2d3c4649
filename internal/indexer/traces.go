package indexer

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/tracing"
)

// traceKept traces the pages that were stored since began: a span for each visit that brought some.
func (x *Indexer) traceKept(shard int, batch []pages.Page, began time.Time, tell func(v *tracing.Visit, pages int, began, ended time.Time)) {
	ended, count := time.Now(), make(map[crawl.VisitID]int)
	for i := range batch {
		count[batch[i].Visit]++
	}
	for id, n := range count {
		tell(x.traces.Visit(shard, id), n, began, ended)
	}
}
