package indexer

import (
	"fmt"
	"runtime"
	"runtime/debug"
	rtmetrics "runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/klauspost/compress/s2"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/assignment"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/testaid"
)

// peak collects garbage often until the function that it returns is called. That returns how much
// more memory than at the beginning was in use at most when the collector looked.
func peak() (most func() int64) {
	live := []rtmetrics.Sample{{Name: "/gc/heap/live:bytes"}}
	alive := func() int64 { rtmetrics.Read(live); return int64(live[0].Value.Uint64()) }
	runtime.GC()
	before := alive()
	percent := debug.SetGCPercent(5)
	var top atomic.Int64
	var over atomic.Bool
	type garbage struct{ _ *garbage }
	var look func(*garbage) // is called after each collection
	look = func(*garbage) {
		if over.Load() {
			return
		}
		top.Store(max(top.Load(), alive()-before))
		runtime.SetFinalizer(new(garbage), look)
	}
	look(nil)
	return func() int64 {
		over.Store(true)
		debug.SetGCPercent(percent)
		return top.Load()
	}
}

// Pages whose statements about datasets grow with the product of two counts. Each site costs the
// catalogue no more than one site may.
func TestDatasetsOfBombs(t *testing.T) {
	n := testaid.Volume(6, 2)
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
	store, err := pages.Open(assignment.PagesFile(dir, 0), pages.Options{})
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
	sets, most := 0, peak()
	if err := stoppedCrawl(r).Datasets(t.Context(), func(crawl.DatasetInfo) error { sets++; return nil }); err != nil {
		t.Fatal(err)
	}
	held := most()
	t.Logf("%d pages of %d bytes: %d datasets, %d MiB", n, b.Len(), sets, held>>20)
	if sets < n || held > 64<<20 {
		t.Errorf("%d datasets, %d MiB", sets, held>>20)
	}
}
