package parts

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/feed/feedtest"
)

// A small part in Parquet takes little memory: all parts share an encoder.
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
	encode() // makes the encoder
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

// The end of a part does not repeat long texts as the least and greatest values of their columns.
func TestNoBoundsOfTexts(t *testing.T) {
	page := feedtest.Page("https://example.org/", 1)
	page.Row.Text = strings.Repeat("long ", 10_000)
	content, err := newSchema(nil).encode(&feed.Batch{Crawl: "docs", Generation: 1, Changes: []feed.Change{page}})
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]int{}
	for _, c := range f.Metadata().RowGroups[0].Columns {
		bounds[strings.Join(c.MetaData.PathInSchema, ".")] = len(c.MetaData.Statistics.MaxValue)
	}
	if bounds["text"] != 0 || bounds["url"] == 0 {
		t.Errorf("the bounds have %d bytes of a text, %d of a URL", bounds["text"], bounds["url"])
	}
}
