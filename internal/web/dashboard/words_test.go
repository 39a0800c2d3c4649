package dashboard

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/web"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(1, "page"): "1 page", count(1204, "page"): "1,204 pages", count(0, "page"): "0 pages",
		size(5 << 20): "5 MiB", size(3<<20 + 400<<10): "3.4 MiB", size(-1): "0 B",
		rateOf(0): "0/s", rateOf(0.01): "0.6/min", rateOf(3.25): "3.2/s", rateOf(7.04): "7/s", rateOf(12.4): "12/s", rateOf(1204.4): "1,204/s",
		seconds(0): "0 s", seconds(0.0004): "< 1 ms", seconds(0.0006): "1 ms", seconds(0.25): "250 ms", seconds(1): "1 s", seconds(1.5): "1.5 s", seconds(10): "10 s", seconds(2.04): "2 s", seconds(250): "4 min 10 s",
		seconds(7500): "2 h 5 min", seconds(3.5 * 86400): "3.5 days",
		percent(1, 4): "25%", percent(1, 16): "6.2%", percent(1, 50): "2%", percent(999, 1000): "> 99%", percent(5, 5): "100%", percent(1, 100000): "< 0.1%", percent(0, 4): "0%", percent(1, 0): "0%",
		text(" a\nb\u202e<c> "): "a b<c>", text("abcdef", 3): "ab…",
		capital("ärger waits"): "Ärger waits", capital("--max-pages allows 0"): "--max-pages allows 0", capital(""): "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, n := range []any{1204, int64(1204), uint64(1204)} {
		if got, err := number(n); got != "1,204" || err != nil {
			t.Errorf("number(%T): %q, %v", n, got, err)
		}
	}
	if _, err := number("x"); err == nil {
		t.Error("a word is a number")
	}
}

// Times have their zone, and a missing one is "never".
func TestClock(t *testing.T) {
	at := time.Date(2026, 11, 22, 18, 51, 19, 0, time.UTC).Local()
	zone, _ := at.Zone()
	for _, v := range []any{at, &at} {
		if got := string(web.Clock(v)); !strings.Contains(got, zone) || !strings.Contains(got, `datetime="`+at.Format(time.RFC3339)) {
			t.Errorf("clock(%T): %s", v, got)
		}
	}
	for _, v := range []any{time.Time{}, (*time.Time)(nil), nil} {
		if got := string(web.Clock(v)); !strings.Contains(got, "never") {
			t.Errorf("clock(%T): %s", v, got)
		}
	}
}

// Links lead to their text's address, whatever characters a name has.
func TestLinks(t *testing.T) {
	for got, want := range map[string]string{
		string(originLink("https://docs.example.org:8443")):          `<a href="/host/docs.example.org"><bdi>docs.example.org</bdi></a>`,
		string(originLink("javascript:alert(1)")):                    `<bdi class="url">javascript:alert(1)</bdi>`,
		unsaid(404, "HTTP 404") + unsaid(200, "too large"):           "too large",
		string(hostLink("docs.example.org")):                         `<a href="/host/docs.example.org"><bdi>docs.example.org</bdi></a>`,
		string(hostLink(`a"><script>/..`)):                           `<a href="/host/a%22%3E%3Cscript%3E%2F.."><bdi>a&#34;&gt;&lt;script&gt;/..</bdi></a>`,
		string(urlLink(`https://a.example/?x="&y`)):                  `<a href="/explain?url=https%3A%2F%2Fa.example%2F%3Fx%3D%22%26y" class="url"><bdi>https://a.example/?x=&#34;&amp;y</bdi></a>`,
		string(emptyList("No host <yet>.", "curtsy crawl https://")): `<p class="empty">No host &lt;yet&gt;. <code>curtsy crawl https://</code></p>`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
