package shard

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/dispatch"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/updates"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parts are the parts of one shard, from those at the bottom upwards. The packages below this one
// implement most of them. They share the lock of the ledger, which the caller of their methods
// holds, unless a method's comment says otherwise.
type Parts struct {
	Ledger   *hosts.Ledger
	Features *hosts.Features
	URLs     *urls.URLs
	Polite   *polite.Polite
	Recrawl  *urls.Recrawl

	Sitemaps    *wellknown.Sitemaps
	DataFiles   *wellknown.DataFiles
	RobotsProxy *wellknown.RobotsProxy
	Feeds       *wellknown.Feeds

	Mirrors  *mirrors.Mirrors
	IndexNow *updates.IndexNow
	WebSub   *updates.WebSub
	RUPSites *updates.RUPSites
	Timeline *schedule.Timeline
	Visits   *schedule.Visits

	Dispatches *dispatch.Dispatches

	Links    *Links
	Passes   *Passes
	History  *History
	Account  *Account
	Robots   *RobotsReports
	Specs    *Specs
	Outcomes *Outcomes
	Events   *Events
}

// New makes the parts of a shard whose file is still to be opened, and connects them: each gets
// those it stands on, and functions of those above it, which are called only when all are made. New
// sets the hooks in o.
func New(o hosts.Options) *Parts {
	p := &Parts{}
	o.Hooks = hosts.Hooks{
		Schedule: func(now time.Time) { p.Visits.Schedule(now) },
		Accept:   func(l *crawl.Links, now time.Time) error { return p.Links.Apply(l, now) },
		ReadRobots: func(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error {
			return p.Robots.Apply(f, visit, at, now)
		}, Uses: p.holdsHost, Loaded: p.hostLoaded,
	}
	p.Ledger = hosts.New(o)
	p.Features = hosts.NewFeatures(p.Ledger)
	p.URLs = urls.New(p.Features, p.Ledger, func(h *hosts.Host, r *urls.Record, at time.Time) error { return p.Recrawl.Plan(h, r, at) })
	p.Polite = polite.New(p.Features, p.Ledger)
	p.Recrawl = urls.NewRecrawl(p.Ledger, p.Polite, p.URLs, func(h *hosts.Host, r *urls.Record) int64 { return p.RUPSites.VouchedUntil(h, r) })
	p.Sitemaps = wellknown.NewSitemaps(p.Features, p.Ledger, p.Polite, p.URLs)
	p.DataFiles = wellknown.NewDataFiles(p.Features, p.Ledger)
	p.RobotsProxy = wellknown.NewRobotsProxy(p.Features, p.Ledger)
	p.Mirrors = mirrors.New(p.Features, p.Ledger, p.Recrawl, p.URLs)
	p.IndexNow = updates.NewIndexNow(p.Features, p.Ledger)
	p.Feeds = wellknown.NewFeeds(p.Features, p.Ledger, p.Polite, p.URLs, wellknown.Hubs{
		Named: func(h *hosts.Host, feed canon.URL, depth int, f *crawl.Feed, now time.Time) error {
			return p.WebSub.Names(h, feed, depth, f, now)
		},
		Pushed: func(feed canon.URL) bool { return p.WebSub.Pushed(feed) },
	})
	p.WebSub = updates.NewWebSub(p.Features, p.Feeds, p.Ledger)
	p.RUPSites = updates.NewRUPSites(p.Features, p.Ledger, p.Recrawl, p.URLs)
	p.Timeline = schedule.NewTimeline(p.Ledger)
	p.Links = NewLinks(p.Ledger, p.Mirrors, p.Polite, p.Recrawl, p.RUPSites, p.URLs)
	p.Visits = schedule.NewVisits(p.Features, p.Ledger, p.Polite, p.Recrawl, p.Sitemaps, p.Timeline, p.URLs)
	p.Dispatches = dispatch.New(p.Features, p.Ledger, p.URLs, dispatch.Above{
		Robots: p.Visits.RobotsFor, Refetch: p.Mirrors.Refetch, Expired: p.Visits.AddExpired, ReportBudget: p.Visits.ReportBudget,
	})
	p.Passes = NewPasses(p.DataFiles, p.Features, p.Ledger, p.Links, p.Mirrors, p.Recrawl, p.URLs, p.Visits)
	p.History = NewHistory(p.Ledger.File)
	p.Account = NewAccount(p)
	p.Robots = NewRobotsReports(p.Features, p.Ledger, p.Mirrors, p.Polite, p.RobotsProxy)
	p.Specs = NewSpecs(p.Features, p.Ledger, p.Links, p.Passes, p.Polite, p.RUPSites, p.URLs)
	p.Outcomes = NewOutcomes(p)
	p.Events = NewEvents(p)
	p.Features.Register(p.allFeatures())
	p.Passes.Register(p.Features.List)
	return p
}

// allFeatures are all features. A new one is added here.
func (p *Parts) allFeatures() []hosts.Feature {
	return slices.Concat([]hosts.Feature{
		p.RobotsProxy.Feature(),
		p.DataFiles.DataFeature(),
		p.Mirrors.MirrorsFeature(),
		p.Sitemaps.SitemapsFeature(),
		p.RUPSites.UpdatesFeature(),
		p.IndexNow.Feature(),
		p.Feeds.Feature(),
		p.WebSub.Feature(),
		p.Dispatches.Feature(),
		p.Timeline.Feature(),
	}, wellknown.OriginFiles(p.Features, p.Ledger), []hosts.Feature{
		p.Polite.Caused.Feature(),
		p.History.Feature(),
	})
}

// Read calls do under the shard's lock, unless the shard is closed. It takes the lock itself.
func (p *Parts) Read(do func() error) error { return read(p.Ledger.File, do) }

func read(f *store.File, do func() error) error {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if !f.Phase.MayRead() {
		return nil
	}
	return f.Guarded(do)
}

// JustVisited makes every host count as visited at last. An owner must do this when it does not
// know the last visits.
func (p *Parts) JustVisited(last time.Time) {
	// for evicted hosts that were never visited
	p.Ledger.Meta.DelayAll(last)
	for _, h := range p.Ledger.Hosts {
		p.visited(h, last)
		p.Ledger.Unschedule(h)
	}
}

// visited makes a host count as visited at last.
func (p *Parts) visited(h *hosts.Host, last time.Time) {
	h.DelayUntil(last.Add(max(p.Polite.DelayOf(h).D, h.Delay)), "")
}

// holdsHost reports whether some package refers to a host by its address.
func (p *Parts) holdsHost(h *hosts.Host) bool {
	return p.Passes.Fills(h) || p.RUPSites.Knows(h)
}

// hostLoaded applies to a loaded host what was applied to the hosts in memory while it was evicted:
// that they count as visited, that they were slowed down, that the clock was wrong.
func (p *Parts) hostLoaded(h *hosts.Host, now time.Time) {
	if p.Ledger.Meta.DelayedUntil > 0 {
		p.visited(h, time.UnixMilli(p.Ledger.Meta.DelayedUntil))
	}
	if p.Ledger.Slower(h) {
		p.Polite.Slowed(h, now)
	}
	if at := p.Ledger.SitemapsDue(h); !at.IsZero() && !now.Before(at) {
		p.Features.AskSoon(h)
	}
	h.BoundTimes(now.Add(p.Ledger.Phase.RemainingDelay(now)+p.Polite.LongestWait(h)), now)
}
