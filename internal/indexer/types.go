package indexer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/search"
)

// typeCounts says how many pages of each type some search indexes have. Its zero value is ready. It
// may be used by many goroutines.
type typeCounts struct {
	mu     sync.Mutex // guards what follows
	until  time.Time  // the last answer is given again
	of     []*search.Index
	counts map[string]int64
}

// typesLast is how long an answer is given again at least, and typesShare of which part of the time
// is spent with counting at most: each page is looked at, and a crawl that runs is asked several
// times a second.
const (
	typesLast  = 10 * time.Second
	typesShare = 100
)

// Of counts the pages of these indexes by type, as it was a short while ago. An index that cannot
// be read has none: whoever follows it says so.
func (t *typeCounts) Of(indexes []*search.Index) map[string]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := time.Now()
	if began.Before(t.until) && slices.Equal(indexes, t.of) {
		return maps.Clone(t.counts)
	}
	t.counts = map[string]int64{}
	for _, x := range indexes {
		counts, err := x.Types()
		if err != nil {
			continue
		}
		for name, n := range counts {
			t.counts[name] += n
		}
	}
	t.of, t.until = indexes, time.Now().Add(max(typesLast, typesShare*time.Since(began)))
	return maps.Clone(t.counts)
}
