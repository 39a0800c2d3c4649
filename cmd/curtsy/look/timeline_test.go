package look

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// A line shows when a request began, and its pause next to the required one. Times without
// information are in their place.
func TestPrintTimeline(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(1_800_000_000_000 + int64(ms)) }
	tl := crawl.Timeline{Host: "a.example", Requests: []crawl.Request{
		{URL: "https://a.example/robots.txt", Kind: "robots", Start: at(0), End: at(40), Status: 200, Bytes: 12, BoundS: 1, BoundSource: "default"},
		{URL: "https://a.example/", Kind: "page", Start: at(2041), End: at(2100), BoundS: 2, BoundSource: "crawl-delay", Unsent: true},
		{URL: "https://a.example/\x1b[31m", Kind: "page", Start: at(9000), BoundS: 2, BoundSource: "crawl-delay", Cut: true},
		{URL: "https://a.example/b", Kind: "page", Start: at(19000), End: at(19001), BoundS: 2.5, BoundSource: "backoff"},
	}, Unknown: []crawl.Unknown{{From: at(2100), To: at(8000)}, {From: at(30000), To: at(31000)}}}
	var b strings.Builder
	if err := printTimeline(&b, tl); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	want := [][]string{
		{"START", "TOOK", "PAUSE", "OWED", "BY"},
		{at(0).Local().Format("15:04:05.000"), " 0.040s ", " 1s ", "default", "robots", " 200 ", " 12 "},
		{" 0.059s ", " 2.001s ", " 2s ", "crawl-delay", "unsent"},
		{" 5.900s ", "unknown"},
		{" 6.900s ", " cut "},
		{" 0.001s ", " 2.5s ", "backoff", " none "},
		{" 1.000s ", "unknown"},
	}
	if len(lines) != len(want) {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for i, words := range want {
		for _, w := range words {
			if !strings.Contains(lines[i]+" ", w) {
				t.Errorf("line %d has no %q:\n%s", i, w, b.String())
			}
		}
	}
	if strings.Contains(b.String(), "\x1b") || strings.Contains(lines[5], "9.99") {
		t.Errorf("what a site wrote, or a pause that nobody knows, is printed:\n%q", b.String())
	}
	b.Reset()
	if err := printTimeline(&b, crawl.Timeline{Host: "a.example"}); err != nil || !strings.Contains(b.String(), "no request to a.example") {
		t.Errorf("%q, %v", b.String(), err)
	}
}
