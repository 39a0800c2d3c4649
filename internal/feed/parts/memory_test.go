package parts

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
)

// A small part in Parquet takes little memory: the encoders of the compression are shared.
func TestPartTakesLittleMemory(t *testing.T) {
	b := feed.Batch{Crawl: "docs", Generation: 1}
	for i := range 20 {
		b.Changes = append(b.Changes, feedtest.Page(fmt.Sprintf("https://example.org/%d", i), int64(i+1)))
	}
	s := newSchema(nil)
	encode := func() {
		if _, err := s.encode(&b); err != nil {
			t.Fatal(err)
		}
	}
	encode() // makes the encoders
	const times = 5
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		encode()
	}
	runtime.ReadMemStats(&after)
	if took := (after.TotalAlloc - before.TotalAlloc) / times; took > 1<<20 {
		t.Errorf("a part of 20 pages took %d KiB", took>>10)
	}
}
