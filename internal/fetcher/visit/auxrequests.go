package visit

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// auxRequests carries out what other parts need asked of this host. Each answer is in the log of
// the shard that wants it before the outcome says that the errand is done; one not done comes again
// with a later visit.
func (v *Visit) auxRequests() {
	for i := range v.job.Aux {
		e := &v.job.Aux[i]
		if v.over() {
			return
		}
		// A frontier's mistake; that host has a visit of its own, perhaps right now.
		if e.URL.Host() != v.job.Host {
			v.log.Error("an auxiliary request to another host is ignored", "url", string(e.URL))
			continue
		}
		a := crawl.Answer{Aux: *e}
		a.Aux.Form = "" // it may hold a key
		if !v.auxRequest(e, &a) {
			continue
		}
		ev := crawl.Event{Visit: v.job.ID, Fetcher: v.deps.opt.Fetcher, Answers: []crawl.Answer{a}}
		if !v.publish(e.ReplyShard, &ev) {
			return
		}
		v.out.Done = append(v.out.Done, a.Aux)
		v.deps.metrics.aux.Inc()
		if i < len(v.job.Aux)-1 {
			v.report()
		}
	}
}

// doing is how the errands of one kind are done.
type doing struct {
	// do carries an errand out and puts into a what came of it. done is false when it is left to a
	// later visit.
	do func(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool)
	// robots: the answer is made of the robots.txt of URL's origin, whose text is fetched if the
	// frontier did not send it.
	robots bool
}

// AuxKinds has a row for each kind that needs requests.
var AuxKinds map[crawl.AuxKind]doing

// Rows are set here, since some of these functions look into the table.
func init() {
	AuxKinds = map[crawl.AuxKind]doing{
		crawl.AuxRobots:  {do: doRobots, robots: true},
		crawl.AuxClaim:   {do: doClaim, robots: true},
		crawl.AuxSample:  {do: doSample},
		crawl.AuxData:    {do: doData},
		crawl.AuxNested:  {do: doData},
		crawl.AuxSitemap: {do: doSitemap},
		crawl.AuxRUP:     {do: doRUP},

		crawl.AuxSecurityTxt: {do: doSecurityTxt},
		crawl.AuxLLMSTxt:     {do: doLLMSTxt},
		crawl.AuxIndexNow:    {do: doKeyFile},
		crawl.AuxFeed:        {do: doFeed},
		crawl.AuxWebSub:      {do: doWebSub},
	}
}

// ourMistake answers an errand when doing it ended in a mistake of ours, so that it is not asked
// for again and again.
const ourMistake = "an internal error; see the fetcher's log"

// auxRequest carries one out and reports whether it is to be answered, with a.
func (v *Visit) auxRequest(e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	kind, known := AuxKinds[e.Kind]
	if !known {
		// A newer frontier wants something we do not know. Another fetcher may.
		v.log.Warn("an auxiliary request of an unknown kind is ignored", "kind", int(e.Kind), "url", string(e.URL))
		return false
	}
	defer v.asking(crawl.RequestKind(e.Kind))()
	return kind.do(v, e, a)
}

func doRobots(v *Visit, e *crawl.AuxRequest, a *crawl.Answer) (done bool) {
	a.Robots, done = v.robotsRequest(e)
	return done
}

// robotsRequest asks for the robots.txt of another origin, moved to this host by a redirect. That
// is a request to this host like any other: its own robots.txt is read first and obeyed (formats
// §7). Only that file itself needs no leave.
func (v *Visit) robotsRequest(e *crawl.AuxRequest) (fact crawl.Robots, ok bool) {
	var leave leaveFunc
	switch {
	case e.URL.Host() == e.Origin.Host:
		// Led away and back: where a host keeps its own rules is its own affair.
	case v.deps.client.HasCredentials(e.URL.Origin()):
		// A stranger could tell from what we ask for what the file says.
		return crawl.Robots{Origin: e.Origin, State: crawl.RobotsUnreachable, Reason: "redirected to " + string(e.URL) + ": " + requiresCredentials}, true
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
	v.deps.metrics.robots.WithLabelValues(fact.State.String()).Inc()
	fact.Origin = e.Origin
	if fact.State == crawl.RobotsParsed {
		rules := v.rules(&fact)
		fact.CrawlDelay, fact.HasCrawlDelay = rules.CrawlDelay()
	}
	return fact, true
}

// lentRobots answers for an origin whose robots.txt is that of an origin of this host: with the
// copy in use, which is asked for only when this host's own visits would.
func (v *Visit) lentRobots(e *crawl.AuxRequest) (fact crawl.Robots, ok bool) {
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
		fact.Redirects += e.Hop
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
