package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// twins are datasets of one site with the same address and name, in one data.txt.
func twins(n int) (all []crawl.DatasetClaim) {
	for i := range n {
		all = append(all, crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Origin: "https://d.example", Line: i + 1, N: i,
			Name: "rain", Title: fmt.Sprint(i), Files: files("https://d.example/a.csv", fmt.Sprintf("https://d.example/b%d.csv", i)), Allowed: true})
	}
	return all
}

// Each dataset with a common name has its own ID, which stays the same, and each ID is found in one
// step.
func TestIDsOfOneName(t *testing.T) {
	got := Merge(twins(3))
	base := shortID(shortID("https://d.example/a.csv") + " rain")
	for i, want := range []string{base, shortID(base), shortID(shortID(base))} {
		if got[i].ID != want {
			t.Errorf("ID %d is %s, want %s", i, got[i].ID, want)
		}
	}
	const n = 10_000
	began := time.Now()
	seen := map[string]bool{}
	for _, d := range Merge(twins(n)) {
		seen[d.ID] = true
	}
	t.Logf("%d datasets of one name: %v", n, time.Since(began))
	if len(seen) != n {
		t.Errorf("%d IDs for %d datasets", len(seen), n)
	}
}

// The cost of distinguish grows with the number of datasets, not with its square: it hashes about
// once for each.
func TestIDsTakeAStepEach(t *testing.T) {
	const n = 10_000
	all := make([]heading, n)
	for i := range all {
		all[i] = heading{id: "x", name: "rain", origin: "https://d.example"}
	}
	allocs := testing.AllocsPerRun(1, func() {
		for i := range all {
			all[i].id = "x"
		}
		distinguish(all)
	})
	if allocs > 10*n {
		t.Errorf("%.0f allocations for %d datasets", allocs, n)
	}
}
