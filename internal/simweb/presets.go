package simweb

import "time"

// Bench is a web for measurements: pages of 18 KB with 43 links, no delays, no surprises, and
// crossLinks of the links on each page leading to other hosts. Its log is off, see [Web.SetLog].
func Bench(hosts, pagesPerHost, crossLinks int) Config {
	return Config{
		Hosts: hosts, PagesPerHost: pagesPerHost, PageBytes: 18 << 10, LinksPerPage: 43, CrossLinks: crossLinks, LogLimit: -1,
		Mix: func(int) Behavior { return Behavior{Robots: RobotsAllowAll} },
	}
}

// Mixed is a web for testing politeness: many hosts with different delays, from none to 400 ms,
// some slow to answer, some with closed subtrees, some with sitemaps. No host stays queued and
// nothing fails.
func Mixed(hosts, pagesPerHost int) Config {
	ms := time.Millisecond
	delays := []time.Duration{0, 50 * ms, 100 * ms, 200 * ms, 400 * ms}
	kinds := []Robots{RobotsAllowAll, RobotsSubtree, RobotsNone, RobotsWildcard, RobotsAgent, RobotsOdd, RobotsHostSelf}
	return Config{Hosts: hosts, PagesPerHost: pagesPerHost, CrossLinks: 3, PageSpread: 0.5, Mix: func(i int) Behavior {
		b := Behavior{Robots: kinds[i%len(kinds)], CrawlDelay: delays[i%len(delays)]}
		if i%3 == 1 {
			b.Latency, b.Jitter = 5*ms, 30*ms
		}
		if i%5 == 4 {
			b.Features = []Feature{FeatureSitemap}
		}
		return b
	}}
}

// mixture is the list of DefaultMix: every kind of robots.txt and every feature, once in
// len(mixture) hosts. The first host must be open to all; redirected robots files point to the
// second, mirrors to the third.
var mixture = []Behavior{
	{Robots: RobotsAllowAll, Features: []Feature{FeatureMarkup, FeatureNofollow}},
	{Robots: RobotsSubtree, Features: []Feature{FeatureRedirects}},
	{Robots: RobotsNone, Features: []Feature{FeatureTags}},
	{Robots: RobotsWildcard, Features: []Feature{FeatureStatuses, FeatureServerErrors}},
	{Robots: RobotsAgent, Features: []Feature{FeatureFlapping}},
	{Robots: RobotsOdd, Features: []Feature{FeatureRetryAfter}},
	{Robots: RobotsMirror, Peer: 2},
	{Robots: RobotsHuge, Features: []Feature{FeatureBroken}},
	{Robots: RobotsRedirect, Peer: 1, Features: []Feature{FeatureEncodings}},
	{Robots: RobotsSitemap, Features: []Feature{FeatureCharsets, FeatureTypes}},
	{Robots: RobotsClosed},
	{Robots: RobotsHostSelf, Features: []Feature{FeatureDataYAML, FeatureDataRecords}},
	{Robots: RobotsRedirectChain, Features: []Feature{FeatureTrapPath, FeatureTrapCalendar}},
	{Robots: RobotsRedirectLong, Features: []Feature{FeatureHostile}},
	{Robots: RobotsRedirectLoop, Features: []Feature{FeatureManyLinks}},
	{Robots: RobotsFlapping},
	{Robots: RobotsSlow, Features: []Feature{FeatureSlow}},
	{Robots: RobotsUnauthorized, Features: []Feature{FeatureBombs}},
	{Robots: RobotsForbidden, Features: []Feature{FeatureEndless}},
	{Robots: RobotsGone, DropReused: true, Features: []Feature{FeatureSitemapPlace}},
	{Robots: RobotsPage, Latency: 20 * time.Millisecond, Jitter: 30 * time.Millisecond, Features: []Feature{FeatureOpenData}},
	{Robots: RobotsServerError},
	{Robots: RobotsTimeout},
	{Robots: RobotsReset},
	{Robots: RobotsTruncated},
	{Robots: RobotsTooMany},
	{Robots: RobotsPatient},
}

// MixSize is how many hosts show everything that DefaultMix has.
func MixSize() int { return len(mixture) }

// DefaultMix gives a host one of a fixed cycle of behaviours; MixSize hosts show all of them.
func DefaultMix(host int) Behavior {
	b := mixture[host%len(mixture)]
	if b.Peer != 0 {
		b.Peer += host - host%len(mixture)
	}
	return b
}

// Everything is a host that uses all protocols at once: a Host line for itself, a Crawl-delay,
// mobile-agent servers, sitemaps, robots tags, and a data.txt in both forms.
func Everything() Behavior {
	return Behavior{
		Robots:     RobotsHostSelf,
		CrawlDelay: 50 * time.Millisecond,
		Extra: []string{
			"Mobile-agent-server: / none",
			"Mobile-agent-server: /guide atp://agents.sim.test:544",
			"Mobile-agent-server: /guide/open/ atp://agents.sim.test:543",
		},
		Features: []Feature{FeatureTags, FeatureDataYAML, FeatureDataRecords, FeatureSitemap},
	}
}

// Demo is a small, varied web for demonstrating a crawler: 12 hosts, about 150 pages and as many
// special cases, refusals of every kind and no long waits.
func Demo() Config {
	ms := time.Millisecond
	return Config{Hosts: 12, PagesPerHost: 12, PageBytes: 3 << 10, PageSpread: 0.5, LinksPerPage: 8, CrossLinks: 2, Behaviors: map[int]Behavior{
		0:  {Robots: RobotsAllowAll, Features: []Feature{FeatureMarkup}, Pages: 20},
		1:  {Robots: RobotsSubtree, Features: []Feature{FeatureRedirects}},
		2:  Everything(),
		3:  {Robots: RobotsWildcard, Features: []Feature{FeatureStatuses, FeatureNofollow}},
		4:  {Robots: RobotsAgent, Latency: 20 * ms, Jitter: 60 * ms, Features: []Feature{FeatureOpenData}},
		5:  {Robots: RobotsOdd, Features: []Feature{FeatureEncodings}},
		6:  {Robots: RobotsMirror, Peer: 2},
		7:  {Robots: RobotsClosed},
		8:  {Robots: RobotsRedirect, Peer: 1, Features: []Feature{FeatureCharsets, FeatureTypes}},
		9:  {Robots: RobotsNone, Features: []Feature{FeatureFlapping, FeatureSitemapPlace}},
		10: {Robots: RobotsAllowAll, CrawlDelay: 150 * ms, Features: []Feature{FeatureHostile}},
		// Each 429 or 503 makes the delay longer for all pages of the host that follow.
		11: {Robots: RobotsNone, Features: []Feature{FeatureRetryAfter}, Busy: 1, Pages: 2},
	}}
}
