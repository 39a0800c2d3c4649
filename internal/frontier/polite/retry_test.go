package polite

import (
	"slices"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// sequence is what a retry waits after each of n failures in a row.
func sequence(n int, after func(n int) time.Duration) (all []time.Duration) {
	for i := range n {
		all = append(all, after(i+1))
	}
	return all
}

func hours(all ...time.Duration) []time.Duration {
	for i := range all {
		all[i] *= time.Hour
	}
	return all
}

// TestRetries pins the waits of each kind of request. They are promises to webmasters: a change
// belongs into docs/webmasters.md.
func TestRetries(t *testing.T) {
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, c := range []struct {
		name  string
		after func(n int) time.Duration
		want  []time.Duration
	}{
		{"a RUP server", RetryRUP.After, hours(1, 2, 4, 8, 16, 24, 24, 24)},
		{"a server of mobile robots", RetryDispatch.After, hours(1, 2, 4, 8, 16, 24, 24)},
		{"a page that a mobile robot brought", RetryVerify.After, []time.Duration{10 * m, 20 * m, 40 * m, h, h}},
		{"a hub", RetryWebSub.After, hours(2, 4, 8, 16, 32, 32)},
		{"a page with a copy, re-crawled weekly at the latest", RetryCopy.UpTo(7 * 24 * h).After,
			[]time.Duration{5 * m, 20 * m, 80 * m, 320 * m, 1280 * m, 5120 * m, 7 * 24 * h, 7 * 24 * h}},
		{"a page with a copy, re-crawled each minute", RetryCopy.UpTo(m).After, []time.Duration{m, m, m}},
		{"robots.txt", RetryRobots.After, []time.Duration{5 * m, 10 * m, 20 * m, 40 * m, 80 * m, 160 * m, 320 * m, 6 * h, 6 * h}},
		{"robots.txt, as its package counts", robots.NextRetry,
			[]time.Duration{5 * m, 10 * m, 20 * m, 40 * m, 80 * m, 160 * m, 320 * m, 6 * h, 6 * h}},
		{"a URL at the ordinary delay", urlRetry(t, time.Second, false), []time.Duration{5 * s, 20 * s, 80 * s, 320 * s, 1280 * s, 5120 * s, 20480 * s, 81920 * s}},
		{"a URL at a long delay", urlRetry(t, time.Minute, false), []time.Duration{5 * s, 20 * s}},
		{"a URL of a public host without delay", urlRetry(t, 0, false), []time.Duration{5 * s, 20 * s}},
		{"a URL of a private host without delay", urlRetry(t, 0, true), []time.Duration{s, 4 * s, 16 * s}},
		{"a URL of a private host at a short delay", urlRetry(t, 500*time.Millisecond, true), []time.Duration{2500 * time.Millisecond, 10 * s}},
	} {
		if got := sequence(len(c.want), c.after); !slices.Equal(got, c.want) {
			t.Errorf("%s: waits %v, want %v", c.name, got, c.want)
		}
	}
	if RetryWebSub.Tries != 5 || RetryVerify.Tries != 3 || SitemapTries != 3 || FeedTries != 8 || hosts.MaxAttempts != 3 {
		t.Error("the number of tries has changed")
	}
}

// TestRetriesStop asks for waits after more failures than there can be.
func TestRetriesStop(t *testing.T) {
	for _, r := range []Retry{RetryRUP, RetryWebSub, RetryDispatch, RetryVerify, RetryRobots, RetryCopy.UpTo(time.Hour)} {
		for _, n := range []int{0, 1, 100, 1 << 30} {
			if d := r.After(n); d < r.First && d < r.Most || d > r.Most {
				t.Errorf("%+v waits %v after %d failures", r, d, n)
			}
		}
	}
}

func urlRetry(t *testing.T, delay time.Duration, private bool) func(n int) time.Duration {
	t.Helper()
	l := hosts.New(hosts.Options{Judge: judge.Judge{Spec: crawl.Spec{Delay: delay}}})
	h := &hosts.Host{Name: canon.Host("a.example"), Pace: hosts.Pace{Private: private}}
	return func(n int) time.Duration { return New(hosts.NewFeatures(l), l).RetryIn(h, n) }
}
