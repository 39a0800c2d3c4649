package fetcher

import (
	"github.com/curtsy/curtsy/internal/crawl"
)

// errands carries out what other parts need asked of this host. Each answer is in the log of the shard that wants it
// before the outcome says that the errand is done; one not done comes again with a later visit.
func (v *visit) errands() {
	for _, e := range v.job.Errands {
		if v.over() {
			return
		}
		if e.URL.Host() != v.job.Host { // a frontier's mistake; that host has a visit of its own, perhaps right now
			v.log.Error("an errand on another host left alone", "url", string(e.URL))
			continue
		}
		var a crawl.Answer
		switch e.Kind {
		case crawl.ErrandRobots:
			// The robots.txt of another origin, moved to this host by a redirect. It is not subject to this host's own
			// robots.txt: asking for rules needs no leave by rules.
			fact, fail := v.fetchRobots(e.URL, e.Hop, nil)
			switch {
			case fail.unsent:
				return
			case fail.reason == crawl.ReasonAddress:
				fact.State, fact.Reason = crawl.RobotsUnreachable, fail.String() // there may be rules; we may not read them
			}
			fact.Origin = e.Origin
			if fact.State == crawl.RobotsParsed {
				rules := v.rules(&fact)
				fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
			}
			a = crawl.Answer{Errand: e, Robots: fact}
		case crawl.ErrandData:
			probe, page, ok := v.fetchData(e.URL, e.Origin, e.Hop)
			if !ok {
				return
			}
			if page != nil && !v.f.opt.DiscardPages {
				v.sendPages(e.ReplyShard, crawl.AppendPages(nil, []crawl.Page{*page}))
			}
			a = crawl.Answer{Errand: e, Probe: probe}
		default:
			// A newer frontier wants something we do not know. Another fetcher may.
			v.log.Warn("errand of an unknown kind left alone", "kind", int(e.Kind), "url", string(e.URL))
			continue
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.f.opt.Name, Answers: []crawl.Answer{a}}
		if !v.publish(e.ReplyShard, &ev) {
			return
		}
		v.out.Done = append(v.out.Done, e)
		v.f.met.errands.Inc()
	}
}
