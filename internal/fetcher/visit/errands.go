package visit

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// errands carries out what other parts need asked of this host. Each answer is in the log of the
// shard that wants it before the outcome says that the errand is done; one not done comes again
// with a later visit.
func (v *Visit) errands() {
	for i := range v.job.Errands {
		e := &v.job.Errands[i]
		if v.over() {
			return
		}
		// A frontier's mistake; that host has a visit of its own, perhaps right now.
		if e.URL.Host() != v.job.Host {
			v.log.Error("an auxiliary request to another host is ignored", "url", string(e.URL))
			continue
		}
		a := crawl.Answer{Errand: *e}
		a.Errand.Form = "" // it may hold a key
		if !v.errand(e, &a) {
			continue
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.kit.opt.Fetcher, Answers: []crawl.Answer{a}}
		if !v.publish(e.ReplyShard, &ev) {
			return
		}
		v.out.Done = append(v.out.Done, a.Errand)
		v.kit.met.errands.Inc()
		if i < len(v.job.Errands)-1 {
			v.tell()
		}
	}
}

// doing is how the errands of one kind are done.
type doing struct {
	// do carries an errand out and puts into a what came of it. done is false when it is left to a
	// later visit.
	do func(v *Visit, e *crawl.Errand, a *crawl.Answer) (done bool)
	// robots: the answer is made of the robots.txt of URL's origin, whose text is fetched if the
	// frontier did not send it.
	robots bool
}

// ErrandKinds has a row for each kind that needs requests.
var ErrandKinds map[crawl.ErrandKind]doing

// Rows are set here, since some of these functions look into the table.
func init() {
	ErrandKinds = map[crawl.ErrandKind]doing{
		crawl.ErrandRobots:  {do: doRobots, robots: true},
		crawl.ErrandClaim:   {do: doClaim, robots: true},
		crawl.ErrandSample:  {do: doSample},
		crawl.ErrandData:    {do: doData},
		crawl.ErrandNested:  {do: doData},
		crawl.ErrandSitemap: {do: doSitemap},
		crawl.ErrandRUP:     {do: doRUP},

		crawl.ErrandSecurityTxt: {do: doSecurityTxt},
		crawl.ErrandLLMSTxt:     {do: doLLMSTxt},
		crawl.ErrandIndexNow:    {do: doKeyFile},
		crawl.ErrandFeed:        {do: doFeed},
		crawl.ErrandWebSub:      {do: doWebSub},
	}
}

// ourMistake answers an errand when doing it ended in a mistake of ours, so that it is not asked
// for again and again.
const ourMistake = "an internal error; see the fetcher's log"

// errand carries one out and reports whether it is to be answered, with a.
func (v *Visit) errand(e *crawl.Errand, a *crawl.Answer) (done bool) {
	kind, known := ErrandKinds[e.Kind]
	if !known {
		// A newer frontier wants something we do not know. Another fetcher may.
		v.log.Warn("an auxiliary request of an unknown kind is ignored", "kind", int(e.Kind), "url", string(e.URL))
		return false
	}
	defer v.asking(crawl.RequestKind(e.Kind))()
	return kind.do(v, e, a)
}

func doRobots(v *Visit, e *crawl.Errand, a *crawl.Answer) (done bool) {
	a.Robots, done = v.robotsErrand(e)
	return done
}

// robotsErrand asks for the robots.txt of another origin, moved to this host by a redirect. That is
// a request to this host like any other: its own robots.txt is read first and obeyed (protocols
// §1.1). Only that file itself needs no leave.
func (v *Visit) robotsErrand(e *crawl.Errand) (fact crawl.Robots, ok bool) {
	var leave leaveFunc
	switch {
	case e.URL.Host() == e.Origin.Host:
		// Led away and back: where a host keeps its own rules is its own affair.
	case v.kit.client.HasDoor(e.URL.Origin()):
		// A stranger could tell from what we ask for what the file says.
		return crawl.Robots{Origin: e.Origin, State: crawl.RobotsUnreachable, Reason: "redirected to " + string(e.URL) + ": " + behindDoor}, true
	case e.URL.PathQuery() == RobotsPath:
		return v.lentRobots(e)
	default:
		leave = v.mayAsk
	}
	fact, fail := v.fetchRobots(e.URL, e.Hop, nil, leave)
	switch {
	case fail.Unsent:
		return fact, false
	case fail.Barred:
		// There may be rules; we may not read them.
		fact.State, fact.Reason = crawl.RobotsUnreachable, fail.String()
	}
	v.kit.met.robots.WithLabelValues(fact.State.String()).Inc()
	fact.Origin = e.Origin
	if fact.State == crawl.RobotsParsed {
		rules := v.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}

// lentRobots answers for an origin whose robots.txt is that of an origin of this host: with the
// copy in use, which is asked for only when this host's own visits would.
func (v *Visit) lentRobots(e *crawl.Errand) (fact crawl.Robots, ok bool) {
	s := v.site(e.URL.Origin())
	switch {
	case s == nil:
		return fact, false
	case s.bar.Barred:
		return crawl.Robots{Origin: e.Origin, State: crawl.RobotsUnreachable, Reason: s.bar.String()}, true
	case s.fact == nil || s.fact.State == crawl.RobotsPending && s.fact.Location == "":
		return fact, false // its frontier knows where that leads
	}
	fact = *s.fact
	fact.Origin, fact.Renewed, fact.ETag, fact.LastModified, fact.ProbeData = e.Origin, false, "", "", false
	if known := slices.ContainsFunc(v.job.Robots, func(r crawl.Robots) bool { return r.Origin == s.origin }); known && !v.refreshed[s.origin] {
		fact.Age, fact.Fresh = fact.Age+time.Since(v.began), fact.Fresh-time.Since(v.began)
	}
	// An old copy may be in use, because asking for a new one failed.
	fact.Fresh = max(fact.Fresh, robots.MinFresh)
	switch fact.State {
	case crawl.RobotsPending:
		fact.Hops += e.Hop
	case crawl.RobotsParsed:
		body, err := v.text(s.fact)
		if err != nil {
			v.log.Debug("robots.txt is not available", "origin", s.origin.String(), "err", err)
			return fact, false
		}
		fact.Body = body
		rules := v.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}
