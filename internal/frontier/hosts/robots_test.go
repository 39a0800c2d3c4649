package hosts

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// TestRobots follows the robots.txt of an origin: its text is in the file while it is the one that
// counts, and what was derived of it is of the same file.
func TestRobots(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, o := visited(t, l)
	at := time.Unix(1_700_000_000, 0).UTC()
	body := []byte("User-agent: *\nDisallow: /x\nClean-param: ref\n")
	f := &crawl.Robots{Body: body, Digest: []byte{1, 2}, ETag: `"a"`, LastModified: "then", CrawlDelay: 3 * time.Second, HasCrawlDelay: true, Fresh: time.Hour, Age: time.Minute}
	o.RobotsAnswered(200, "")
	if err := o.KeepRobots(f, robots.Parse(body), true, at); err != nil {
		t.Fatal(err)
	}
	if o.Copy != crawl.RobotsParsed || o.CrawlDelay != 3*time.Second || !o.HasDelay || !o.Cleans || !o.Uses || o.ETag != `"a"` || !o.History.Fetched.Equal(at) {
		t.Errorf("kept: %+v", o)
	}
	commit(t, l)
	l = reopened(t, l)
	h, o = testHost(t, l, "a.example")
	if got := RobotsCopy(l.Tx, h.ID, o.Origin); !bytes.Equal(got, body) {
		t.Errorf("the file has %q", got)
	}

	o.RenewRobots(&crawl.Robots{ETag: `"b"`, Fresh: time.Hour}, at.Add(time.Hour))
	if o.ETag != `"b"` || o.LastMod != "then" || o.HasDelay || !o.Cleans || !bytes.Equal(o.Digest, f.Digest) {
		t.Errorf("renewed: %+v", o)
	}

	o.RobotsFailed(at.Add(2*time.Hour), 503, 0)
	if o.History.Failures != 1 || o.Copy != crawl.RobotsParsed || !o.History.RetryAt.After(at.Add(2*time.Hour)) {
		t.Errorf("failed: %+v", o)
	}
	since := o.History.Since
	if o.RetryRobots(); o.History.Failures != 0 || !o.History.RetryAt.IsZero() || !o.History.Since.Equal(since) {
		t.Errorf("retried: %+v", o)
	}
	if o.ExpireRobots(); o.History.Fresh != 0 || o.Copy != crawl.RobotsParsed {
		t.Errorf("expired: %+v", o)
	}

	o.AwaitRobots("http://b.example/r", 2, at)
	if o.PendingOn != "http://b.example/r" || o.Redirects != 2 || !o.PendingAt.Equal(at) {
		t.Errorf("awaited: %+v", o)
	}
	o.RobotsAnswered(404, "not found")
	if err := o.NoRobots(at.Add(3*time.Hour), time.Hour); err != nil {
		t.Fatal(err)
	}
	if o.PendingOn != "" || o.Redirects != 0 || o.Status != 404 || o.Reason != "not found" || o.Copy != crawl.RobotsUnavailable ||
		o.Digest != nil || o.ETag != "" || o.Cleans || o.Uses || RobotsCopy(l.Tx, h.ID, o.Origin) != nil {
		t.Errorf("there is none: %+v", o)
	}
	o.LostRobots()
	if o.History != (robots.History{}) {
		t.Errorf("lost: %+v", o.History)
	}
}

// TestReportedBy: what a visit reports of robots.txt counts unless a newer visit has reported.
func TestReportedBy(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	_, o := testHost(t, l, "a.example")
	for i, step := range []struct {
		epoch, n uint64
		counts   bool
	}{{1, 5, true}, {1, 5, true}, {1, 4, false}, {2, 1, true}, {1, 9, false}} {
		if got := o.ReportedBy(crawl.VisitID{Epoch: step.epoch, N: step.n}); got != step.counts {
			t.Errorf("step %d counts: %v", i, got)
		}
	}
}

// TestRights: of the files that robots.txt names the newest few are kept, each with its text.
func TestRights(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, o := visited(t, l)
	at := time.Unix(1_700_000_000, 0).UTC()
	url := func(n int) canon.URL { return canon.URL(fmt.Sprintf("http://a.example/%d.json", n)) }
	keep := func(a crawl.RightsFile) {
		t.Helper()
		if err := o.KeepRights(&a, at); err != nil {
			t.Fatal(err)
		}
	}
	for n := range crawl.MaxAparts + 1 {
		keep(crawl.RightsFile{URL: url(n), State: crawl.RightsRead, Body: []byte("text"), Digest: []byte{byte(n)}, Fresh: time.Hour})
	}
	if len(o.Rights) != crawl.MaxAparts || o.Rights[0].URL != url(1) || RightsCopy(l.Tx, h.ID, url(0)) != nil || RightsCopy(l.Tx, h.ID, url(1)) == nil {
		t.Errorf("kept: %+v", o.Rights)
	}
	keep(crawl.RightsFile{URL: url(1), State: crawl.RightsNone, Reason: "gone", Fresh: time.Minute})
	if r := o.Rights[0]; r.State != crawl.RightsNone || r.Digest != nil || r.Reason != "gone" || !r.Due.Equal(at.Add(time.Minute)) || RightsCopy(l.Tx, h.ID, url(1)) != nil {
		t.Errorf("one that is gone: %+v", r)
	}
	keep(crawl.RightsFile{URL: "http://b.example/1.json", State: crawl.RightsRead})
	keep(crawl.RightsFile{URL: url(9)})
	if len(o.Rights) != crawl.MaxAparts {
		t.Errorf("a file of another origin was kept, or one that nothing is known of: %+v", o.Rights)
	}
}
