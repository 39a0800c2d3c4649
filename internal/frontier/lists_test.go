package frontier

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// asked returns a client that asks a bench like a frontier.
func asked(b *bench) *asker.Crawl {
	shards, spec := func() []*Shard { return []*Shard{b.s} }, func() crawl.Spec { return b.spec }
	a := answers{shards: shards, spec: spec, logDir: b.dir, mend: func([]crawl.Status) {}, stopped: true}
	return asker.Stopped(b.spec, func() error { return nil }, a.handlers())
}

// populate fills a bench with hosts of which every second was visited, and URLs on them. Each
// visited one has one page stored, or failed, or is queued because of its robots.txt.
func populate(t testing.TB, hosts, urls int) *bench {
	spec := testSpec("http://h0.example/")
	spec.Scope, spec.Delay = "any", 0
	b := newBench(t, spec)
	for h := 0; h < hosts; {
		l := crawl.Links{Depth: 1}
		for ; h < hosts && len(l.URLs) < 5000; h++ {
			for i := range max(urls/hosts, 1) {
				l.URLs = append(l.URLs, canon.URL(fmt.Sprintf("http://h%d.site%d.example/some/directory/page-%d.html", h, h, i)))
			}
		}
		b.event(crawl.Event{Links: []crawl.Links{l}})
		b.log = b.log[:0] // not replayed: keep memory for what is measured
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for visited := 0; visited < hosts/2; {
		vs := b.grant(16)
		if len(vs) == 0 {
			b.commit() // loads others
			if err := b.s.Ledger.Load(time.Now()); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, v := range vs {
			visited++
			o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: 1}
			ev := crawl.Event{Visit: v.ID, Outcome: o}
			for _, r := range v.Robots {
				f := robotsOK(canon.URL(r.Origin.String() + "/"))
				switch n := rnd.IntN(10); {
				case n < 3:
					f.State, f.Status, f.Body, f.CrawlDelay, f.HasCrawlDelay = crawl.RobotsParsed, 200, []byte("User-agent: *\nCrawl-delay: 1200\n"), 20*time.Minute, true
				case n < 6:
					f.State, f.Status, f.Body = crawl.RobotsParsed, 200, []byte("User-agent: *\nDisallow: /private\nContent-Signal: ai-train=no\nMobile-agent-server: / http://agents.example:80\n")
				}
				ev.Robots = append(ev.Robots, f)
			}
			class, reason := crawl.Stored, crawl.Reason("")
			if rnd.IntN(4) == 0 {
				class, reason = crawl.Failed, crawl.ReasonHTTP4xx
			}
			if len(v.URLs) > 0 {
				o.Results = append(o.Results, crawl.Result{URL: v.URLs[0].URL, Class: class, Reason: reason, Status: 200, FetchedAt: time.Now(), Took: time.Millisecond})
			}
			b.event(ev)
			b.log = b.log[:0]
		}
	}
	b.commit()
	return b
}

// TestHostsPageIsTheListOfHosts compares pages of hosts, in every order, with the answers for each
// single host, with evicted hosts; and again from the files.
func TestHostsPageIsTheListOfHosts(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		was := hosts.MaxResident
		hosts.MaxResident = 40
		t.Cleanup(func() { hosts.MaxResident = was })
		b := populate(t, 400, 1200)
		if resident := len(b.s.Ledger.Hosts); resident >= 300 {
			t.Fatalf("%d of 400 hosts are in memory: none sleeps", resident)
		}
		// A host whose delay ends between two pages of a list may be on both: wait until all delays
		// have ended.
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			soon := 0
			err := questions.Hosts.Each(t.Context(), asked(b), nil, func(h crawl.HostInfo) error {
				if h.NextDue != nil && time.Until(*h.NextDue) > -20*time.Millisecond && time.Until(*h.NextDue) < time.Minute {
					soon++
				}
				return nil
			})
			if err != nil || time.Now().After(deadline) {
				t.Fatalf("%d hosts are due soon (%v)", soon, err)
			}
			if soon == 0 {
				break
			}
		}
		check := func(c *asker.Crawl) {
			t.Helper()
			infos := map[string]crawl.HostInfo{}
			if err := questions.Hosts.Each(t.Context(), c, nil, func(h crawl.HostInfo) error { infos[h.Host] = h; return nil }); err != nil {
				t.Fatal(err)
			}
			for _, sort := range questions.HostsPage.Sorts.Words() {
				for _, down := range []bool{false, true} {
					var rows []crawl.HostRow
					q := crawl.HostsQuery{Paging: crawl.Paging{Sort: sort, Descending: down, Limit: 70}}
					for {
						p, err := c.HostsPage(t.Context(), q)
						if err != nil || p.Total != 400 || p.Matched != 400 {
							t.Fatalf("%s: %d of %d hosts (%v)", sort, p.Matched, p.Total, err)
						}
						rows = append(rows, p.Rows...)
						if q.After = p.Next; q.After == "" {
							break
						}
					}
					seen := map[string]bool{}
					for _, r := range rows {
						h := infos[r.Host]
						agents := len(h.AgentServers) > 0
						if h.State == "due" || h.State == "waiting" {
							h.State, h.NextDue = r.State, r.NextDue // time has advanced
						}
						if seen[r.Host] || r.State != h.State || r.Reason != h.Reason || r.Queued != h.Queued || r.Fetched != h.Fetched || r.DelayS != h.DelayS ||
							r.DelaySource != h.DelaySource || r.Agents != agents || r.Usage != (len(h.Robot.Usage) > 0) || r.Robots != (h.Robot.State == "parsed") || (r.NextDue == nil) != (h.NextDue == nil) {
							t.Fatalf("row %+v, but the host has\n%+v", r, h)
						}
						seen[r.Host] = true
					}
					if len(rows) != 400 {
						t.Fatalf("%s: %d rows, want 400", sort, len(rows))
					}
					in := slices.IsSortedFunc(rows, func(a, b crawl.HostRow) int {
						var c int
						switch sort {
						case "host":
							c = strings.Compare(a.Host, b.Host)
						case "queued":
							c = int(a.Queued - b.Queued)
						case "stored":
							c = int(a.Stored - b.Stored)
						case "failed":
							c = int(a.Failed - b.Failed)
						case "fetched":
							c = int(a.Fetched - b.Fetched)
						}
						if down {
							return -c
						}
						return c
					})
					if !in {
						t.Errorf("the rows are not in the order of %s, descending %v", sort, down)
					}
				}
			}
			var stored, failed int64
			p, err := c.HostsPage(t.Context(), crawl.HostsQuery{Paging: crawl.Paging{Limit: 500}})
			for _, r := range p.Rows {
				stored, failed = stored+r.Stored, failed+r.Failed
			}
			if st := b.status(); err != nil || stored != st.Stored || failed != st.Failed || failed == 0 {
				t.Errorf("%d stored and %d failed in the rows, %d and %d in the status (%v)", stored, failed, st.Stored, st.Failed, err)
			}
		}
		c := asked(b)
		check(c)
		for _, tt := range []struct {
			q    crawl.HostsQuery
			want func(h crawl.HostInfo) bool
		}{
			{crawl.HostsQuery{Filter: "H11"}, func(h crawl.HostInfo) bool { return strings.Contains(h.Host, "h11") }},
			{crawl.HostsQuery{Filter: "h1?.*"}, func(h crawl.HostInfo) bool { return h.Host[:2] == "h1" && h.Host[3] == '.' }},
			{crawl.HostsQuery{State: "held"}, func(h crawl.HostInfo) bool { return h.State == "held" }},
			{crawl.HostsQuery{Reason: "LONGER than the limit"}, func(h crawl.HostInfo) bool { return strings.Contains(h.Reason, "longer than the limit") }},
			{crawl.HostsQuery{Has: "agents"}, func(h crawl.HostInfo) bool { return len(h.AgentServers) > 0 }},
			{crawl.HostsQuery{Has: "usage"}, func(h crawl.HostInfo) bool { return len(h.Robots[0].Usage) > 0 }},
			{crawl.HostsQuery{Has: "mirror"}, func(h crawl.HostInfo) bool { return h.MirrorOf != nil }},
		} {
			var want int64
			if err := questions.Hosts.Each(t.Context(), c, nil, func(h crawl.HostInfo) error {
				if tt.want(h) {
					want++
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			p, err := c.HostsPage(t.Context(), tt.q)
			if err != nil || p.Matched != want || int64(len(p.Rows)) != min(want, crawl.DefaultLimit) || want == 0 && tt.q.Has != "mirror" {
				t.Errorf("%+v: %d hosts, want %d (%v)", tt.q, p.Matched, want, err)
			}
			if tt.q.State != "" && p.Counts["idle"]+p.Counts["due"]+p.Counts["waiting"]+p.Counts["visiting"]+p.Counts["held"] != 400 {
				t.Errorf("the counts of states are those of one state: %v", p.Counts)
			}
		}
		for _, bad := range []crawl.HostsQuery{
			{Filter: "[a"}, {Filter: strings.Repeat("a", 256)}, {Has: "everything"}, {Paging: crawl.Paging{Limit: 501}}, {Paging: crawl.Paging{Sort: "colour"}},
		} {
			if _, err := c.HostsPage(t.Context(), bad); err == nil {
				t.Errorf("%+v was answered", bad)
			}
		}
	})
}

// TestMirrorsAndUpdatesPages pages through both lists, with filters, and compares the sums.
func TestMirrorsAndUpdatesPages(t *testing.T) {
	b := populate(t, 300, 300)
	n := 0
	for _, h := range b.s.Ledger.Hosts {
		if h.Fetched == 0 {
			continue
		}
		o := &h.Origins[0]
		switch n++; {
		case n <= 30:
			o.Mirror = &mirror.Record{State: mirror.Unconfirmed, Target: canon.Origin{Scheme: "https", Host: "claimed.example", Port: 443}, Since: time.Unix(int64(n), 0)}
		case n <= 50:
			o.Mirror = &mirror.Record{State: mirror.OfMain, Main: canon.Origin{Scheme: "https", Host: "main.example", Port: 443}, Since: time.Unix(int64(n), 0)}
		case n <= 90:
			r := &updates.RUPSite{H: h}
			r.Report.Reported = int64(n)
			b.s.RUPSites.Sites[o.Origin] = r
		}
	}
	if n < 90 {
		t.Fatalf("%d hosts were visited", n)
	}
	c := asked(b)
	seen, q := map[string]bool{}, crawl.MirrorsQuery{Paging: crawl.Paging{Sort: "since", Descending: true, Limit: 7}}
	for last := int64(51); ; {
		p, err := questions.MirrorsPage.Ask(t.Context(), c, q)
		if err != nil || p.Total != 50 || p.Matched != 50 || p.Counts["mirror"] != 20 || p.Counts["unconfirmed"] != 30 {
			t.Fatalf("%+v (%v)", p, err)
		}
		for _, m := range p.Rows {
			if seen[m.Origin] || m.Since.Unix() != last-1 {
				t.Fatalf("%+v after %d", m, last)
			}
			last, seen[m.Origin] = m.Since.Unix(), true
		}
		if q.After = p.Next; q.After == "" {
			break
		}
	}
	if len(seen) != 50 {
		t.Errorf("%d mirrors in the pages, want 50", len(seen))
	}
	for _, tt := range []struct {
		q    crawl.MirrorsQuery
		want int64
	}{{crawl.MirrorsQuery{State: "mirror"}, 20}, {crawl.MirrorsQuery{Filter: "CLAIMED"}, 30}, {crawl.MirrorsQuery{Filter: "claimed", State: "mirror"}, 0}} {
		if p, err := questions.MirrorsPage.Ask(t.Context(), c, tt.q); err != nil || p.Matched != tt.want || int64(len(p.Rows)) != tt.want {
			t.Errorf("%+v: %d, want %d (%v)", tt.q, p.Matched, tt.want, err)
		}
	}
	p, err := questions.UpdatesPage.Ask(t.Context(), c, crawl.UpdatesQuery{Paging: crawl.Paging{Sort: "told", Descending: true, Limit: 10}, Source: "rup"})
	if err != nil || p.Total != 40 || p.Matched != 40 || len(p.Rows) != 10 || p.Rows[0].Reported != 90 || p.Rows[9].Reported != 81 || p.Counts["rup"] != 40 {
		t.Errorf("updates: %+v (%v)", p, err)
	}
	first, err := canon.Parse(p.Rows[0].Site + "/")
	if err != nil {
		t.Fatal(err)
	}
	of, err := questions.UpdatesPage.Ask(t.Context(), c, crawl.UpdatesQuery{Host: string(first.Host())})
	if err != nil || of.Total != 1 || len(of.Rows) != 1 || of.Rows[0].Site != p.Rows[0].Site {
		t.Errorf("updates of %s: %+v (%v)", first.Host(), of, err)
	}
	if of, err := questions.UpdatesPage.Ask(t.Context(), c, crawl.UpdatesQuery{Host: "nobody.example"}); err != nil || of.Total != 0 {
		t.Errorf("updates of nobody: %+v (%v)", of, err)
	}
	if p, err := questions.UpdatesPage.Ask(t.Context(), c, crawl.UpdatesQuery{Source: "sitemap"}); err != nil || p.Matched != 0 {
		t.Errorf("updates by sitemaps: %+v (%v)", p, err)
	}
}

const benchHosts = 100_000

// BenchmarkQuestions runs the queries of a dashboard on one shard with 10⁵ hosts and 10⁶ URLs.
func BenchmarkQuestions(b *testing.B) {
	t := populate(b, benchHosts, 10*benchHosts)
	c := asked(t)
	page := func(q crawl.HostsQuery) func() error {
		return func() error {
			p, err := c.HostsPage(b.Context(), q)
			if err == nil && p.Total != benchHosts {
				err = fmt.Errorf("%d hosts", p.Total)
			}
			return err
		}
	}
	cpu := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	for _, bb := range []struct {
		name string
		ask  func() error
	}{
		{"hosts-page by name", page(crawl.HostsQuery{})},
		{"hosts-page by queue", page(crawl.HostsQuery{Paging: crawl.Paging{Sort: "queued", Descending: true}})},
		{"hosts-page 500 by next_due", page(crawl.HostsQuery{Paging: crawl.Paging{Sort: "next_due", Limit: 500}})},
		{"hosts-page offset 1000", page(crawl.HostsQuery{Paging: crawl.Paging{Sort: "state", Offset: 1000}})},
		{"hosts-page filter", page(crawl.HostsQuery{Filter: "*7.site*", State: "held"})},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			began, n := cpu(), 0
			for ; b.Loop(); n++ {
				if err := bb.ask(); err != nil {
					b.Fatal(err)
				}
			}
			// CPU time, which is comparable on a busy machine.
			b.ReportMetric(float64((cpu()-began).Milliseconds())/float64(n), "cpu-ms/op")
		})
	}
}
