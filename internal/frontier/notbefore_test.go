package frontier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/polite"
)

// A visit that is given back, because its address has too much work with other hosts, costs its
// URLs only the waiting time: other hosts continue, no attempt is counted, and a crawl that waits
// for that is not done, however short its --hold-max is.
func TestNotBefore(t *testing.T) {
	for _, tt := range []struct{ reported, waits time.Duration }{
		{90 * time.Second, 90 * time.Second},
		{polite.LongestNotBefore, polite.LongestNotBefore},
		// The maximum, whatever a fetcher reports
		{polite.LongestNotBefore + time.Second, polite.LongestNotBefore},
	} {
		synctest.Test(t, func(t *testing.T) {
			spec := testSpec("http://a.example/", "http://b.example/")
			spec.HoldMax = time.Second
			b := newBench(t, spec)
			b.links(0, "", "http://a.example/", "http://a.example/x")
			b.event(crawl.Event{Robots: []crawl.Robots{robotsOK("http://a.example/")}})
			v := b.grant(1)[0]
			b.event(crawl.Event{Visit: v.ID, Outcome: &crawl.Outcome{Host: v.Host, Delay: v.Delay, NotBefore: tt.reported,
				Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}, {URL: v.URLs[1].URL, Class: crawl.Returned}}}})
			b.links(0, "", "http://b.example/")
			if got := b.grant(2); len(got) != 1 || got[0].Host != "b.example" {
				t.Fatalf("granted %+v, want the other host alone", got)
			}
			b.commit()
			b.crash()
			b.open()
			time.Sleep(tt.waits - time.Second)
			if got := b.grant(2); len(got) != 1 || got[0].Host != "b.example" {
				t.Fatalf("%v: granted %+v before the time", tt.reported, got)
			}
			if st := b.status(); len(st.Postponed) != 0 || st.Shards[0].DueSoon == 0 {
				t.Errorf("%+v: want neither done nor postponed", st)
			}
			time.Sleep(2 * time.Second)
			got := b.grant(1)
			if len(got) != 1 || got[0].Host != "a.example" || len(got[0].URLs) != 2 || got[0].URLs[0].Attempts != 0 {
				t.Errorf("%v: granted %+v after the time, want both URLs without an attempt lost", tt.reported, got)
			}
		})
	}
}
