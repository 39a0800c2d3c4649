package indexer

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/testaid"
)

// A question about one URL reads only the data.txt of its own origin. Datasets are read one
// data.txt after the other.
func TestDataFilesAreReadOneAtATime(t *testing.T) {
	store, err := pages.Open(filepath.Join(t.TempDir(), "pages-0.db"), pages.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	const size = 200 << 10
	n := testaid.Volume(40, 10)
	var keys []string
	var entries []catalog.Entry
	keep := func(e catalog.Entry) { keys, entries = append(keys, cmp.Or(e.Asked, e.Origin)), append(entries, e) }
	filler := []byte("- path: x\n  description: " + strings.Repeat("x", size) + "\n")
	for i := range n {
		origin := fmt.Sprintf("https://h%d.example", i)
		keep(catalog.Entry{Origin: origin, URL: origin + "/data.txt", Body: filler, Fetched: time.Now(), Fresh: time.Hour})
	}
	keep(catalog.Entry{Origin: "https://own.example", URL: "https://own.example/data.txt", Body: []byte("User-agent: *\nDisallow: /shut\n"), Fetched: time.Now(), Fresh: time.Hour})
	keep(catalog.Entry{Origin: "https://own.example", Asked: "https://own.example/shut/data.txt", URL: "https://own.example/shut/data.txt", Body: filler, Fetched: time.Now(), Fresh: time.Hour})
	if err := store.Datasets().UpdateFiles(keys, func(i int, _ []byte) ([]byte, error) { return entries[i].Encode() }); err != nil {
		t.Fatal(err)
	}
	entries = nil
	if err := store.Datasets().UpdateFiles([]string{"https://broken.example"}, func(int, []byte) ([]byte, error) { return []byte("{"), nil }); err != nil {
		t.Fatal(err)
	}
	p := part{store: store, gone: new(atomic.Bool)}
	a := answers{parts: func() []part { return []part{p} }, token: func() string { return "curtsy" }}
	ask := func(u string) (rules []crawl.DataRule) {
		t.Helper()
		if err := a.dataRule(t.Context(), questions.URLRequest{URL: u}, func(r crawl.DataRule) error { rules = append(rules, r); return nil }); err != nil {
			t.Errorf("%s: %v", u, err)
		}
		return rules
	}
	allocated := testing.AllocsPerRun(5, func() {
		if got := ask("https://own.example/shut/x.csv"); len(got) != 1 || got[0].Line != 2 {
			t.Errorf("%+v", got)
		}
		if got := ask("https://own.example/open.csv"); got != nil {
			t.Errorf("%+v", got)
		}
	})
	if allocated > 1000 {
		t.Errorf("%.0f allocations for two questions", allocated)
	}
	if err := store.Datasets().DropFiles(func(key string) bool { return key == "https://broken.example" }); err != nil {
		t.Fatal(err)
	}
	most, sets := peak(), 0
	if err := a.eachClaim(func(crawl.DatasetClaim) error { sets++; return nil }); err != nil || sets != n {
		t.Errorf("%d datasets, %v", sets, err)
	}
	held := most()
	t.Logf("%d files of %d KiB: %d MiB at most", n, size>>10, held>>20)
	if held > 4<<20 {
		t.Errorf("%d MiB for %d files of %d KiB", held>>20, n, size>>10)
	}
}
