package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/curtsy/curtsy/internal/simweb"
)

const ms = time.Millisecond

// randomWeb is a web of a few hosts, each with a behaviour of its own. None is paused for longer
// than a crawl waits.
func randomWeb(r *rand.Rand) simweb.Config {
	hosts := 5 + r.IntN(8)
	cfg := simweb.Config{
		Seed: r.Int64(), Hosts: hosts, PagesPerHost: 4 + r.IntN(9), PageBytes: 1500, PageSpread: 0.5, LinksPerPage: 5 + r.IntN(5), CrossLinks: r.IntN(3),
	}
	kinds := []simweb.Robots{
		simweb.RobotsNone, simweb.RobotsAllowAll, simweb.RobotsAllowAll, simweb.RobotsSubtree, simweb.RobotsWildcard, simweb.RobotsAgent, simweb.RobotsOdd,
		simweb.RobotsUnauthorized, simweb.RobotsGone, simweb.RobotsPage, simweb.RobotsRedirect, simweb.RobotsRedirectChain, simweb.RobotsRedirectLoop,
		simweb.RobotsHostSelf, simweb.RobotsMirror, simweb.RobotsSitemap, simweb.RobotsClosed, simweb.RobotsFlapping,
	}
	features := []simweb.Feature{
		simweb.FeatureNofollow, simweb.FeatureTags, simweb.FeatureStatuses, simweb.FeatureServerErrors, simweb.FeatureFlapping, simweb.FeatureRetryAfter,
		simweb.FeatureRetryAfter, simweb.FeatureRedirects, simweb.FeatureEncodings, simweb.FeatureTypes, simweb.FeatureDataYAML, simweb.FeatureDataRecords,
		simweb.FeatureSitemap, simweb.FeatureHostile, simweb.FeatureBroken,
	}
	all := make(map[int]simweb.Behavior, hosts)
	for i := range hosts {
		b := simweb.Behavior{Robots: kinds[r.IntN(len(kinds))], DataRows: 10, RetryAfter: time.Duration(1+r.IntN(20)) * time.Second, Fails: 1}
		if i == 0 { // all the rest is found from here
			b.Robots = simweb.RobotsAllowAll
		}
		switch b.Robots {
		case simweb.RobotsRedirect, simweb.RobotsMirror:
			b.Peer = 0
		}
		if r.IntN(3) == 0 {
			b.Latency, b.Jitter = time.Duration(r.IntN(200))*ms, time.Duration(r.IntN(300))*ms
		}
		if r.IntN(4) == 0 && b.Robots != simweb.RobotsMirror {
			b.CrawlDelay = time.Duration(1+r.IntN(8)) * 100 * ms
		}
		for range r.IntN(3) {
			f := features[r.IntN(len(features))]
			if f == simweb.FeatureSitemap && !namesSitemaps(b.Robots) {
				continue
			}
			b.Features = append(b.Features, f)
		}
		if r.IntN(5) == 0 {
			b.FlapRate = 0.2
		}
		if i > 0 && r.IntN(4) == 0 {
			// So slow that a request outlasts a third of a lease, or all of it.
			b.Latency, b.Jitter, b.Pages, b.Features = time.Duration(3+r.IntN(18))*time.Second, 3*time.Second, 3, nil
			b.CrawlDelay = 0
		}
		all[i] = b
	}
	cfg.Behaviors = all
	return cfg
}

// namesSitemaps reports whether there is a robots.txt of the host's own that can be read.
func namesSitemaps(k simweb.Robots) bool {
	switch k {
	case simweb.RobotsAllowAll, simweb.RobotsSubtree, simweb.RobotsWildcard, simweb.RobotsAgent, simweb.RobotsOdd, simweb.RobotsHostSelf:
		return true
	}
	return false
}
