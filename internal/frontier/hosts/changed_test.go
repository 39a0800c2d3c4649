package hosts

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// changes has each method that changes the record of a host.
var changes = []struct {
	name   string
	change func(h *Host, o *Origin, at time.Time) error
}{
	{"DelayUntil", ok(func(h *Host, _ *Origin, at time.Time) { h.DelayUntil(at, DueRetryAfter) })},
	{"SetTimes", ok(func(h *Host, _ *Origin, at time.Time) {
		h.DelayUntil(at, "")
		h.SetTimes(func(t *time.Time, _ times.Kind) { *t = t.Add(time.Hour) })
	})},
	{"BoundTimes", ok(func(h *Host, _ *Origin, at time.Time) {
		h.DelayUntil(at.Add(time.Hour), "")
		h.BoundTimes(at, at)
	})},
	{"SlowDown", ok(func(h *Host, _ *Origin, _ time.Time) { h.SlowDown(3) })},
	{"SpeedUp", ok(func(h *Host, _ *Origin, _ time.Time) { h.SlowDown(3); h.SpeedUp() })},
	{"AnsweredIn", ok(func(h *Host, _ *Origin, _ time.Time) { h.AnsweredIn(time.Second) })},
	{"BeginReport", ok(func(h *Host, _ *Origin, _ time.Time) { h.BeginReport(crawl.VisitID{Epoch: 9}) })},
	{"AddReport", ok(func(h *Host, _ *Origin, _ time.Time) { h.AddReport(&crawl.Outcome{Requests: 5, Bytes: 7}) })},
	{"VisitedWith", ok(func(h *Host, _ *Origin, _ time.Time) { h.VisitedWith(true, time.Minute) })},
	{"EndReport", ok(func(h *Host, _ *Origin, _ time.Time) { h.BeginReport(crawl.VisitID{Epoch: 9}); h.EndReport() })},
	{"URLQueued", ok(func(h *Host, _ *Origin, _ time.Time) { h.URLQueued(0, false); h.URLQueued(0, true) })},
	{"URLDequeued", ok(func(h *Host, _ *Origin, _ time.Time) {
		h.URLQueued(0, true)
		h.URLQueued(0, false)
		h.URLDequeued(0, true)
	})},
	{"CountURL", ok(func(h *Host, _ *Origin, _ time.Time) {
		h.CountURL(crawl.Stored, "", 2)
		h.CountURL(crawl.Failed, crawl.ReasonTimeout, 1)
		h.CountURL(crawl.Refused, crawl.ReasonScope, 1)
	})},
	{"LinkLeftOut", ok(func(h *Host, _ *Origin, _ time.Time) { h.LinkLeftOut() })},
	{"KeepRequests", ok(func(h *Host, _ *Origin, _ time.Time) { h.KeepRequests(12) })},
	{"AddAgain", ok(func(_ *Host, o *Origin, _ time.Time) { o.AddAgain(77) })},
	{"DropAgain", ok(func(_ *Host, o *Origin, _ time.Time) { o.AddAgain(77); o.AddAgain(99); o.DropAgain(77) })},
	{"KeepMirror", ok(func(_ *Host, o *Origin, at time.Time) { o.KeepMirror(&mirror.Record{State: mirror.Main, Since: at}) })},
	{"BeginDispatch", ok(func(_ *Host, o *Origin, at time.Time) { o.BeginDispatch(at) })},
	{"DispatchEnded", ok(func(h *Host, o *Origin, at time.Time) {
		o.BeginDispatch(at)
		o.DispatchEnded()
		o.RedirectedHere() // otherwise the host is as before
	})},
	{"PageMoved", ok(func(_ *Host, o *Origin, _ time.Time) {
		o.PageMoved(canon.Origin{Scheme: "https", Host: "b.example", Port: 443})
	})},
	{"RedirectedHere", ok(func(_ *Host, o *Origin, _ time.Time) { o.RedirectedHere() })},
	{"TwinAsked", ok(func(_ *Host, o *Origin, _ time.Time) { o.TwinAsked() })},
	{"AskTwinAgain", ok(func(_ *Host, o *Origin, _ time.Time) { o.TwinAsked(); o.RedirectedHere(); o.AskTwinAgain() })},
	{"KeepData", ok(func(_ *Host, o *Origin, at time.Time) { o.KeepData(crawl.ProbeRead, "text", at) })},
	{"AwaitData", ok(func(_ *Host, o *Origin, _ time.Time) { o.AwaitData("http://b.example/data.txt") })},
	{"NoData", ok(func(_ *Host, o *Origin, _ time.Time) { o.NoData() })},
	{"ForgetData", ok(func(_ *Host, o *Origin, _ time.Time) { o.ForgetData() })},
	{"ReadmitData", ok(func(_ *Host, o *Origin, at time.Time) {
		o.AwaitData("x")
		o.KeepData(crawl.ProbeRead, "text", at)
		o.ReadmitData()
	})},
	{"ExpireData", ok(func(_ *Host, o *Origin, at time.Time) { o.KeepData(crawl.ProbeRead, "text", at); o.ExpireData() })},
	{"KeepFiles", ok(func(_ *Host, o *Origin, at time.Time) {
		o.KeepFiles(crawl.OriginFiles{SecurityTxt: &crawl.SecurityTxt{State: "read"}}, crawl.OriginFilesDue{LLMSTxtDue: at})
	})},
	{"NoRUP", ok(func(_ *Host, o *Origin, at time.Time) { o.NoRUP(at) })},
	{"AskedSitemaps", ok(func(_ *Host, o *Origin, at time.Time) { o.AskedSitemaps(at, []byte("says")) })},
	{"AskSitemapsAnew", ok(func(_ *Host, o *Origin, at time.Time) { o.AskedSitemaps(at, []byte("says")); o.AskSitemapsAnew() })},
	{"KeepSitemap", ok(func(h *Host, _ *Origin, _ time.Time) { h.KeepSitemap(true); h.KeepSitemap(false) })},
	{"QueueSitemap", ok(func(h *Host, _ *Origin, _ time.Time) { h.QueueSitemap() })},
	{"DequeueSitemaps", ok(func(h *Host, _ *Origin, _ time.Time) { h.QueueSitemap(); h.QueueSitemap(); h.DequeueSitemaps(1) })},
	{"ReadForeignSitemap", ok(func(h *Host, _ *Origin, at time.Time) { h.ReadForeignSitemap(at, 1000) })},
	{"ReportedBy", ok(func(_ *Host, o *Origin, _ time.Time) { o.ReportedBy(crawl.VisitID{Epoch: 9}) })},
	{"RobotsAnswered", ok(func(_ *Host, o *Origin, _ time.Time) { o.RobotsAnswered(503, "busy") })},
	{"KeepRobots", func(_ *Host, o *Origin, at time.Time) error {
		return o.KeepRobots(&crawl.Robots{Digest: []byte{1}, ETag: "e", LastModified: "l", Fresh: time.Hour}, new(robots.File), true, at)
	}},
	{"RenewRobots", ok(func(_ *Host, o *Origin, at time.Time) { o.RenewRobots(&crawl.Robots{ETag: "e", LastModified: "l"}, at) })},
	{"NoRobots", func(_ *Host, o *Origin, at time.Time) error { return o.NoRobots(at, time.Hour) }},
	{"RobotsFailed", ok(func(_ *Host, o *Origin, at time.Time) { o.RobotsFailed(at, 500, time.Minute) })},
	{"AwaitRobots", ok(func(_ *Host, o *Origin, at time.Time) { o.AwaitRobots("http://b.example/robots.txt", 2, at) })},
	{"LostRobots", ok(func(_ *Host, o *Origin, at time.Time) {
		o.RobotsFailed(at, 500, 0)
		o.RobotsAnswered(500, "x")
		o.LostRobots()
	})},
	{"ExpireRobots", ok(func(_ *Host, o *Origin, at time.Time) {
		o.RenewRobots(&crawl.Robots{Fresh: time.Hour}, at)
		o.ExpireRobots()
	})},
	{"RetryRobots", ok(func(_ *Host, o *Origin, at time.Time) { o.RobotsFailed(at, 500, 0); o.RetryRobots() })},
	{"KeepRights", func(_ *Host, o *Origin, at time.Time) error {
		return o.KeepRights(&crawl.RightsFile{URL: "http://a.example/tdm.json", State: crawl.RightsRead, Digest: []byte{2}, Fresh: time.Hour}, at)
	}},
}

