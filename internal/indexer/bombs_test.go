package indexer

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/homes"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/racing"
)

// peak samples how much memory is in use until the function it returns is called.
func peak() (most func() int64) {
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	var top atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			runtime.ReadMemStats(&now)
			top.Store(max(top.Load(), int64(now.HeapInuse)-int64(before.HeapInuse)))
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-done
		return top.Load()
	}
}

// Pages made so that what they tell of datasets grows with the product of two counts: each site
// costs the catalogue what one may.
func TestDatasetsOfBombs(t *testing.T) {
	n := racing.Volume(20, 2)
	var b strings.Builder
	b.WriteString(`{"@graph":[{"@id":"r","field":[`)
	for i := range 600 {
		fmt.Fprintf(&b, `{"name":"f%d"},`, i)
	}
	b.WriteString(`{"name":"f"}]}`)
	for i := range 900 {
		fmt.Fprintf(&b, `,{"@type":"Dataset","name":"%%d-%d","recordSet":{"@id":"r"}}`, i)
	}
	b.WriteString(`]}`)
	dir := t.TempDir()
	store, err := pages.Open(homes.PagesFile(dir, 0), pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := pages.Page{Page: page(fmt.Sprintf("https://a.example/%d", i), 1, "x"), Claims: s2.Encode(nil, []byte(strings.ReplaceAll(b.String(), "%d", fmt.Sprint(i))))}
		if _, err := store.Put([]pages.Page{p}); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	r, err := OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	sets, most, began := 0, peak(), time.Now()
	if err := atRest(r).Datasets(t.Context(), func(crawl.DatasetInfo) error { sets++; return nil }); err != nil {
		t.Fatal(err)
	}
	took, held := time.Since(began), most()
	t.Logf("%d pages of %d bytes: %d datasets in %v, %d MiB", n, b.Len(), sets, took, held>>20)
	if sets < n || held > 256<<20 {
		t.Errorf("%d datasets, %d MiB", sets, held>>20)
	}
}
