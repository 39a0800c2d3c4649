package visit

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "1.5": 2 * time.Second, "-5": 0, "5s": 0, "soon": 0,
		"99999999999999999999999": maxRetryAfter, "86401": maxRetryAfter,
		"Wed, 04 Mar 2026 05:06:37 GMT":     30 * time.Second,
		"Wednesday, 04-Mar-26 05:06:37 GMT": 30 * time.Second,
		"Wed Mar  4 05:06:37 2026":          30 * time.Second,
		"Wed, 04 Mar 2026 05:06:00 GMT":     0,
		"Wed, 04 Mar 2099 05:06:00 GMT":     maxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {in}}, now); got != want {
			t.Errorf("retryAfter(%q) = %v, want %v", in, got, want)
		}
	}
	// Clocks need not agree: ours is an hour ahead of this server's, and an hour behind that one's.
	const at = "Wed, 04 Mar 2026 04:08:07 GMT"
	for date, want := range map[string]time.Duration{"Wed, 04 Mar 2026 04:06:07 GMT": 2 * time.Minute, "yesterday": 0, "": 0} {
		if got := retryAfter(http.Header{"Retry-After": {at}, "Date": {date}}, now); got != want {
			t.Errorf("Retry-After %s in an answer of %q: %v, want %v", at, date, got, want)
		}
	}
	const later, date = "Wed, 04 Mar 2026 06:08:07 GMT", "Wed, 04 Mar 2026 06:06:07 GMT"
	if got := retryAfter(http.Header{"Retry-After": {later}, "Date": {date}}, now); got < 2*time.Minute {
		t.Errorf("our clock behind: %v", got)
	}
	if got := retryAfter(http.Header{"Retry-After": {"10", "60", "x", "20"}}, now); got != time.Minute {
		t.Errorf("several lines: %v, want the longest", got)
	}
}

func TestMediaType(t *testing.T) {
	for in, want := range map[string]string{
		"text/html": "text/html", "Text/HTML; charset=UTF-8": "text/html", " text/plain ;x": "text/plain", "": "", "html": "",
		"text/html, text/html": "text/html", "text/": "", "/html": "", "text html/x": "", ";charset=x": "",
	} {
		if got := mediaType(in); got != want {
			t.Errorf("mediaType(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "120", "1.5", "Wed, 04 Mar 2026 05:06:37 GMT", "-1", "99999999999999999999"} {
		f.Add(s)
	}
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	f.Fuzz(func(t *testing.T, s string) {
		if d := retryAfter(http.Header{"Retry-After": {s}, "Date": {s}}, now); d < 0 || d > maxRetryAfter {
			t.Errorf("retryAfter(%q) = %v", s, d)
		}
	})
}

func FuzzMediaType(f *testing.F) {
	for _, s := range []string{"text/html; charset=utf-8", "a/b,c/d", "/", ";", "text/html;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := mediaType(s)
		if got != strings.ToLower(got) || strings.ContainsAny(got, "; ,\t") || got != "" && !strings.Contains(got, "/") {
			t.Errorf("mediaType(%q) = %q", s, got)
		}
		if again := mediaType(got); again != got {
			t.Errorf("mediaType(%q) = %q, and of that %q", s, got, again)
		}
	})
}
