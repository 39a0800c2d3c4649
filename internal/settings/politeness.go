package settings

import (
	"cmp"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/hours"
)

var politenessSettings = []Setting{
	{
		Name: "contact", Group: "Politeness", Common: true,
		Usage:   "‹ADDRESS› at which webmasters reach you, mail or URL; it is sent in the User-Agent",
		Example: "me@example.org",
		Doc: "How webmasters reach you: a mail address or a URL. It is sent with every request. Without it, only private addresses are crawled, " +
			"and only with allow-private.",
		Decides: Refusals,
		value:   field[string]{at: func(s *crawl.Spec) *string { return &s.Contact }, check: checkContact},
	},
	{
		Name: "agent", Group: "Politeness",
		Usage:   "product ‹TOKEN›: the name of this crawler in the User-Agent and in robots.txt",
		Example: "curtsy",
		Doc:     `The product token: the name in the User-Agent and in robots.txt. Letters, "-" and "_".`,
		Decides: Refusals,
		value:   field[string]{at: func(s *crawl.Spec) *string { return &s.Agent }, standard: "curtsy", check: checkAgent},
	},
	{
		Name: "delay", Group: "Politeness", Common: true, Set: true,
		Usage:   "wait at least this ‹TIME› between a response of a host and the next request to it",
		Example: "1s", Label: "Least delay in seconds",
		Doc: "Least time between the end of a response and the next request to the same host. A robots.txt can make it longer, but not shorter. " +
			"A delay under 1s applies only to private addresses, to the hosts of the seeds, and to the hosts in hurry.",
		value: field[time.Duration]{at: func(s *crawl.Spec) *time.Duration { return &s.Delay }, standard: time.Second,
			check: atLeast[time.Duration](0, "is negative; use for example 1s, or 0s for none")},
	},
	{
		Name: "hours", Group: "Politeness", Set: true,
		Usage:   "send requests only in these ‹HOURS›, for example 22:00-06:00, or Mon-Fri 22:00-06:00, Sat-Sun",
		Example: "22:00-06:00",
		Doc: "When requests are sent, by the clock of the time zone in timezone: 22:00-06:00, or several windows with days: Mon-Fri 22:00-06:00, Sat-Sun. " +
			"Days are those on which a window begins. Empty: at any time.",
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.Hours }, check: checkHours, text: func(text string) string {
			return cmp.Or(text, "any time")
		}},
	},
	{
		Name: "timezone", Group: "Politeness", Set: true,
		Usage:   "time ‹ZONE› of --hours and of the hours in site rules, for example Europe/Berlin",
		Example: "Europe/Berlin",
		Doc:     "The time zone of hours, also of those in site rules.",
		value: field[string]{at: func(s *crawl.Spec) *string { return &s.Timezone }, standard: "UTC", check: func(zone string) string {
			if _, err := hours.Zone(zone); err != nil {
				return "is not the name of a time zone; use for example UTC or Europe/Berlin"
			}
			return ""
		}},
	},
	{
		Name: "hurry", Group: "Politeness",
		Usage:   "‹HOST› of your own for which a delay under 1s is allowed; *.NAME is NAME and all names below it (repeatable)",
		Example: "docs.example.org",
		Doc:     "Hosts of your own that may be requested faster.",
		value:   field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.Hurry }, check: checkHurry},
	},
	{
		Name: "hold-max", Group: "Politeness",
		Usage:   "do not wait for a host that must be left alone for longer than this ‹TIME›",
		Example: "10m",
		Doc: "A host that must be left alone for longer than this (Retry-After, an unreachable robots.txt, a long Crawl-delay) does not keep the crawl from ending. " +
			"Its URLs stay queued for the next run.",
		value: field[time.Duration]{at: func(s *crawl.Spec) *time.Duration { return &s.HoldMax }, standard: 10 * time.Minute,
			check: atLeast[time.Duration](0, "is negative; use for example 10m")},
	},
	{
		Name: "send-robots", Group: "Politeness", NotPlanned: true,
		Usage: "let mobile robots read sites that name a server for them in robots.txt; fetchers need mobile-robots",
		Doc: "Send mobile robots to the servers that robots.txt names for them (Mobile-agent-server), in place of requests for the pages below the path. " +
			"Fetchers need a key (mobile-robots). curtsy crawl sets this itself when it has one. With max-depth no robots are sent.",
		value: field[bool]{at: func(s *crawl.Spec) *bool { return &s.SendRobots }},
	},
	{
		Name: "mobile-robots-server", Group: "Politeness", NotPlanned: true,
		Usage:   "send mobile robots for any site to this ‹SERVER›, HOST or HOST:PORT; others are used only for sites of their own registered domain (repeatable)",
		Example: "robots.example.net:10434",
		Doc:     "Servers for mobile robots that may be used for sites of any domain: HOST or HOST:PORT. Any other server is used only for sites of its own registered domain.",
		value:   field[[]string]{at: func(s *crawl.Spec) *[]string { return &s.RobotServers }, check: checkServers},
	},
}