func ok(change func(h *Host, o *Origin, at time.Time)) func(*Host, *Origin, time.Time) error {
	return func(h *Host, o *Origin, at time.Time) error { change(h, o, at); return nil }
}

// TestChangesAreWritten makes each change there is to a host that was visited: after a commit the
// file has it, after a crash without one the host is as it was. Whatever is changed may have
// another position in the schedule.
func TestChangesAreWritten(t *testing.T) {
	t.Parallel()
	record := func(h *Host) []byte {
		v, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	at := time.Unix(1_700_000_000, 0).UTC()
	l := testLedger(t, testPath(t))
	visited(t, l)
	for _, c := range changes {
		for _, committed := range []bool{false, true} {
			l = reopened(t, l)
			h, o := testHost(t, l, "a.example")
			was, before := record(h), l.Changes
			l.TakeUnscheduled()
			if err := c.change(h, o, at); err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			want := record(h)
			if before > 0 || l.Changes == 0 {
				t.Errorf("%s: %d changes are to be committed before it, %d afterwards", c.name, before, l.Changes)
			}
			if all := l.TakeUnscheduled(); len(all) != 1 || all[0] != h {
				t.Errorf("%s: %d hosts are to be scheduled", c.name, len(all))
			}
			if bytes.Equal(want, was) {
				t.Errorf("%s: changes nothing", c.name)
			}
			if committed {
				commit(t, l)
			} else {
				want = was
			}
			l = reopened(t, l)
			if h, _ := testHost(t, l, "a.example"); !bytes.Equal(record(h), want) {
				t.Errorf("%s, committed %v: the file has\n%s, want\n%s", c.name, committed, record(h), want)
			}
			if committed { // the next change begins with a new host
				crash(t, l)
				l = testLedger(t, testPath(t))
				visited(t, l)
			}
		}
	}
}

// TestOriginsBelong adds origins until their slice has moved, and reads the host from the file:
// each origin marks the host that it is one of.
func TestOriginsBelong(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := visited(t, l)
	for port := range MaxOrigins {
		l.OriginOf(h, canon.Origin{Scheme: "https", Host: h.Name, Port: 1000 + port})
	}
	commit(t, l)
	for range 2 {
		if len(h.Origins) != MaxOrigins {
			t.Fatalf("%d origins", len(h.Origins))
		}
		for i := range h.Origins {
			if o := &h.Origins[i]; o.host != h {
				t.Fatalf("origin %d belongs to another host", i)
			}
		}
		h.Origins[MaxOrigins-1].RedirectedHere()
		if l.Changes == 0 {
			t.Error("a change of the last origin is not to be written")
		}
		l = reopened(t, l)
		h, _ = testHost(t, l, "a.example")
	}
}
