package judge

import (
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Limits, delays and hours of entries, and that refusals say whose they are.
func TestSiteRulesDecide(t *testing.T) {
	spec := crawl.Spec{Scope: "any", MaxDepth: 5, MaxPagesPerHost: 100, Delay: 2 * time.Second, Hours: "20:00-06:00", Sites: `sites:
  docs.example.org:
    max-depth: 2
    max-pages: 3
    delay: 5s
    hours: 22:00-23:00
  docs.example.org/deep/:
    max-depth: 9
  "*.example.org":
    delay: 1s
`, Hosts: map[canon.Host]crawl.HostRule{"docs.example.org": {Delay: 4 * time.Second}}}
	j, err := New(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		url    canon.URL
		depth  int
		stored int64
		reason crawl.Reason
		detail string
	}{
		{"https://docs.example.org/a", 2, 2, "", ""},
		{"https://docs.example.org/a", 3, 0, crawl.ReasonDepth, "depth 3, site rules:2: docs.example.org: max-depth 2"},
		{"https://docs.example.org/deep/a", 9, 0, "", ""},
		{"https://docs.example.org/deep/a", 10, 0, crawl.ReasonDepth, "max-depth 9"},
		{"https://docs.example.org/a", 0, 3, crawl.ReasonHostLimit, "max-pages of the site rules: 3"},
		{"https://www.example.org/a", 5, 99, "", ""},
		{"https://www.example.org/a", 6, 0, crawl.ReasonDepth, "depth 6, --max-depth 5"},
		{"https://www.example.org/a", 0, 100, crawl.ReasonHostLimit, "--max-pages-per-host 100"},
	} {
		_, reason, detail := j.Judge(Subject{URL: tt.url, Depth: tt.depth, Stored: tt.stored})
		if reason != tt.reason || !strings.Contains(detail, tt.detail) {
			t.Errorf("%s at depth %d with %d pages: %q %q, want %q %q", tt.url, tt.depth, tt.stored, reason, detail, tt.reason, tt.detail)
		}
	}
	for host, want := range map[canon.Host]time.Duration{"docs.example.org": 5 * time.Second, "www.example.org": 2 * time.Second, "other.example": 2 * time.Second} {
		if got := j.LeastDelay(host); got != want {
			t.Errorf("the delay of %s is %v, want %v", host, got, want)
		}
	}
	if got := j.Hours.Of("docs.example.org").String(); got != "20:00-06:00 and 22:00-23:00 (UTC)" {
		t.Error(got)
	}
	if !j.LimitsPages() {
		t.Error("no host has a limit of pages")
	}
	spec.Sites = "sites: 3"
	if _, err := New(spec); err == nil {
		t.Error("site rules with a mistake are accepted")
	}
}
