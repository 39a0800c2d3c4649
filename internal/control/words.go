package control

import (
	"fmt"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/scope"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Words describes in one line what a crawl covers: "docs.example.org and all other hosts of
// example.org; at most 500 pages". The line is short unless single rules are long.
func Words(spec crawl.Spec) string {
	var seeds []canon.URL
	for _, s := range spec.Seeds {
		if u, err := canon.Parse(s); err == nil {
			seeds = append(seeds, u)
		}
	}
	parts := []string{scope.Words(scope.Spec{Kind: spec.Scope, Seeds: seeds, Include: spec.Include, Exclude: spec.Exclude})}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case spec.NoLinks && spec.Sitemaps:
		add("links of pages are not followed, only what seeds and sitemaps name, and redirects")
	case spec.NoLinks:
		add("links of pages are not followed, only redirects of the seeds")
	case spec.MaxDepth == 0:
		add("links are not followed (--max-depth 0)")
	case spec.MaxDepth > 0:
		add("at most %s from a seed", plural(int64(spec.MaxDepth), "link"))
	}
	if spec.Sites != "" {
		add("site rules apply")
	}
	if spec.MaxPages > 0 {
		add("at most %s", plural(spec.MaxPages, "page"))
	}
	if spec.MaxPagesPerHost > 0 {
		add("at most %s per host", plural(spec.MaxPagesPerHost, "page"))
	}
	if spec.MaxBytes > 0 {
		add("at most %s", humanize.IBytes(uint64(spec.MaxBytes)))
	}
	return strings.Join(parts, "; ")
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return humanize.Comma(n) + " " + what
}
