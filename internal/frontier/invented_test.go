package frontier

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// invent lets n pages of a visit name per names each, always new names of one domain.
func invent(b *bench, domain string, from, pages, per int) (next int) {
	for range pages {
		l := crawl.Links{Depth: 1, FoundOn: canon.URL("http://www." + domain + "/")}
		for range per {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://n%d.%s/", from, domain)))
			from++
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
	}
	return from
}

// TestCostOfInventedHosts prints the memory and the disk space that names of a wildcard cost.
// FIGURES is their number; without it the test is skipped.
func TestCostOfInventedHosts(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("FIGURES"))
	if err != nil {
		t.Skip("set FIGURES to a number of hosts")
	}
	heap := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapAlloc) / (1 << 20)
	}
	spec := testSpec("http://www.evil.example/")
	many := os.Getenv("DOMAINS") != ""
	b := newBench(t, spec)
	before := heap()
	began := time.Now()
	for i := 0; i < n; i += 1000 {
		l := crawl.Links{Depth: 1, FoundOn: "http://www.evil.example/"}
		for j := range 1000 {
			domain := "evil.example"
			if many {
				domain = fmt.Sprintf("evil%d.example", i+j)
			}
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://n%d.%s/", i+j, domain)))
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
		clear(b.log) // only their number matters
	}
	if err := b.s.Ledger.Commit(true); err != nil {
		t.Fatal(err)
	}
	st, _ := os.Stat(b.s.Ledger.Path)
	t.Logf("%d names: heap %.0f MiB, in memory %d hosts, file %.0f MiB, took %v", n, heap()-before, len(b.s.Ledger.Hosts), float64(st.Size())/(1<<20), time.Since(began))
	b.s.close(true)
	b.s = nil
	before = heap()
	began = time.Now()
	b.open()
	t.Logf("opened again: heap %.0f MiB, took %v", heap()-before, time.Since(began))
	var rss string
	if data, err := os.ReadFile("/proc/self/status"); err == nil {
		for _, line := range strings.Split(string(data), "\n") {
			if len(line) > 6 && line[:6] == "VmHWM:" {
				rss = line
			}
		}
	}
	t.Log(rss)
}
