package catalog

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// telling returns n claims of one document, each with this cost.
func telling(document string, n, cost int) (all []crawl.DatasetClaim) {
	for i := range n {
		c := crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: document, Origin: "https://" + hostOf(document), N: i, Title: fmt.Sprint(i), Allowed: true}
		c.Description = strings.Repeat("x", cost-claimCost(&c))
		all = append(all, c)
	}
	return all
}

func leftOut(claims []crawl.DatasetClaim) (n int) {
	for _, c := range claims {
		n += c.LeftOut
	}
	return n
}

func TestBudget(t *testing.T) {
	const cost, site = 4 << 10, 32 << 20
	const own, shared = DocumentBudget / cost, site / cost
	b := NewBudget()
	b.site = site
	// At the limit and one beyond it. Nothing is left of the budget that the hosts of the domain
	// share.
	if got := b.Take(telling("https://a.site.example/1", own+shared-1, cost)); len(got) != own+shared-1 || leftOut(got) != 0 {
		t.Fatalf("%d claims, %d left out", len(got), leftOut(got))
	}
	if got := b.Take(telling("https://b.site.example/2", own+2, cost)); len(got) != own+1 || leftOut(got) != 1 || got[own].LeftOut != 1 {
		t.Errorf("%d claims, %d left out", len(got), leftOut(got))
	}
	// A site with a document for each dataset is listed completely.
	for i := range 1000 {
		if got := b.Take(telling(fmt.Sprintf("https://b.site.example/more/%d", i), 1, cost)); len(got) != 1 || leftOut(got) != 0 {
			t.Fatalf("document %d: %d claims, %d left out", i, len(got), leftOut(got))
		}
	}
	if got := b.Take(telling("https://site.test/", 100, cost)); len(got) != 100 {
		t.Errorf("another site: %d claims", len(got))
	}
	if got := b.Take(nil); got != nil {
		t.Errorf("of nothing %v", got)
	}
	// A claim that is too large for the whole budget is kept as an outline.
	large := telling("https://a.site.example/large", 2, DocumentBudget+1)
	for i := range 10_000 {
		large[0].Files = append(large[0].Files, crawl.DatasetFile{URL: fmt.Sprintf("https://a.site.example/%d", i)})
	}
	got := b.Take(large)
	if len(got) != 1 || leftOut(got) != 2 || got[0].Title != "0" || got[0].Description != "" || len(got[0].Files) < 100 || claimCost(&got[0]) > DocumentBudget {
		t.Errorf("%d claims, %d left out, %d files, %d bytes", len(got), leftOut(got), len(got[0].Files), claimCost(&got[0]))
	}
	if d := Merge(got)[0]; d.Sources[0].LeftOut != 2 {
		t.Errorf("sources %+v", d.Sources)
	}
	// A data.txt of the largest size is within the budget.
	if got := NewBudget().Take(twins(maxOriginClaims)); len(got) != maxOriginClaims {
		t.Errorf("%d datasets of a data.txt", len(got))
	}
	if got := NewBudget().Take(telling("https://10.0.0.1/", 1, cost)); len(got) != 1 {
		t.Errorf("%d claims of an address", len(got))
	}
}

// For each kind of list in a claim, the calculated cost is about what it allocates.
func TestClaimCost(t *testing.T) {
	const n = 1000
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("%0100d", i)
	}
	all := map[string]crawl.DatasetClaim{"creators": {Creators: words}, "keywords": {Keywords: words}, "description": {Description: strings.Repeat("x", 100*n)}}
	files, columns, extra, list := crawl.DatasetClaim{}, crawl.DatasetClaim{}, crawl.DatasetClaim{Extra: map[string]any{}}, []any{}
	for _, w := range words {
		files.Files = append(files.Files, crawl.DatasetFile{URL: w})
		columns.Columns = append(columns.Columns, crawl.DatasetColumn{Name: w})
		extra.Extra[w] = "x"
		list = append(list, w)
	}
	all["files"], all["columns"], all["extra"], all["list"] = files, columns, extra, crawl.DatasetClaim{Extra: map[string]any{"x": map[string]any{"y": list}}}
	for name, c := range all {
		if got := claimCost(&c); got < 100*n || got > 250*n+2*claimOverhead {
			t.Errorf("%s cost %d", name, got)
		}
	}
}

// A hundred pages that describe ten thousand datasets each cost no more than the limit of one site.
func TestDatasetsOfOneSiteAreBounded(t *testing.T) {
	const pages, each, site = 100, 1000, 96 << 20
	limit := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(limit)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := time.Now()
	budget := NewBudget()
	budget.site = site
	var all Collector
	defer all.Close()
	left := 0
	for i := range pages {
		document := fmt.Sprintf("https://h%d.a.example/", i)
		claims := make([]crawl.DatasetClaim, each)
		for k := range claims {
			claims[k] = crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: document, Origin: document[:len(document)-1], N: k, Title: fmt.Sprint(k), Page: document, Allowed: true}
		}
		kept := budget.Take(claims)
		left += leftOut(kept)
		for _, c := range kept {
			if err := all.Add(c); err != nil {
				t.Fatal(err)
			}
		}
	}
	n := 0
	if err := all.Each(func(crawl.DatasetInfo) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	runtime.GC()
	runtime.ReadMemStats(&after)
	t.Logf("%d claims of %d pages: %d datasets in %v, %d MiB beside", pages*each, pages, n, took, (after.HeapAlloc-before.HeapAlloc)>>20)
	runtime.KeepAlive(&all)
	if most := (site + pages*DocumentBudget) / claimOverhead; n > most || n < pages {
		t.Errorf("%d datasets, want %d at most", n, most)
	}
	if n+left != pages*each {
		t.Errorf("%d datasets and %d left out, want %d", n, left, pages*each)
	}
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 96<<20 {
		t.Errorf("%d MiB stay in memory", used>>20)
	}
}
