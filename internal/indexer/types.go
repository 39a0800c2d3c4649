package indexer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/search"
)

// typeCounts says how many pages of each type and of each language some search indexes have. Its
// zero value is ready. It may be used by many goroutines.
type typeCounts struct {
	mu     sync.Mutex // guards what follows
	until  time.Time  // the last answer is given again
	of     []*search.Index
	counts [2]map[string]int64 // by type, by language
}

// typesLast is how long an answer is given again at least, and typesShare of which part of the time
// is spent with counting at most: each page is looked at, and a crawl that runs is asked several
// times a second.
const (
	typesLast  = 10 * time.Second
	typesShare = 100
)

// Of counts the pages of these indexes by type and by language, as it was a short while ago. An
// index that cannot be read has none: whoever follows it reports that.
func (t *typeCounts) Of(indexes []*search.Index) (types, langs map[string]int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	began := time.Now()
	if began.Before(t.until) && slices.Equal(indexes, t.of) {
		return maps.Clone(t.counts[0]), maps.Clone(t.counts[1])
	}
	for i, of := range []func(*search.Index) (map[string]int64, error){(*search.Index).Types, (*search.Index).Langs} {
		sum := map[string]int64{}
		for _, x := range indexes {
			counts, err := of(x)
			if err != nil {
				continue
			}
			for name, n := range counts {
				sum[name] += n
			}
		}
		t.counts[i] = sum
	}
	lasts := max(typesLast, typesShare*time.Since(began))
	if len(t.counts[0]) == 0 {
		lasts /= 10 // the first pages are on their way
	}
	t.of, t.until = indexes, time.Now().Add(lasts)
	return maps.Clone(t.counts[0]), maps.Clone(t.counts[1])
}
