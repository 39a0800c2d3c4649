package robots_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Formats §1.1: the table, from answer to state.
func TestFormats_1_1_State(t *testing.T) {
	for _, tt := range []struct {
		codes   []int
		details []robots.Detail
		want    robots.State
	}{
		{[]int{200, 201, 204, 206, 299}, nil, robots.Parsed},
		{[]int{200, 206}, []robots.Detail{robots.BodyCut}, robots.Unreachable},
		{[]int{300, 301, 302, 303, 307, 308, 399}, nil, robots.Redirect},
		{[]int{301, 302}, []robots.Detail{robots.RedirectLost}, robots.Unavailable},
		{[]int{301, 302}, []robots.Detail{robots.RedirectRefused}, robots.Unreachable},
		{[]int{301}, []robots.Detail{robots.RedirectLost, robots.RedirectRefused}, robots.Unreachable},
		{[]int{304}, nil, robots.Unreachable},
		{[]int{304}, []robots.Detail{robots.CopyStored}, robots.Parsed},
		{[]int{400, 401, 403, 405, 451, 404, 410, 428, 430, 499}, nil, robots.Unavailable},
		{[]int{404}, []robots.Detail{robots.BodyCut, robots.CopyStored}, robots.Unavailable},
		{[]int{402, 429}, nil, robots.Unreachable},
		{[]int{402}, []robots.Detail{robots.BodyCut, robots.CopyStored}, robots.Unreachable},
		{[]int{500, 502, 503, 504, 599}, nil, robots.Unreachable},
		{[]int{0, -1, 100, 101, 199, 600, 999}, nil, robots.Unreachable},
	} {
		for _, code := range tt.codes {
			if got := robots.StateOf(code, tt.details...); got != tt.want {
				t.Errorf("StateOf(%d, %v) = %v, want %v", code, tt.details, got, tt.want)
			}
		}
	}
	if robots.MaxRedirects != 5 {
		t.Error("RFC 9309 §2.3.1.2: at least five redirects")
	}
}

