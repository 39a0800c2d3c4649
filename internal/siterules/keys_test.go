package siterules

import (
	"maps"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Each key of an entry is listed as one that decides about URLs, or about pages only. A change of
// the former makes the frontier decide again about all URLs (crawl.Spec.SitesText). A new key is
// added here and, if it decides about pages only, to crawl.PageRules.
func TestWhatKeysDecideAbout(t *testing.T) {
	const urls, pages = "URLs", "pages"
	decides := map[string]string{
		"include": urls, "exclude": urls, "subdomains": urls, "types": urls, "purposes": urls, "delay": urls, "hours": urls,
		"max-depth": urls, "max-pages": urls, "render": urls, "seeds": urls, "sitemaps": urls,
		"fields": pages, "content": pages,
		"skip": urls, // which skipped pages are fetched again
	}
	if listed, is := slices.Sorted(maps.Keys(decides)), slices.Sorted(slices.Values(settingNames(settings))); !slices.Equal(listed, is) {
		t.Errorf("listed are %q, and there are %q", listed, is)
	}
	for name, about := range decides {
		if is := slices.Contains(crawl.PageRules, name); is != (about == pages) {
			t.Errorf("%s decides about %s; it is in crawl.PageRules: %v", name, about, is)
		}
	}
}
