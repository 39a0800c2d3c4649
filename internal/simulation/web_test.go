package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/simweb"
)

const ms = time.Millisecond

// randomWeb makes a web of a few hosts, each with its own behaviour. None is paused for longer than
// a crawl waits. The chains are additional pages: see chain.
func randomWeb(r *rand.Rand) (cfg simweb.Config, chains [][]string) {
	hosts := 5 + r.IntN(8)
	cfg = simweb.Config{
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
		if i == 0 { // everything else is found from here
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
			// So slow that a request takes longer than a third of a lease, or than all of it.
			b.Latency, b.Jitter, b.Pages, b.Features = time.Duration(3+r.IntN(18))*time.Second, 3*time.Second, 3, nil
			b.CrawlDelay = 0
		}
		all[i] = b
	}
	chains = chain(r, all)
	cfg.Hosts, cfg.Behaviors = len(all), all
	return cfg, chains
}

// chainWord is on each page of a chain, and on no other page.
const chainWord = "quchainlinked"

// chain adds some plain hosts, and pages on them. Exactly one link leads from each page to the
// next, usually on another host: a crawler that loses one link loses all the pages after it. The
// first URL of each chain is a seed.
func chain(r *rand.Rand, all map[int]simweb.Behavior) (chains [][]string) {
	first, hosts := len(all), 4+r.IntN(3)
	for i := range hosts {
		b := simweb.Behavior{Robots: simweb.RobotsAllowAll, Pages: 2}
		if r.IntN(3) == 0 {
			b.Latency = time.Duration(r.IntN(400)) * ms
		}
		all[first+i] = b
	}
	for c := range 2 + r.IntN(2) {
		var urls []string
		var on []int
		for n := range 10 + r.IntN(12) {
			host := first + r.IntN(hosts)
			on = append(on, host)
			urls = append(urls, fmt.Sprintf("http://h%04d.sim.test/chain/%d-%d.html", host, c, n))
		}
		for n, u := range urls {
			body := fmt.Sprintf("<!DOCTYPE html><html><title>Page %d of chain %d</title><p>%s quchain%dx%d.</p>", n, c, chainWord, c, n)
			if n+1 < len(urls) {
				body += fmt.Sprintf("<a href=%q>on</a>", urls[n+1])
			}
			b := all[on[n]]
			path := u[strings.Index(u, "/chain/"):]
			b.Files = append(b.Files, simweb.File{Path: path, ContentType: "text/html; charset=utf-8", Body: body + "</html>\n"})
			all[on[n]] = b
		}
		chains = append(chains, urls)
	}
	return chains
}

// namesSitemaps reports whether the host has its own robots.txt that can be read.
func namesSitemaps(k simweb.Robots) bool {
	switch k {
	case simweb.RobotsAllowAll, simweb.RobotsSubtree, simweb.RobotsWildcard, simweb.RobotsAgent, simweb.RobotsOdd, simweb.RobotsHostSelf:
		return true
	}
	return false
}
