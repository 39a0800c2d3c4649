package hosts

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// keepRobots gives an origin of a host a robots.txt.
func keepRobots(t *testing.T, l *Ledger, host canon.Host, port int, body string) canon.URL {
	t.Helper()
	h, err := l.HostOf(host)
	if err != nil {
		t.Fatal(err)
	}
	i, ok := l.OriginOf(h, canon.Origin{Scheme: "http", Host: host, Port: port})
	if !ok {
		t.Fatalf("%s has no capacity for port %d", host, port)
	}
	f := &crawl.Robots{Body: []byte(body), Digest: []byte{1}, Fresh: time.Hour}
	if err := h.Origins[i].KeepRobots(f, robots.Parse(f.Body), false, time.Now()); err != nil {
		t.Fatal(err)
	}
	u, err := canon.Parse(fmt.Sprintf("http://%s:%d/?a=1", host, port))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// A robots.txt of 500 KB with Clean-param lines took 24 MiB for as long as its host was in memory,
// so that a hundred ports of two hosts took 2.4 GB.
func TestCleanFilesAreBounded(t *testing.T) {
	l := testLedger(t, testPath(t))
	var full strings.Builder
	for n := 0; full.Len() < maxCleanText-200; n++ {
		fmt.Fprintf(&full, "Clean-param: a&%03x1&%03x2&%03x3&%03x4\n", n, n, n, n)
	}
	longest := full.String() + strings.Repeat("#", maxCleanText-full.Len())
	clean := func(u canon.URL) bool { return !strings.Contains(string(l.CleanURL(u)), "?") }
	u := keepRobots(t, l, "a.example", 80, longest)
	if !clean(u) {
		t.Errorf("%s is not cleaned by a file of %d bytes", u, len(longest))
	}
	if keepRobots(t, l, "a.example", 80, "Clean-param: b\n"); clean(u) {
		t.Error("the file from before is in use")
	}
	if keepRobots(t, l, "a.example", 80, longest+"#"); clean(u) {
		t.Error("a longer file is parsed in the shard")
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var all []canon.URL
	for i := range 100 {
		all = append(all, keepRobots(t, l, canon.Host(fmt.Sprintf("h%d.example", i%2)), 1000+i/2, longest))
		if !clean(all[i]) {
			t.Fatalf("%s is not cleaned", all[i])
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > maxCleanCost+8<<20 {
		t.Errorf("%d files take %d MiB", len(all), used>>20)
	}
	if n := l.cleans.order.Len(); n != len(l.cleans.byKey) || n < 5 || n > 50 || l.cleans.cost > maxCleanCost {
		t.Errorf("%d files in memory, and %d by their keys, which cost %d", n, len(l.cleans.byKey), l.cleans.cost)
	}
	if !clean(all[0]) || !clean(all[99]) {
		t.Error("a file that was put away is not read again")
	}
	runtime.KeepAlive(l)
}
