package fetcher

import (
	"github.com/curtsy/curtsy/internal/crawl"
)

// errands carries out what other parts need asked of this host. Each answer is in the log of the shard that wants it
// before the outcome says that the errand is done; one not done comes again with a later visit.
func (v *visit) errands() {
	for i := range v.job.Errands {
		e := &v.job.Errands[i]
		if v.over() {
			return
		}
		if e.URL.Host() != v.job.Host { // a frontier's mistake; that host has a visit of its own, perhaps right now
			v.log.Error("an errand on another host left alone", "url", string(e.URL))
			continue
		}
		a := crawl.Answer{Errand: *e}
		a.Errand.Form = "" // it may hold a key
		if !v.errand(e, &a) {
			continue
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.f.opt.Name, Answers: []crawl.Answer{a}}
		if !v.publish(e.ReplyShard, &ev) {
			return
		}
		v.out.Done = append(v.out.Done, a.Errand)
		v.f.met.errands.Inc()
	}
}

// errand carries one out and reports whether it is to be answered, with a.
func (v *visit) errand(e *crawl.Errand, a *crawl.Answer) (done bool) {
	switch e.Kind {
	case crawl.ErrandRobots:
		a.Robots, done = v.robotsErrand(e)
	case crawl.ErrandData, crawl.ErrandNested:
		if v.f.jams.jammed(e.ReplyShard) {
			return false // its copy would have to wait for room
		}
		var page *crawl.Page
		a.Probe, page, done = v.fetchData(e)
		if done && page != nil && !v.f.opt.DiscardPages {
			v.sendPages(e.ReplyShard, crawl.AppendPages(nil, []crawl.Page{*page}))
		}
		done = done && v.offerNested()
	case crawl.ErrandClaim:
		a.Claim, done = v.claim(e.URL.Origin())
	case crawl.ErrandSample:
		a.Sample, done = v.sample(e.URL)
	case crawl.ErrandSitemap:
		// Should reading it end in a mistake of ours, it is not asked for again and again.
		a.Sitemap, done = crawl.Sitemap{Reason: "a mistake in our program; see the fetcher's log"}, true
		v.safely(e.URL, func() { a.Sitemap, done = v.sitemap(e) })
	case crawl.ErrandRUP:
		a.RUP, done = crawl.RUP{Reason: "a mistake in our program; see the fetcher's log"}, true
		v.safely(e.URL, func() { a.RUP, done = v.rup(e) })
	default:
		// A newer frontier wants something we do not know. Another fetcher may.
		v.log.Warn("errand of an unknown kind left alone", "kind", int(e.Kind), "url", string(e.URL))
	}
	return done
}

// robotsErrand asks for the robots.txt of another origin, moved to this host by a redirect. It is not subject to this host's own
// robots.txt: asking for rules needs no leave by rules.
func (v *visit) robotsErrand(e *crawl.Errand) (fact crawl.Robots, ok bool) {
	fact, fail := v.fetchRobots(e.URL, e.Hop, nil)
	switch {
	case fail.unsent:
		return fact, false
	case fail.barred:
		fact.State, fact.Reason = crawl.RobotsUnreachable, fail.String() // there may be rules; we may not read them
	}
	fact.Origin = e.Origin
	if fact.State == crawl.RobotsParsed {
		rules := v.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}
