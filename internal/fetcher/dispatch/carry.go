package dispatch

import (
	"fmt"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/page"
	"github.com/curtsy/curtsy/internal/fetcher/publish"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/robots"
	"github.com/curtsy/curtsy/pkg/atp"
)

// Site is what makes pages of documents, and publishes them to the shard of their site.
type Site struct {
	Publisher *publish.Publisher // with the reserved visit
	Sites     *robots.Sites      // fixed, with the robots.txt of the plan
	Pages     *page.Bringer
	Reset     func() // makes new buffers for Pages, after a panic
}

// Options are what a dispatch is carried out with.
type Options struct {
	Robot    *Robot             // nil: this process sends none
	Requests *requests.Requests // of the visit to the server's host
	Aux      crawl.AuxRequest   // the request
	// Plan asks the owner of the site's shard for a part of the plan.
	Plan func(crawl.DispatchQuery) (crawl.DispatchPlan, error)
	// Open prepares what the pages of a plan are made with.
	Open func(*crawl.DispatchPlan) Site
	// Report reports how far the visit to the server has come. It is called between two requests.
	Report func()
}

// How long a host is not visited again after the dispatch was left to a later visit.
const (
	placePause = time.Minute      // this process carries out enough dispatches
	planPause  = 10 * time.Second // nobody answers for the site
)

// carrier carries out one dispatch.
type carrier struct {
	Options
	address atp.Address
	d       crawl.Dispatch // so far
	bundle  *bundle
	results results
	until   time.Time
	forget  bool // the run that the plan names is not known to the server
	resumed bool // another visit brought the first pages
}

// ending is how a dispatch ends, or the part of it that this visit carries out.
type ending struct {
	later   bool // a later visit goes on
	gone    bool // the server does not know the run any more
	state   string
	status  int
	reason  string
	wait    time.Duration
	retract bool // the run may still go on
}

// Carry carries a dispatch out and returns what happened. Its pages are published then, and its
// progress was. done is false if it is left to a later visit, which may be one of another process:
// then d is not to be published.
func Carry(o Options) (d crawl.Dispatch, done bool) {
	c := &carrier{Options: o}
	end := c.carry()
	if end.later {
		return d, false
	}
	if end.retract {
		c.retract()
	}
	d = c.d
	d.State, d.Status, d.Reason, d.RetryAfter = end.state, end.status, crawl.ShortDetail(end.reason), end.wait
	// A sample of the last pages alone says nothing of the first ones. Without one the frontier
	// takes its own.
	if (d.State == crawl.DispatchDone || d.State == crawl.DispatchCut) && !c.resumed {
		d.Sample = c.bundle.sample.all()
	}
	o.Requests.Metrics.Dispatches.WithLabelValues(d.State).Inc()
	return d, true
}

func (c *carrier) carry() *ending {
	var err error
	if c.Robot == nil {
		return &ending{state: crawl.DispatchFailed, reason: "this fetcher has no key for mobile robots; start it with --mobile-robots robot.pem"}
	}
	if c.address, err = atp.ParseAddress(crawl.AgentAddress(c.Aux.URL)); err != nil {
		return &ending{state: crawl.DispatchRefused, reason: err.Error()}
	}
	if !c.Robot.enter() {
		return c.leave("this process carries out enough dispatches of mobile robots", placePause)
	}
	defer c.Robot.leave()
	for again := range 3 {
		end := c.once()
		if !end.gone {
			return end
		}
		if again == 2 {
			break
		}
		c.Requests.Log.Info("the server does not know the run of a mobile robot any more; it is sent again", "server", c.address.String(), "status", end.status)
		c.forget = true
	}
	return &ending{state: crawl.DispatchFailed, reason: "the server forgot the robot that it had accepted"}
}

// leave leaves the dispatch to a visit that begins later.
func (c *carrier) leave(why string, pause time.Duration) *ending {
	c.Requests.End(why)
	c.Requests.Account.NotBefore = max(c.Requests.Account.NotBefore, pause)
	return &ending{later: true}
}

// once sends a robot, or continues with the run that was begun.
func (c *carrier) once() *ending {
	p, err := c.ask()
	switch {
	case err != nil && c.Requests.Over():
		return &ending{later: true}
	case err != nil:
		return c.leave(err.Error(), planPause)
	}
	if !c.forget {
		c.d = p.Before
	}
	c.d.AgentID, c.d.Offset, c.d.Skip = p.AgentID, p.Offset, p.Skip
	if !p.Wanted || c.Requests.Forgotten(c.Aux.About) {
		return &ending{state: crawl.DispatchDropped, reason: "it is not wanted any more", retract: true}
	}
	site := c.Open(&p.DispatchPlan)
	rules := site.Sites.Of(c.Aux.Origin)
	if rules == nil || rules.Closed {
		return &ending{state: crawl.DispatchFailed, reason: "the robots.txt of the site, or one of its files on the use of its pages, is not known now", retract: true}
	}
	if c.forget || p.AgentID == "" { // everything comes again, except what is known by now
		c.d = crawl.Dispatch{Began: c.d.Began, Requests: c.d.Requests, Sent: c.d.Sent, Received: c.d.Received}
	}
	c.resumed = c.resumed || p.Before.Pages+p.Before.Unchanged > 0
	if c.d.Began.IsZero() {
		c.d.Began = time.Now()
	}
	if err := c.open(p, site, rules); err != nil {
		return &ending{state: crawl.DispatchRefused, reason: err.Error()}
	}
	if c.d.AgentID == "" {
		if c.bundle.most == 0 {
			return &ending{state: crawl.DispatchDropped, reason: "no more pages may be stored"}
		}
		if end := c.send(); end != nil {
			return end
		}
		c.forget = false
		if !c.report() {
			return &ending{later: true}
		}
		c.Report()
	}
	return c.fetch()
}

// open prepares the bundle of a plan.
func (c *carrier) open(p *plan, site Site, rules *robots.Site) error {
	file, err := c.Aux.Origin.URL(robots.Path)
	if err != nil {
		return err
	}
	c.until, c.results = c.d.Began.Add(maxTime), results{}
	c.bundle = &bundle{
		requests: c.Requests, site: site, rules: rules, plan: p, origin: c.Aux.Origin, server: c.Aux.URL, subtree: c.Aux.About.PathQuery(),
		robots: file, via: fmt.Sprintf("mobile robot %s", crawl.AgentAddress(c.Aux.URL)), most: -1, seen: map[uint64]struct{}{}, counts: &c.d,
	}
	if p.Pages > 0 {
		c.bundle.most = max(p.Pages-p.Before.Pages, 0)
	}
	return nil
}
