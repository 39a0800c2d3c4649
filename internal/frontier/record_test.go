package frontier

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Whatever a fetcher sends, no more of the text of a site is kept with a URL or an origin than
// crawl.MaxDetail.
func TestDetailsAreShort(t *testing.T) {
	b := newBench(t, testSpec("http://a.example/"))
	b.links(0, "", "http://a.example/")
	v := b.grant(1)[0]
	long := strings.Repeat("x", 67<<10)
	u := v.URLs[0].URL
	b.event(crawl.Event{
		Visit: v.ID, Robots: []crawl.Robots{{Origin: u.Origin(), State: crawl.RobotsUnreachable, Reason: long}},
		Probes:  []crawl.Probe{{Origin: u.Origin(), State: crawl.ProbeFailed, Reason: long}},
		Outcome: &crawl.Outcome{Host: v.Host, Requests: 1, Results: []crawl.Result{{URL: u, Class: crawl.Refused, Reason: crawl.ReasonType, Rule: long, Status: 200}}},
	})
	o := &b.s.Ledger.Hosts["a.example"].Origins[0]
	if r := b.record(string(u)); len(r.Detail) != crawl.MaxDetail || len(r.Append(nil)) > 400 || len(o.Reason) != crawl.MaxDetail || len(o.DataReason) != crawl.MaxDetail {
		t.Errorf("kept: %d bytes with the URL, a record of %d; %d and %d with the origin", len(r.Detail), len(r.Append(nil)), len(o.Reason), len(o.DataReason))
	}
}
