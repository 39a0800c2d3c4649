package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

var scopes = []string{"page", "prefix", "host", "subdomains", "domain", "any"} // narrowest first

var scopeSettings = []Setting{
	{
		Name: "scope", Group: "Scope", Common: true, Set: true,
		Usage:   "how far from the seeds to go: ‹WORD› is {}, or *.NAME for NAME and all names below it",
		Example: "domain", Choices: scopes, Label: "Scope",
		Doc: "How far from the seeds to go: page (only the seeds), prefix (below their directory), host, " +
			"subdomains (the host and all names below it), domain (the registered domain), any; or *.NAME for NAME and all names below it.",
		Decides: URLs | Links | Refetches | Sitemaps,
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.Scope }, standard: "domain", check: func(scope string) string {
			if p, err := canon.ParseHostPattern(scope); slices.Contains(scopes, scope) || err == nil && p.IsBelow() {
				return ""
			}
			return "is not a scope"
		}},
	},
	{
		Name: "include", Group: "Scope", Common: true, Set: true,
		Usage:      "crawl only URLs that match one of these ‹REGEXP›s (repeatable)",
		UsageInSet: "crawl only URLs that match one of these ‹REGEXP›s (repeatable; '' removes all)",
		Example:    "/docs/",
		Doc:        "Regular expressions (RE2) for canonical URLs. With include, only URLs are crawled that match one.",
		Decides:    URLs | Links | Refetches | Sitemaps,
		value:      field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Include }, check: checkExpressions},
	},
	{
		Name: "exclude", Group: "Scope", Common: true, Set: true,
		Usage:      "crawl no URL that matches one of these ‹REGEXP›s (repeatable)",
		UsageInSet: "crawl no URL that matches one of these ‹REGEXP›s (repeatable; '' removes all)",
		Example:    "[?&]print=",
		Decides:    URLs | Links | Refetches | Sitemaps,
		value:      field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Exclude }, check: checkExpressions},
	},
	{
		Name: "sites", Group: "Scope", Common: true, Set: true,
		Usage:      "read what is wanted of single sites from ‹FILE›: scope, limits, delay, fields, content",
		UsageInSet: "read what is wanted of single sites from ‹FILE› ('' removes all site rules)",
		Example:    "sites.yaml",
		Doc: "A file of site rules: what is wanted of single sites (scope, limits, delay, fields, content). " +
			"It is read when the crawl is started, and stored with it.",
		Decides: URLs | Refusals | Links | Refetches | Sitemaps,
		value: field[Sites]{at: func(s *crawl.Spec) *Sites { return (*Sites)(&s.Sites) }, check: checkSites, text: func(text Sites) string {
			if text == "" {
				return "none"
			}
			spec := crawl.Spec{Sites: string(text)}
			return fmt.Sprintf("of %d lines (%08x)", strings.Count(strings.TrimRight(string(text), "\n"), "\n")+1, spec.SitesHash()>>32)
		}},
	},
	{
		Name: "links", Group: "Scope", Common: true, Set: true,
		Usage: "follow the links of pages; with =false only seeds, sitemaps and other lists of a site's URLs are crawled",
		Doc: "Follow the links of pages. With false, only seeds, redirects, sitemaps and other lists of a site's own URLs are crawled. " +
			"When it is set to true again, the links of the stored pages are read, and no page is fetched twice.",
		Decides: Links,
		value: field[Off]{at: func(s *crawl.Spec) *Off { return (*Off)(&s.NoLinks) }, text: func(no Off) string {
			if no {
				return "not followed"
			}
			return "followed"
		}},
	},
	{
		Name: "sitemaps", Group: "Scope", Common: true,
		Usage: "read the sitemaps of sites; with --max-depth only when this flag is given, or with --links=false",
		Doc: "Read the sitemaps that robots.txt names, or /sitemap.xml. URLs in a sitemap count as one link from a seed. " +
			"With max-depth, sitemaps are read only if this setting is given.",
		Decides: Sitemaps,
		value:   field[bool]{at: func(s *crawl.Spec) *bool { return &s.Sitemaps }, standard: true},
	},
	{
		Name: "llms-txt", Group: "Scope", NotPlanned: true,
		Usage: "read the /llms.txt of each site, and follow its links",
		Doc:   "Read the /llms.txt of each site as long as it is valid (a day to a month), and follow its links like seeds.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.LLMSTxt }},
	},
}
