package frontier

import (
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// BenchmarkLinks offers the links of pages, 43 per page, to a shard that grows: most are repeats,
// as on real sites. Each iteration is one link; decoding the message and commits are included.
func BenchmarkLinks(b *testing.B) {
	for _, hosts := range []int{1, 1000} {
		b.Run(fmt.Sprintf("hosts=%d", hosts), func(b *testing.B) {
			t := newBench(b, testSpec("http://h0.example/"))
			var msgs [][]byte
			const perMessage, fresh = 32 * 43, 32 * 8 // a visit of 32 pages, 8 new links on each
			n := 0
			for len(msgs)*perMessage < b.N {
				h := len(msgs) % hosts
				l := crawl.Links{Depth: 3, FoundOn: canon.URL(fmt.Sprintf("http://h%d.example/section/page-0.html", h))}
				for i := range perMessage {
					if i < fresh {
						n++
						l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/section/page-%d.html", h, n)))
					} else {
						l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/section/page-%d.html", h, 1+(n*7+i*13)%max(n, 1))))
					}
				}
				msgs = append(msgs, crawl.AppendEvent(nil, &crawl.Event{Links: []crawl.Links{l}}))
			}
			b.ResetTimer()
			for i, m := range msgs {
				e := queue.Entry{Position: queue.Position{Seq: uint64(i + 1), Time: time.Now()}, Data: m}
				if err := t.s.apply([]queue.Entry{e}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(t.s.Ledger.Meta.Counts.Queued), "urls")
		})
	}
}

// BenchmarkVisit grants visits of 32 URLs and applies their outcomes; each iteration is one URL.
func BenchmarkVisit(b *testing.B) {
	spec := testSpec("http://h0.example/")
	spec.Delay = 0
	t := newBench(b, spec)
	const hosts = 100
	for h := range hosts {
		l := crawl.Links{}
		for i := 0; i <= b.N/hosts+64; i++ {
			l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.example/page-%d.html", h, i)))
		}
		t.event(crawl.Event{Links: []crawl.Links{l}})
		t.s.Ledger.Hosts[canon.Host(fmt.Sprintf("h%d.example", h))].Private = true
	}
	b.ResetTimer()
	for n := 0; n < b.N; {
		vs := t.grant(8)
		if len(vs) == 0 {
			b.Fatal("nothing due")
		}
		for _, v := range vs {
			t.finish(v, crawl.Stored, "")
			n += len(v.URLs)
		}
	}
}

// BenchmarkMoveShard moves a shard of 100,000 URLs from one frontier to another over NATS: from the
// decision to the moment at which its new owner may grant.
func BenchmarkMoveShard(b *testing.B) {
	spec := crewSpec(1)
	c := newCrew(b, spec)
	c.term = 10 * time.Second // as in production
	c.opt.Shards = []int{0}
	c.start("a")
	c.settled("a")
	var urls []canon.URL
	for i := range 100_000 {
		urls = append(urls, canon.URL(fmt.Sprintf("http://h%d.example/some/directory/page-%d.html", i%1000, i)))
	}
	c.seed(urls...)
	until(b, time.Minute, "all known", func() bool {
		st, err := asker.Status(b.Context(), c.q, spec)
		return err == nil && st.Discovered == 100_000
	})
	names := []string{"a", "b"}
	c.by["b"] = &member{dir: b.TempDir()}
	for i := 0; b.Loop(); i++ {
		from, to := names[i%2], names[1-i%2]
		c.by[from].stop()
		c.start(to)
		c.settled(to)
	}
}
