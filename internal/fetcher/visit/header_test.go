package visit

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/pkg/canon"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, " 7 ": 7 * time.Second, "1.5": 2 * time.Second, "-5": 0, "5s": 5 * time.Second, "soon": unreadRetryAfter, "12:30": unreadRetryAfter,
		"3 seconds": 3 * time.Second, `"3"`: 3 * time.Second, "2 Minutes": 2 * time.Minute, "1h": time.Hour, "250ms": time.Second, "1772600827": time.Minute,
		"Wed, 04 Mar 2026 05:06:37 -0000": 30 * time.Second, "Wed, 04 Mar 2026 06:06:37 +0100": 30 * time.Second, "2026-03-04T05:06:37Z": 30 * time.Second,
		"120, 120": 2 * time.Minute, "60, 120": 2 * time.Minute, "3600;": time.Hour, "1 hour, 30 minutes": 90 * time.Minute, "1h30m": 90 * time.Minute,
		"1 hour and 30 mins": 90 * time.Minute, "PT2H": 2 * time.Hour, "P1DT2H": maxRetryAfter, "PT1M30S": 90 * time.Second, "P1M": maxRetryAfter,
		"1 month": maxRetryAfter, "1w": maxRetryAfter, "2 weeks": maxRetryAfter, "1 moment": unreadRetryAfter, "300 moments": 5 * time.Minute,
		"120 (please)": 2 * time.Minute, "3600; later": time.Hour, "300:00": 5 * time.Minute, "P": unreadRetryAfter, ",": unreadRetryAfter, "2026-03-05": 18*time.Hour + 53*time.Minute + 53*time.Second,
		"2026-03-04 05:06:37": 30 * time.Second, "Wed, 4 Mar 2026 05:06:37 UTC": 30 * time.Second,
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
		"text/html, text/plain": "text/html", "text/": "", "*/*": "", "text/html charset=utf-8": "", "/html": "", "text html/x": "", ";charset=x": "",
	} {
		if got := mediaType(in); got != want {
			t.Errorf("mediaType(%q) = %q, want %q", in, got, want)
		}
	}
}

// Of several types the last one counts, and what is none does not.
func TestContentType(t *testing.T) {
	for want, lines := range map[string][]string{
		"":                        {"html", "*/*", "text/html charset=utf-8", "unknown/unknown"},
		"text/html":               {"text/plain", "text/html"},
		"text/html; charset=utf8": {"text/plain, text/html; charset=utf8, */*", "nothing"},
	} {
		if got := contentType(http.Header{"Content-Type": lines}); got != want {
			t.Errorf("%q: %q, want %q", lines, got, want)
		}
	}
	if got := typeDetail(http.Header{"Content-Type": {"html"}}, "image/png"); got != `image/png by its content; its Content-Type is "html"` {
		t.Error(got)
	}
	for want, first := range map[string]string{
		typeHTML: "<!DOCTYPE html><p>", typeText: "words", typeXHTML: `<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml">`, "text/xml": "<?xml?><a/>",
	} {
		if got := sniff([]byte(first)); got != want {
			t.Errorf("%s looks like %s, want %s", first, got, want)
		}
	}
}

func TestHeaderLinks(t *testing.T) {
	const at = "http://h.example/a/b"
	for _, tt := range []struct {
		header    http.Header
		links     []canon.URL
		canonical canon.URL
	}{
		{http.Header{"Refresh": {"0; url=/t", "5", "0;url='u'"}}, []canon.URL{"http://h.example/t", "http://h.example/a/u"}, ""},
		{http.Header{"Link": {`</n>; rel="next", </s.css>; rel=stylesheet, <p>; rel=prev; type="text/html"`, `</n>; rel=alternate; type="application/rss+xml"`}},
			[]canon.URL{"http://h.example/n", "http://h.example/a/p"}, ""},
		{http.Header{"Link": {`</c>; rel=canonical`, `</x>; rel="next nofollow"`, `</y>; rel=next; anchor="/z"`}}, []canon.URL{"http://h.example/c"}, "http://h.example/c"},
		{http.Header{"Link": {`</c>; rel=canonical`, `</d>; rel=canonical`}}, []canon.URL{"http://h.example/c", "http://h.example/d"}, ""},
		{http.Header{"Link": {`<>; rel=next`, `<#x>; rel=next`, `<mailto:a@b>; rel=next`, `next`}}, nil, ""},
	} {
		if got := headerLinks(tt.header, at); !slices.Equal(got, tt.links) {
			t.Errorf("%v: %v, want %v", tt.header, got, tt.links)
		}
		if got := headerCanonical(tt.header, at); got != tt.canonical {
			t.Errorf("%v: canonical %q, want %q", tt.header, got, tt.canonical)
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

func TestFromStart(t *testing.T) {
	for value, want := range map[string]bool{"": true, "bytes 0-99/100": true, "Bytes 0-99/*": true, "bytes 0-0/1": true,
		"bytes 0-49/100": false, "bytes 0-99/": false, "bytes 0-": false, "bytes 100-199/200": false, "bytes 00-1/200": false, "bytes */200": false} {
		if got := fromStart(http.Header{"Content-Range": {value}}); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}