// Formats §1.1: how long a copy is fresh.
func TestFormats_1_1_FreshFor(t *testing.T) {
	fetched := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) string { return fetched.Add(d).Format(http.TimeFormat) }
	h := func(pairs ...string) http.Header {
		h := http.Header{}
		for i := 0; i < len(pairs); i += 2 {
			h.Add(pairs[i], pairs[i+1])
		}
		return h
	}
	const day, floor = 24 * time.Hour, 10 * time.Minute
	for _, tt := range []struct {
		name   string
		header http.Header
		want   time.Duration
	}{
		{"no header", h(), day},
		{"nil", nil, day},
		{"max-age", h("Cache-Control", "max-age=3600"), time.Hour},
		{"case and blanks", h("Cache-Control", "Public , MAX-AGE = 3600"), time.Hour},
		{"quoted", h("Cache-Control", `max-age="3600"`), time.Hour},
		{"at the floor", h("Cache-Control", "max-age=600"), floor},
		{"above the floor", h("Cache-Control", "max-age=601"), floor + time.Second},
		{"below the floor", h("Cache-Control", "max-age=599"), floor},
		{"zero", h("Cache-Control", "max-age=0"), floor},
		{"at the cap", h("Cache-Control", "max-age=86400"), day},
		{"above the cap", h("Cache-Control", "max-age=86401"), day},
		{"huge", h("Cache-Control", "max-age=99999999999999999999"), day},
		{"unreadable", h("Cache-Control", "max-age=soon"), floor},
		{"empty", h("Cache-Control", "max-age"), floor},
		{"negative", h("Cache-Control", "max-age=-1"), floor},
		{"no-store", h("Cache-Control", "no-store"), floor},
		{"no-cache with max-age", h("Cache-Control", "max-age=3600, no-cache"), floor},
		{"two fields", h("Cache-Control", "max-age=7200", "Cache-Control", "max-age=3600"), time.Hour},
		{"others only", h("Cache-Control", "public, s-maxage=60, must-revalidate"), day},
		{"others, then Expires", h("Cache-Control", "public", "Expires", at(time.Hour)), time.Hour},
		{"max-age before Expires", h("Cache-Control", "max-age=3600", "Expires", at(2*time.Hour)), time.Hour},
		{"Expires", h("Expires", at(2*time.Hour)), 2 * time.Hour},
		{"Expires by Date", h("Expires", at(2*time.Hour), "Date", at(time.Hour)), time.Hour},
		{"Expires, bad Date", h("Expires", at(2*time.Hour), "Date", "now"), 2 * time.Hour},
		{"Expires past", h("Expires", at(-time.Hour)), floor},
		{"Expires far", h("Expires", "Fri, 31 Dec 9999 23:59:59 GMT"), day},
		{"Expires 0", h("Expires", "0"), floor},
		{"Expires RFC 850", h("Expires", "Sunday, 01-Mar-26 15:00:00 GMT"), 3 * time.Hour},
		{"Expires asctime", h("Expires", "Sun Mar  1 15:00:00 2026"), 3 * time.Hour},
		{"Age", h("Cache-Control", "max-age=7200", "Age", "3600"), time.Hour},
		{"Age of all", h("Cache-Control", "max-age=7200", "Age", "7200"), floor},
		{"bad Age", h("Cache-Control", "max-age=7200", "Age", "old"), 2 * time.Hour},
		{"Age and Expires", h("Expires", at(2*time.Hour), "Age", "3600"), time.Hour},
		{"names in lower case", http.Header{"cache-control": {"max-age=3600"}}, time.Hour},
	} {
		if got := robots.FreshFor(tt.header, fetched); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// Formats §1.1: 5 min, doubling to 6 h.
func TestFormats_1_1_NextRetry(t *testing.T) {
	for failures, minutes := range map[int]time.Duration{
		-1: 5, 0: 5, 1: 5, 2: 10, 3: 20, 4: 40, 5: 80, 6: 160, 7: 320, 8: 360, 9: 360, 1 << 40: 360,
	} {
		if got := robots.NextRetry(failures); got != minutes*time.Minute {
			t.Errorf("NextRetry(%d) = %v, want %v", failures, got, minutes*time.Minute)
		}
	}
}

// Formats §1.1: which rules apply.
func TestFormats_1_1_Decide(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	const day = 24 * time.Hour
	for _, tt := range []struct {
		name string
		h    robots.History
		use  robots.Use
		ask  time.Duration // from now; not above 0: now
	}{
		{"never asked", robots.History{}, robots.UseNothing, 0},
		{"fresh", robots.History{Fetched: ago(time.Hour), Fresh: 2 * time.Hour}, robots.UseCopy, time.Hour},
		{"fresh for a day", robots.History{Fetched: ago(day - 1), Fresh: day}, robots.UseCopy, 1},
		{"never fresh beyond a day", robots.History{Fetched: ago(day), Fresh: 48 * time.Hour}, robots.UseNothing, 0},
		{"stale", robots.History{Fetched: ago(2 * time.Hour), Fresh: time.Hour}, robots.UseCopy, 0},
		{"stale, refresh failed", robots.History{Fetched: ago(2 * time.Hour), Fresh: time.Hour, Failures: 1, Since: now, RetryAt: now.Add(5 * time.Minute)}, robots.UseCopy, 5 * time.Minute},
		{"just under a day, refresh failed", robots.History{Fetched: ago(day - 1), Fresh: time.Hour, Failures: 3, Since: ago(time.Hour), RetryAt: now.Add(time.Hour)}, robots.UseCopy, time.Hour},
		{"a day, refresh failed", robots.History{Fetched: ago(day), Fresh: time.Hour, Failures: 3, Since: ago(time.Hour), Answered: true, RetryAt: now.Add(time.Hour)}, robots.UseNothing, time.Hour},
		{"first fetch failed", robots.History{Failures: 1, Since: now, Answered: true, RetryAt: now.Add(5 * time.Minute)}, robots.UseNothing, 5 * time.Minute},
		{"retry due", robots.History{Failures: 1, Since: ago(time.Hour), Answered: true, RetryAt: ago(1)}, robots.UseNothing, 0},
		{"just under 30 days", robots.History{Failures: 99, Since: ago(30*day - 1), Answered: true, RetryAt: now.Add(1)}, robots.UseNothing, 1},
		{"30 days, no copy", robots.History{Failures: 99, Since: ago(30 * day), Answered: true, RetryAt: now.Add(1)}, robots.UseAllowAll, 1},
		{"30 days, a copy", robots.History{Fetched: ago(40 * day), Fresh: day, Failures: 99, Since: ago(30 * day), Answered: true, RetryAt: now.Add(1)}, robots.UseCopy, 1},
		{"30 days of silence", robots.History{Failures: 99, Since: ago(60 * day), RetryAt: now.Add(1)}, robots.UseNothing, 1},
		{"30 days of silence, a copy", robots.History{Fetched: ago(70 * day), Fresh: day, Failures: 99, Since: ago(60 * day), RetryAt: now.Add(1)}, robots.UseNothing, 1},
		{"the clock went back", robots.History{Fetched: now.Add(time.Hour), Fresh: day}, robots.UseCopy, 25 * time.Hour},
		{"failed while fresh", robots.History{Fetched: ago(time.Hour), Fresh: 10 * time.Hour, Failures: 1, Since: now, RetryAt: now.Add(5 * time.Minute)}, robots.UseCopy, 9 * time.Hour},
	} {
		d := tt.h.Decide(now)
		if d.Use != tt.use {
			t.Errorf("%s: use %v, want %v", tt.name, d.Use, tt.use)
		}
		if ask := d.Ask.Sub(now); ask != tt.ask && (ask > 0 || tt.ask > 0) {
			t.Errorf("%s: ask in %v, want %v", tt.name, ask, tt.ask)
		}
	}
}

// Formats §1.1: a server answers with errors only, for 40 days, and then recovers.
func TestFormats_1_1_ThirtyDays(t *testing.T) {
	run := func(status func(day float64) int, copy bool) (h robots.History, opened float64) {
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now := start
		if copy {
			h = h.Succeeded(now, robots.MaxAge)
			now = now.Add(robots.MaxAge)
		}
		opened = -1
		for day := 0.0; day < 40; day = now.Sub(start).Hours() / 24 {
			h = h.Failed(now, status(day), 0)
			d := h.Decide(now)
			if d.Use != robots.UseNothing && opened < 0 {
				opened = day
			}
			if d.Ask.Sub(now) > robots.MaxRetry {
				t.Fatalf("asked again only after %v", d.Ask.Sub(now))
			}
			now = d.Ask
		}
		return h, opened
	}
	always := func(code int) func(float64) int { return func(float64) int { return code } }

	if h, opened := run(always(503), false); opened < 30 || opened > 30.5 || h.Decide(h.RetryAt).Use != robots.UseAllowAll {
		t.Errorf("503, no copy: opened on day %v", opened)
	}
	if h, opened := run(always(503), true); opened < 31 || opened > 31.5 || h.Decide(h.RetryAt).Use != robots.UseCopy {
		t.Errorf("503, a copy: opened on day %v", opened)
	}
	if _, opened := run(always(0), false); opened >= 0 {
		t.Errorf("silence: opened on day %v", opened)
	}
	if _, opened := run(always(429), true); opened >= 0 {
		t.Errorf("429: opened on day %v", opened)
	}
	if _, opened := run(always(402), true); opened >= 0 {
		t.Errorf("402: opened on day %v", opened)
	}
	// One 429 on day 20 restarts the count.
	if _, opened := run(func(day float64) int {
		if day > 20 && day < 20.3 {
			return 429
		}
		return 500
	}, false); opened >= 0 {
		t.Errorf("429 between: opened on day %v", opened)
	}
	// Silence counts, after the server answers again.
	if _, opened := run(func(day float64) int {
		if day < 35 {
			return 0
		}
		return 500
	}, false); opened < 35 || opened > 35.5 {
		t.Errorf("silence, then 500: opened on day %v", opened)
	}

	h, _ := run(always(503), false)
	now := h.RetryAt
	h = h.Succeeded(now, time.Hour)
	if d := h.Decide(now); d.Use != robots.UseCopy || !d.Ask.Equal(now.Add(time.Hour)) || h.Failures != 0 || !h.Since.IsZero() {
		t.Errorf("after recovery: %+v, %+v", d, h)
	}
}

// Formats §1.1: Retry-After is obeyed if it is longer than our own back-off.
func TestFormats_1_1_RetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for after, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Minute: 5 * time.Minute, time.Hour: time.Hour, 48 * time.Hour: 48 * time.Hour} {
		h := robots.History{}.Failed(now, 429, after)
		if got := h.Decide(now).Ask.Sub(now); got != want {
			t.Errorf("Retry-After %v: asked again after %v, want %v", after, got, want)
		}
	}
}
