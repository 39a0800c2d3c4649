//go:build unix

package frontier

import (
	"flag"
	rand "math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/testaid"
)

// TestManyHosts also measures what many hosts cost, with more of them and one at a time:
//
//	go test ./internal/frontier -run TestManyHosts -v -timeout 0 -many-hosts 1000000
//
// Virtual time does not wait: the test takes as long as the frontier, and the simulated fetchers
// and sites, compute.
var (
	manyHosts  = flag.Int("many-hosts", testaid.Volume(1000, 200), "hosts of TestManyHosts")
	manyShards = flag.Int("many-shards", 2, "shards of TestManyHosts")
	manySpan   = flag.Duration("many-span", time.Minute, "simulated time of TestManyHosts")
)

// A crowd of hosts that are as unequal as on the web: most have few pages, some have more than can
// be fetched in the time, and their delays are from none to a minute. Of what their delays allow
// while they have work, with enough slots, 99 % must be used from the first second on.
func TestManyHosts(t *testing.T) {
	delays := []time.Duration{0, 0, 0, 0, 2, 2, 5, 10, 30, 60}
	sizes := []int{1, 2, 3, 3, 5, 8, 12, 30, 100}
	of := crowdOf{
		hosts: *manyHosts, shards: *manyShards, span: *manySpan,
		delay: func(h int) time.Duration { return delays[h%len(delays)] * time.Second },
		urls:  func(h int) int { return sizes[h/len(delays)%len(sizes)] },
		takes: func(rng *rand.Rand) time.Duration {
			return 20*time.Millisecond + time.Duration(rng.ExpFloat64()*float64(200*time.Millisecond))
		},
	}
	synctest.Test(t, func(t *testing.T) {
		before := spent()
		c := newCrowd(t, of)
		fed, urls := spent(), c.status().Discovered
		c.run()
		use := c.share()
		if use < 0.99 || use > 1 {
			t.Errorf("%.2f %% of the slots used, want at least 99", 100*use)
		}
		ran := spent()
		most, anonymous := statusKiB("VmHWM"), statusKiB("RssAnon")
		requests, visits := c.requests, c.visits
		resident := 0
		for _, b := range c.shards {
			resident += len(b.s.Ledger.Hosts)
		}
		heap := func() int64 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		// Drop the simulated parts, so that only the memory of the frontier remains.
		c.hosts, c.events, c.waiting = nil, nil, nil
		kept := heap()
		t.Logf("%d hosts in %d shards, %d URLs, %v: %.3f %% of the slots used, none early, %d requests in %d visits",
			of.hosts, of.shards, urls, of.span, 100*use, requests, visits)
		t.Logf("CPU: %.1f µs a URL to feed, %.1f µs a request with what is simulated", micros(fed-before)/float64(urls), micros(ran-fed)/float64(requests))
		t.Logf("memory: the shards hold %d MiB of heap, %d B a host, %d hosts of them in memory; the process, with what is simulated, %d MiB anonymous at the end, %d MiB at most, files included",
			kept>>20, kept/int64(of.hosts), resident, anonymous>>10, most>>10)
	})
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// spent returns the CPU time of this process, which is independent of the bubble's clock.
func spent() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it cannot fail for this process
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// statusKiB returns a figure of this process in /proc, 0 if there is none.
func statusKiB(name string) (kib int) {
	text, _ := os.ReadFile("/proc/self/status") // zero on a system without it
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, name+":"); ok {
			kib, _ = strconv.Atoi(strings.Fields(v)[0])
		}
	}
	return kib
}
