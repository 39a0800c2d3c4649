package settings

import "github.com/curtsy/curtsy/internal/crawl"

var limitSettings = []Setting{
	{
		Name: "max-pages", Group: "Limits", Common: true, Set: true,
		Usage: "stop when ‹N› pages are stored (0: no limit)", Example: "500",
		Doc:   "0 means no limit; for max-depth, -1 means no limit. A crawl that a limit ends exits with 3.",
		Title: "Pages", Label: "Pages, 0: no limit",
		value: field[int64]{at: func(s *crawl.Spec) *int64 { return &s.MaxPages }, text: limit[int64](0),
			check: atLeast[int64](0, "is negative; use for example 500, or 0 for no limit")},
	},
	{
		Name: "max-bytes", Group: "Limits", Set: true,
		Usage: "stop when this ‹SIZE› of page bodies was read (0: no limit)", Example: "1GiB",
		Title: "Bytes read",
		value: field[Size]{at: func(s *crawl.Spec) *Size { return (*Size)(&s.MaxBytes) }, text: limit[Size](0),
			check: atLeast[Size](0, "is negative; use for example 1GiB, or 0 for no limit")},
	},
	{
		Name: "max-depth", Group: "Limits", Common: true, Set: true,
		Usage: "follow at most ‹N› links in a row from a seed (0: only the seeds; -1: no limit)", Example: "3",
		Title: "Links from a seed", Label: "Links from a seed, -1: no limit",
		Decides: URLs | Refetches | Sitemaps,
		value: field[int]{at: func(s *crawl.Spec) *int { return &s.MaxDepth }, standard: -1, text: limit(-1),
			check: atLeast(-1, "is below -1; use for example 3, or -1 for no limit")},
	},
	{
		Name: "max-pages-per-host", Group: "Limits", Set: true,
		Usage: "store at most ‹N› pages of each host (0: no limit)", Example: "1000",
		Title: "Pages of a host", Label: "Pages of a host, 0: no limit",
		Decides: URLs,
		value: field[int64]{at: func(s *crawl.Spec) *int64 { return &s.MaxPagesPerHost }, text: limit[int64](0),
			check: atLeast[int64](0, "is negative; use for example 1000, or 0 for no limit")},
	},
	{
		Name: "max-hosts-per-domain", Group: "Limits", ZeroIsDefault: true,
		Usage:   "accept ‹N› host names of a registered domain, and one more for each page stored of it",
		Example: "1000",
		Doc:     "Host names that are accepted of one registered domain; one more for each page that is stored of it.",
		Decides: Hosts,
		value: field[int64]{at: func(s *crawl.Spec) *int64 { return &s.MaxHosts }, standard: crawl.DefaultMaxHosts,
			check: atLeast[int64](1, "is less than 1; use for example 1000")},
	},
}
