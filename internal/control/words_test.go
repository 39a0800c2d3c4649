package control

import (
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

func TestWords(t *testing.T) {
	seeds := []string{"https://docs.example.org/"}
	for _, tt := range []struct {
		spec crawl.Spec
		want string
	}{
		{crawl.Spec{Seeds: seeds, Scope: "domain", MaxDepth: -1, Sitemaps: true}, "docs.example.org and all other hosts of example.org"},
		{crawl.Spec{Seeds: seeds, Scope: "host", MaxDepth: 1, MaxPages: 5000, MaxPagesPerHost: 1, MaxBytes: 1 << 30},
			"docs.example.org and no other host; at most 1 link from a seed; at most 5,000 pages; at most 1 page per host; at most 1.0 GiB"},
		{crawl.Spec{Seeds: seeds, Scope: "host", MaxDepth: -1, NoLinks: true, Sitemaps: true},
			"docs.example.org and no other host; links of pages are not followed, only what seeds and sitemaps name, and redirects"},
		{crawl.Spec{Seeds: seeds, Scope: "host", MaxDepth: -1, NoLinks: true},
			"docs.example.org and no other host; links of pages are not followed, only redirects of the seeds"},
	} {
		if got := Words(tt.spec); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.spec, got, tt.want)
		}
	}
}
