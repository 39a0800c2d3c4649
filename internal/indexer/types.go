package indexer

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/curtsy/curtsy/internal/search"
)

// typeCounts counts the pages of each type and of each language in some search indexes. The zero
// value is ready for use. It may be used by many goroutines.
type typeCounts struct {
	mu     sync.Mutex // guards what follows
	until  time.Time  // until then the last counts are returned
	of     []*search.Index
	counts [2]map[string]int64 // by type, by language
}

// typesLast is how long counts are returned again at least. typesShare limits the share of time
// that counting takes. Each count reads every page, and somebody asks a running crawl several times
// a second.
const (
	typesLast  = 10 * time.Second
	typesShare = 100
)

// Of counts the pages of these indexes by type and by language, as of a short time ago. An index
// that cannot be read counts as empty; the goroutine that follows it reports the error.
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
		lasts /= 10 // the first pages are arriving
	}
	t.of, t.until = indexes, time.Now().Add(lasts)
	return maps.Clone(t.counts[0]), maps.Clone(t.counts[1])
}
