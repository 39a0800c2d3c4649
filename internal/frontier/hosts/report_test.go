package hosts

import (
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// TestReports applies outcomes in and out of order: the sums have what each visit sent, once.
func TestReports(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := testHost(t, l, "a.example")
	apply := func(visit uint64, requests int, bytes int64, partial bool) bool {
		if !h.BeginReport(crawl.VisitID{Epoch: 1, N: visit}) {
			return false
		}
		h.AddReport(&crawl.Outcome{Requests: requests, Bytes: bytes})
		if !partial {
			h.EndReport()
		}
		return true
	}
	for i, step := range []struct {
		visit    uint64
		requests int
		bytes    int64
		partial  bool
		counts   bool
		sum      int64 // of requests, and of bytes in hundreds
	}{
		{2, 3, 300, true, true, 3},
		{2, 3, 300, true, true, 3},   // it came twice
		{2, 2, 200, true, true, 3},   // an earlier one was late
		{2, 7, 700, false, true, 7},  // its end
		{2, 7, 700, false, false, 7}, // again
		{1, 9, 900, false, false, 7}, // an older visit: how much of it was added nobody knows
		{3, 1, 100, true, true, 8},
		{4, 2, 200, false, true, 10}, // the end of visit 3 is missing
		{3, 4, 400, false, false, 10},
	} {
		if counts := apply(step.visit, step.requests, step.bytes, step.partial); counts != step.counts {
			t.Errorf("step %d: counts %v", i, counts)
		}
		sums := &l.Meta.Counts
		if h.Fetched != step.sum || sums.Requests != step.sum || sums.Bytes != 100*step.sum {
			t.Errorf("step %d: %d requests, the shard has %d with %d bytes, want %d", i, h.Fetched, sums.Requests, sums.Bytes, step.sum)
		}
	}
}

// TestDue: a wait is never shortened, and its reason is that of the longest one.
func TestDue(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := testHost(t, l, "a.example")
	now := time.Unix(1_700_000_000, 0)
	for i, step := range []struct {
		after  time.Duration
		why    string
		due    time.Duration
		reason string
	}{
		{time.Second, "", time.Second, ""},
		{time.Hour, DueRetryAfter, time.Hour, DueRetryAfter},
		{time.Minute, DueAddress, time.Hour, DueRetryAfter},
		{time.Hour, "", time.Hour, DueRetryAfter}, // the same time: nothing is to be said about it
		{2 * time.Hour, "", 2 * time.Hour, ""},
	} {
		h.DelayUntil(now.Add(step.after), step.why)
		if h.Due.Sub(now) != step.due || h.DueReason != step.reason {
			t.Errorf("step %d: due after %v because of %q", i, h.Due.Sub(now), h.DueReason)
		}
	}
}

// TestBoundTimes: what a wrong clock wrote is moved back, and nothing else.
func TestBoundTimes(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, o := testHost(t, l, "a.example")
	now := time.Unix(1_700_000_000, 0)
	h.DelayUntil(now.Add(time.Minute), "")
	o.AskedSitemaps(now.Add(-time.Hour), nil)
	commit(t, l)
	if h.BoundTimes(now.Add(time.Minute), now); l.Changes != 0 {
		t.Error("times that are possible are changed")
	}
	h.DelayUntil(now.Add(time.Hour), "")
	o.AskedSitemaps(now.Add(time.Hour), nil)
	o.RobotsFailed(now.Add(24*time.Hour), 500, 0)
	h.BoundTimes(now.Add(time.Minute), now)
	if !h.Due.Equal(now.Add(time.Minute)) || !o.SitemapsAsked.Equal(now) || !o.History.RetryAt.Equal(now.Add(robots.FirstRetry)) || o.History.Since.After(now) {
		t.Errorf("due %v, sitemaps %v, robots.txt %+v; now %v", h.Due, o.SitemapsAsked, o.History, now)
	}
	o.NoRobots(now.Add(time.Hour), time.Minute)
	if h.BoundTimes(now, now); !o.History.Fetched.Equal(now.Add(-time.Minute)) {
		t.Errorf("a robots.txt of the future: %+v", o.History)
	}
}

// TestSlowDown: a visit doubles the delay once, however often it reports trouble.
func TestSlowDown(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := testHost(t, l, "a.example")
	for n := range uint64(5) {
		h.BeginReport(crawl.VisitID{Epoch: 1, N: n + 1})
		h.SlowDown(3)
		h.SlowDown(3)
		if want := min(int(n)+1, 3); h.Backoff != want {
			t.Errorf("after visit %d the delay is doubled %d times, want %d", n, h.Backoff, want)
		}
	}
	for _, want := range []int{2, 1, 0, 0} {
		if h.SpeedUp(); h.Backoff != want {
			t.Errorf("doubled %d times, want %d", h.Backoff, want)
		}
	}
}

// TestAnsweredIn: the first figure counts whole, each later one a quarter.
func TestAnsweredIn(t *testing.T) {
	t.Parallel()
	l := testLedger(t, testPath(t))
	h, _ := testHost(t, l, "a.example")
	for _, step := range []struct{ in, want time.Duration }{{100, 100}, {200, 125}, {25, 100}} {
		if h.AnsweredIn(step.in); h.Response != step.want {
			t.Errorf("after %d it is %d, want %d", step.in, h.Response, step.want)
		}
	}
}
