package settings

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/websub"
)

// leastEvery is the shortest time between two rounds. A round asks for each page and sitemap of the
// crawl again, whether or not it may have changed.
const leastEvery = time.Minute

var latencies = []string{"day", "week", "month"}

var freshnessSettings = []Setting{
	{
		Name: "recrawl", Group: "Freshness", Common: true, NotPlanned: true,
		Usage: "keep stored pages up to date: the crawl goes on until it is stopped",
		Doc: "Keep stored pages up to date: they are fetched again between these times, those that change often more often. " +
			"The crawl goes on until it is stopped.",
		Decides: Refetches,
		value:   field[bool]{at: func(s *crawl.Spec) *bool { return &s.Recrawl }},
	},
	{
		Name: "every", Group: "Freshness", Common: true, NotPlanned: true,
		Usage:   "crawl all pages again in rounds, one in each ‹TIME›, until it is stopped (0s: one round)",
		Example: "24h",
		Doc:     "Or crawl all pages again in rounds, one in each time (24h), until it is stopped. 0s: once.",
		Decides: Refetches,
		value: field[time.Duration]{at: func(s *crawl.Spec) *time.Duration { return &s.Every }, against: checkEvery,
			set: func(s *crawl.Spec, every time.Duration) { s.SetEvery(every, time.Now()) }},
	},
	{
		Name: "recrawl-min", Group: "Freshness", ZeroIsDefault: true, NotPlanned: true,
		Usage: "with --recrawl: fetch a page again after this ‹TIME› at the earliest", Example: "1h",
		Decides: Refetches,
		value: field[time.Duration]{at: func(s *crawl.Spec) *time.Duration { return &s.RecrawlMin }, standard: crawl.DefaultRecrawlMin,
			check: atLeast[time.Duration](1, "must be over 0; use for example 1h")},
	},
	{
		Name: "recrawl-max", Group: "Freshness", ZeroIsDefault: true, NotPlanned: true,
		Usage: "with --recrawl: fetch a page again after this ‹TIME› at the latest", Example: "720h",
		Decides: Refetches,
		value: field[time.Duration]{at: func(s *crawl.Spec) *time.Duration { return &s.RecrawlMax }, standard: crawl.DefaultRecrawlMax,
			against: func(s *crawl.Spec) string {
				return atLeast(s.RecrawlMin, "is less than recrawl-min; use for example 720h")(s.RecrawlMax)
			}},
	},
	{
		Name: "updates", Group: "Freshness", NotPlanned: true,
		Usage: "with --recrawl: use the update servers of sites (/rupinfo.txt)",
		Doc: "With recrawl: let sites report their changes. A site with /rupinfo.txt is queried, or it mails its changes to an address of its own " +
			"that is made of updates-mail (curtsy+….@crawler.example). updates-latency is day, week or month, where the site offers it.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.Updates }, standard: true},
	},
	{
		Name: "updates-mail", Group: "Freshness", NotPlanned: true,
		Usage:   "ask sites to mail their changes to addresses made of this ‹ADDRESS› (empty: query the sites)",
		Example: "curtsy@crawler.example",
		value:   field[string]{at: func(s *crawl.Spec) *string { return &s.UpdatesMail }, check: optional(CheckMailbox)},
	},
	{
		Name: "updates-latency", Group: "Freshness", NotPlanned: true,
		Usage:   "how often sites are asked to report changes, a ‹UNIT›: {} (empty: as often as the site offers)",
		Example: "week", Choices: latencies,
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.UpdatesLatency }, check: func(unit string) string {
			if unit == "" || slices.Contains(latencies, unit) {
				return ""
			}
			return "is no unit"
		}},
	},
	{
		Name: "feeds", Group: "Freshness",
		Usage: "with --recrawl: read the feeds that pages announce, to find new and changed pages",
		Doc: "With recrawl: read the RSS and Atom feeds that pages announce, each as often as it changes (from every 15 minutes to once a week). " +
			"New pages are fetched, and pages that a feed reports as changed are fetched again soon, as long as its reports prove right.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.Feeds }, standard: true},
	},
	{
		Name: "updates-websub-url", Group: "Freshness", NotPlanned: true,
		Usage:   "subscribe to feeds at their WebSub hubs; this public ‹URL› must lead to --updates-websub",
		Example: "https://crawler.example/hooks",
		Doc:     "The public URL at which WebSub hubs reach updates-websub. With it, feeds are subscribed to at their hubs.",
		value:   field[string]{at: func(s *crawl.Spec) *string { return &s.UpdatesWebSub }, check: optional(websub.CheckBase)},
	},
}

// checkEvery checks the time between two rounds, which is of no use together with re-crawl.
func checkEvery(s *crawl.Spec) string {
	switch {
	case s.Every < 0 || s.Every > 0 && s.Every < leastEvery:
		return "is less than 1m; use for example 24h, or 0s for one round only"
	case s.Every > 0 && s.Recrawl:
		return "and recrawl cannot be used together: every crawls all pages in rounds, recrawl fetches each page when it may have changed; use one of them, for example --every 24h"
	}
	return ""
}

// optional checks a text that may be empty.
func optional(check func(string) error) func(string) string {
	return func(text string) string {
		if text == "" {
			return ""
		}
		if err := check(text); err != nil {
			return "cannot be used: " + err.Error()
		}
		return ""
	}
}
