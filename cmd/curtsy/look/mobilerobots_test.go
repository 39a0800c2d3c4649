package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// What people see of mobile robots: each state has its sentence.
func TestMobileRobotsShown(t *testing.T) {
	at, until := time.Date(2026, 11, 28, 10, 0, 0, 0, time.Local), time.Date(2026, 12, 28, 10, 0, 0, 0, time.Local)
	d := crawl.DispatchInfo{Origin: "https://a.example", Path: "/docs/", Server: "atp://a.example:10434", Line: 3, State: "waiting"}
	done := d
	done.State, done.At, done.Next, done.Pages, done.Unchanged, done.Requests, done.BytesReceived = "done", &at, &until, 1200, 3, 5, 2<<20
	done.Sampled, done.Confirmed, done.Unclear = 12, 11, 1
	bad := done
	bad.Next, bad.Line, bad.DroppedUntil, bad.DropReason = nil, 0, &until, "https://a.example/docs/x has other content"
	for _, c := range []struct {
		about string
		info  crawl.DispatchInfo
		whole string // in curtsy hosts NAME
		note  string // in the list
	}{
		{"none was sent", d, "https://a.example/docs/ at atp://a.example:10434; waiting", "mobile robot for /docs/ waiting"},
		{"one is back", done, "https://a.example/docs/ at atp://a.example:10434; done; last 2026-11-28 10:00:00 with 1,200 pages and 3 unchanged for 5 requests and 2.0 MiB; " +
			"11 of 12 compared pages are the same, 1 unclear; next 2026-12-28 10:00:00",
			"mobile robot for /docs/ done: 1,200 pages and 3 unchanged for 5 requests and 2.0 MiB"},
		{"the server was dropped", bad, "https://a.example/docs/ at atp://a.example:10434; done; robots.txt no longer names the server; last 2026-11-28 10:00:00 with 1,200 pages and 3 unchanged for 5 requests and 2.0 MiB; " +
			"11 of 12 compared pages are the same, 1 unclear; not used until 2026-12-28 10:00:00 because https://a.example/docs/x has other content",
			"server atp://a.example:10434 for mobile robots not used until 2026-12-28 10:00:00 because https://a.example/docs/x has other content"},
	} {
		var out bytes.Buffer
		printHost(&out, crawl.HostInfo{Host: "a.example", Dispatches: []crawl.DispatchInfo{c.info}})
		if !strings.Contains(out.String(), "\nmobile robot "+c.whole+"\n") {
			t.Errorf("%s: %s", c.about, &out)
		}
		if got := hostNote(crawl.HostInfo{Dispatches: []crawl.DispatchInfo{c.info}}); got != c.note {
			t.Errorf("%s: %s", c.about, got)
		}
	}
	came := crawl.ExplainRobot{Server: "atp://a.example:10434", At: at}
	same, dropped := came, came
	same.Verified = true
	dropped.DroppedUntil, dropped.DropReason = &until, "too few pages could be compared"
	for want, r := range map[string]*crawl.ExplainRobot{
		"brought the page from atp://a.example:10434, sent 2026-11-28 10:00:00; its pages are not compared with those of the site yet": &came,
		"brought the page from atp://a.example:10434, sent 2026-11-28 10:00:00; enough of its pages are the same as those of the site": &same,
		"the server is not used until 2026-12-28 10:00:00 because too few pages could be compared, and the page is fetched again":      &dropped,
	} {
		var out bytes.Buffer
		printExplanation(&out, crawl.Explanation{Seen: true, Robot: r})
		if !strings.Contains(out.String(), "\nmobile robot ") || !strings.Contains(out.String(), want+"\n") {
			t.Errorf("%s", &out)
		}
	}
	var out bytes.Buffer
	printStatus(&out, crawl.Status{State: "done", MobileRobots: &crawl.MobileRobots{Outstanding: 1, Sent: 2, Pages: 1200, Unchanged: 3, Received: 2 << 20, Confirmed: 11, Dropped: 1}}, "")
	if want := "mobile robots: 2 sent and 1 in flight, 1,200 pages brought, 3 unchanged, 2.0 MiB received, 11 compared and the same, 1 server dropped: curtsy hosts --has agents\n"; !strings.Contains(out.String(), want) {
		t.Errorf("%s", &out)
	}
}
