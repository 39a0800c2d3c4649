package fetcher

import (
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/wiretest"
	"github.com/curtsy/curtsy/internal/simweb"
	"github.com/curtsy/curtsy/pkg/canon"
)

// BenchmarkPage measures the cost of a page for the whole process: the fetcher, the toy frontier,
// the JetStream server, and simweb's side of the connection. cpu-µs/page is the user and system
// time of all of it.
func BenchmarkPage(b *testing.B) {
	for _, c := range []struct {
		name    string
		discard bool
	}{{"stored", false}, {"discarded", true}} {
		b.Run(c.name, func(b *testing.B) { benchmarkPage(b, c.discard) })
	}
}

func benchmarkPage(b *testing.B, discard bool) {
	const hosts, pages = 16, 64
	web, err := simweb.Start(simweb.Bench(hosts, pages, 8)) // on real sockets, since they cost most
	if err != nil {
		b.Fatal(err)
	}
	defer web.Close()
	d := newDesk(b, 4)
	spec := testSpec(4, "")
	spec.Resolve, spec.Seeds, spec.Scope = []string{web.Resolve()}, web.Seeds(), "domain"
	// The pages of each host, found by a crawl.
	f := newToy(d, 0, web.Seeds(), func(canon.URL) bool { return false })
	ft, stop := startFetcher(b, d, spec, Options{DiscardPages: discard, Dial: wiretest.Real.Dial})
	f.run(time.Minute)
	var visits []crawl.Visit
	for name, h := range f.hosts {
		v := crawl.Visit{Host: name, Hurried: true}
		for _, r := range h.robots {
			v.Robots = append(v.Robots, *r)
		}
		for u := range f.state {
			if u.Host() == name && len(v.URLs) < 64 {
				v.URLs = append(v.URLs, crawl.VisitURL{URL: u})
			}
		}
		visits = append(visits, v)
	}
	d.seen = nil
	before, start := cpuTime(), ft.StageSeconds()
	n := 0
	b.ResetTimer()
	for n < b.N {
		var ids []crawl.VisitID
		for _, v := range visits {
			ids = append(ids, d.grant(v))
			if n += len(v.URLs); n >= b.N {
				break
			}
		}
		for _, id := range ids {
			out := d.outcome(id)
			for _, r := range out.Results {
				if r.Class != crawl.Stored {
					b.Fatalf("%+v", r)
				}
			}
		}
		d.mu.Lock()
		d.events, d.shards, d.pages = nil, nil, nil
		d.mu.Unlock()
	}
	b.StopTimer()
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(n), "cpu-µs/page")
	for name, v := range ft.StageSeconds() {
		b.ReportMetric((v-start[name])*1e6/float64(n), name+"-µs/page")
	}
	stop()
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
