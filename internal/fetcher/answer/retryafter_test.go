package answer

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "1.5": 2 * time.Second, "-5": 0, "5s": 5 * time.Second, "soon": unreadRetryAfter, "12:30": unreadRetryAfter,
		"3 seconds": 3 * time.Second, `"3"`: 3 * time.Second, "2 Minutes": 2 * time.Minute, "1h": time.Hour, "250ms": time.Second, "1772600827": time.Minute,
		"Wed, 04 Mar 2026 05:06:37 -0000": 30 * time.Second, "Wed, 04 Mar 2026 06:06:37 +0100": 30 * time.Second, "2026-03-04T05:06:37Z": 30 * time.Second,
		"120, 120": 2 * time.Minute, "60, 120": 2 * time.Minute, "3600;": time.Hour, "1 hour, 30 minutes": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"1 hour and 30 mins": 90 * time.Minute, "PT2H": 2 * time.Hour, "P1DT2H": MaxRetryAfter, "PT1M30S": 90 * time.Second, "P1M": MaxRetryAfter,
		"1 month": MaxRetryAfter, "1w": MaxRetryAfter, "2 weeks": MaxRetryAfter, "1 moment": unreadRetryAfter, "300 moments": 5 * time.Minute,
		"120 (please)": 2 * time.Minute, "3600; later": time.Hour, "300:00": 5 * time.Minute, "P": unreadRetryAfter, ",": unreadRetryAfter, "2026-03-05": 18*time.Hour + 53*time.Minute + 53*time.Second,
		"2026-03-04 05:06:37": 30 * time.Second, "Wed, 4 Mar 2026 05:06:37 UTC": 30 * time.Second,
		"99999999999999999999999": MaxRetryAfter, "86401": MaxRetryAfter,
		"Wed, 04 Mar 2026 05:06:37 GMT":     30 * time.Second,
		"Wednesday, 04-Mar-26 05:06:37 GMT": 30 * time.Second,
		"Wed Mar  4 05:06:37 2026":          30 * time.Second,
		"Wed, 04 Mar 2026 05:06:00 GMT":     0,
		"Wed, 04 Mar 2099 05:06:00 GMT":     MaxRetryAfter,
	} {
		if got := RetryAfter(http.Header{"Retry-After": {in}}, now); got != want {
			t.Errorf("RetryAfter(%q) = %v, want %v", in, got, want)
		}
	}
	// Clocks need not agree: ours is an hour ahead of this server's, and an hour behind that one's.
	const at = "Wed, 04 Mar 2026 04:08:07 GMT"
	for date, want := range map[string]time.Duration{"Wed, 04 Mar 2026 04:06:07 GMT": 2 * time.Minute, "yesterday": 0, "": 0} {
		if got := RetryAfter(http.Header{"Retry-After": {at}, "Date": {date}}, now); got != want {
			t.Errorf("Retry-After %s in an answer of %q: %v, want %v", at, date, got, want)
		}
	}
	const later, date = "Wed, 04 Mar 2026 06:08:07 GMT", "Wed, 04 Mar 2026 06:06:07 GMT"
	if got := RetryAfter(http.Header{"Retry-After": {later}, "Date": {date}}, now); got < 2*time.Minute {
		t.Errorf("our clock behind: %v", got)
	}
	if got := RetryAfter(http.Header{"Retry-After": {"10", "60", "x", "20"}}, now); got != time.Minute {
		t.Errorf("several lines: %v, want the longest", got)
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "120", "1.5", "Wed, 04 Mar 2026 05:06:37 GMT", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if d := RetryAfter(http.Header{"Retry-After": {s}, "Date": {s}}, now); d < 0 || d > MaxRetryAfter {
			t.Errorf("RetryAfter(%q) = %v", s, d)
		}
	})
}
