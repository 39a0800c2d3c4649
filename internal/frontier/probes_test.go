package frontier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

func TestDataTxtIsProbedOncePerLifetime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/2", "http://a.example/3")
		v := b.grant(1)[0]
		if !v.Robots[0].ProbeData {
			t.Fatal("a new origin is not to be probed?")
		}
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")},
			Probes: []crawl.Probe{{Origin: v.URLs[0].URL.Origin(), State: crawl.ProbeAbsent, Status: 404, Fresh: 7 * 24 * time.Hour}},
			Outcome: &crawl.Outcome{Host: v.Host, Requests: 2, Delay: time.Second, Results: []crawl.Result{
				{URL: v.URLs[0].URL, Class: crawl.Stored}, {URL: v.URLs[1].URL, Class: crawl.Returned}, {URL: v.URLs[2].URL, Class: crawl.Returned}}}})
		b.commit()
		b.crash()
		b.open()
		time.Sleep(6 * 24 * time.Hour)
		if v = b.grant(1)[0]; v.Robots[0].ProbeData {
			t.Error("probed again within its lifetime")
		}
		b.finish(v, crawl.Returned, "")
		time.Sleep(2 * 24 * time.Hour)
		if v = b.grant(1)[0]; !v.Robots[0].ProbeData {
			t.Error("not probed after its lifetime")
		}
	})
}

func TestDataTxtOnAnotherHostIsAnAuxRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := testSpec("http://a.example/")
		b := newBench(t, spec)
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")},
			Probes: []crawl.Probe{{Origin: v.URLs[0].URL.Origin(), State: crawl.ProbePending, Location: "http://b.example/data.txt", Redirects: 1, Fresh: time.Hour}}})
		b.finish(v, crawl.Stored, "")
		b.commit()
		out := b.s.Ledger.CommittedOutbox()
		if len(out) != 1 {
			t.Fatalf("%d messages, want the auxiliary request", len(out))
		}
		ev, _ := crawl.DecodeEvent(b.outgoing(out[0]))
		b.event(ev)
		w := b.grant(1)
		if len(w) != 1 || len(w[0].Aux) != 1 || len(w[0].Robots) != 1 || w[0].Robots[0].Origin.Host != "b.example" {
			t.Fatalf("%+v, want a visit to b.example with the auxiliary request and what is known of its robots.txt", w)
		}
		if st := b.status(); st.Shards[0].DueSoon != 0 && st.Shards[0].Outstanding == 0 {
			t.Errorf("%+v", st.Shards[0])
		}
		b.event(crawl.Event{Answers: []crawl.Answer{{Aux: w[0].Aux[0], Probe: crawl.Probe{State: crawl.ProbeRead, Fresh: 24 * time.Hour}}}})
		if o := b.s.Ledger.Hosts["a.example"].Origins[0]; o.Data != crawl.ProbeRead {
			t.Errorf("state %v, want what the other host answered", o.Data)
		}
	})
}

func TestCleanParamReachesCanonicalKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), State: crawl.RobotsParsed, Status: 200,
			Fresh: 24 * time.Hour, Digest: make([]byte, 32), Body: []byte("User-agent: *\nClean-param: sid /shop\n")}}})
		b.finish2(v)
		links := []string{"http://a.example/shop?sid=1&id=7", "http://a.example/shop?id=7&sid=2", "http://a.example/shop?id=7", "http://a.example/other?sid=1"}
		b.links(1, "http://a.example/", links...)
		if st := b.status(); st.Queued != 2 {
			t.Errorf("%d queued, want the shop page once and the other", st.Queued)
		}
		b.commit()
		b.crash()
		b.open()
		b.links(1, "http://a.example/", "http://a.example/shop?sid=99&id=7")
		if st := b.status(); st.Queued != 2 {
			t.Errorf("%d queued after a restart, want 2", st.Queued)
		}
	})
}

// finish2 ends a visit without a report about robots.txt.
func (b *bench) finish2(v crawl.Visit) {
	b.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: 1}
	for _, u := range v.URLs {
		o.Results = append(o.Results, crawl.Result{URL: u.URL, Class: crawl.Stored, Status: 200})
	}
	b.event(crawl.Event{Visit: v.ID, Outcome: o})
}

// The cost of Clean-param lines per link in the shard is bounded; a link that would cost more keeps
// its spelling, and the fetcher computes the clean one.
func TestCostOfCleanParamIsBounded(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	var lines strings.Builder
	for i := range 1300 {
		fmt.Fprintf(&lines, "Clean-param: s /*a%05d\n", i)
	}
	b.learned("http://a.example", lines.String(), crawl.VisitID{})
	long := "http://a.example/" + strings.Repeat("x", 100) + "/a00099?s=1"
	b.links(1, "http://a.example/", "http://a.example/a00009?s=1", long)
	for u, want := range map[string]bool{"http://a.example/a00009": true, "http://a.example/a00009?s=1": false, long: true, strings.TrimSuffix(long, "?s=1"): false} {
		if x := b.explain(u); x.Seen != want {
			t.Errorf("%s known: %v, want %v", u, x.Seen, want)
		}
	}
	pathQuery := canon.URL(long).PathQuery()
	if f := robots.Parse([]byte(lines.String())); f.CleanURL(pathQuery) != strings.TrimSuffix(pathQuery, "?s=1") {
		t.Error("the fetcher, with more time, does not clean it either")
	}
	began := time.Now()
	for range 2000 {
		b.s.Ledger.CleanURL(canon.URL(long))
	}
	t.Logf("%v a link", time.Since(began)/2000)
}
