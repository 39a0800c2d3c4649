package robots

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/requests"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
	"github.com/curtsy/curtsy/pkg/usage"
)

// Path is where an origin has its robots.txt. It may be requested whatever the rules are.
const Path = "/robots.txt"

// Options are what the sites of a visit are made with.
type Options struct {
	Requests *requests.Requests
	Job      *crawl.Visit
	Began    time.Time // when the visit was granted; times in Job count from then
	Cache    *Cache
	Memo     *usage.Memo // of the statements that pages repeat
	// Text asks the owner of the visit's shard for a text that it stores, by its digest.
	Text func(ctx context.Context, digest []byte) ([]byte, error)
	// Publish publishes what was learnt of an origin and reports whether that is stored.
	Publish func(crawl.Robots) bool
	// HasCredentials reports whether requests to an origin carry credentials.
	HasCredentials func(canon.Origin) bool
	// NeedsText reports whether an auxiliary request of the visit is answered from the text of the
	// robots.txt of an origin.
	NeedsText func(canon.Origin) bool
	// Fixed: nothing is requested or published, because the host is not the visit's own. What Job
	// says is valid as long as the Sites are used; an origin of which it does not say enough has no
	// Site.
	Fixed bool
}

// Sites are the origins of a visit's host. They belong to the visit's goroutine.
type Sites struct {
	Options
	sites     []*Site
	refreshed map[canon.Origin]bool          // origins whose robots.txt was requested in this visit
	rights    map[canon.URL]crawl.RightsFile // rights files that were requested in this visit
	lastUsage usageSource
}

// New returns the sites of a visit that begins. Nothing is known of any site yet.
func New(o Options) *Sites { return &Sites{Options: o} }

// Site is what a visit may do on one origin of its host.
type Site struct {
	Origin canon.Origin
	// Closed: nothing may be requested now, because the robots.txt cannot be fetched.
	Closed bool
	// Bar is why we may not request its robots.txt, if Bar.Barred; then nothing else may be
	// requested, either.
	Bar wire.Failure

	rules *ruleset  // of its robots.txt; nil while closed
	until time.Time // how long all of this is valid
	// The fact that the rules follow from, without its text unless that is needed; nil means no
	// answer.
	fact *crawl.Robots
	// What rights files say about the use of its pages; nil means nothing, or nobody asks.
	rights *rightsFiles
}

// Of returns what may be done on an origin. It requests the robots.txt if that is not known or not
// fresh any more. It returns nil if the visit is over.
func (s *Sites) Of(o canon.Origin) *Site {
	i := slices.IndexFunc(s.sites, func(site *Site) bool { return site.Origin == o })
	if i >= 0 && time.Now().Before(s.sites[i].until) {
		return s.sites[i]
	}
	site := s.enter(o)
	switch {
	case site == nil || !s.readRights(site):
		return nil
	case i >= 0:
		s.sites[i] = site
	default:
		s.sites = append(s.sites, site)
	}
	return site
}

// enter makes a site of what the frontier knows, or of what the origin answers.
func (s *Sites) enter(o canon.Origin) *Site {
	known := &crawl.Robots{Origin: o}
	for i := range s.Job.Robots {
		if s.Job.Robots[i].Origin == o {
			known = &s.Job.Robots[i]
		}
	}
	fresh := known.Fresh - time.Since(s.Began)
	switch {
	case s.Fixed:
		if known.State != crawl.RobotsParsed && known.State != crawl.RobotsUnavailable {
			return nil
		}
		site := s.known(known)
		if site != nil {
			site.until = s.Began.Add(fixedFor)
		}
		return site
	case known.State == crawl.RobotsPending:
		return &Site{Origin: o, fact: known, Closed: true, until: s.Began.Add(time.Hour)}
	case known.State != crawl.RobotsUnknown && fresh > 0 && !s.refreshed[o]:
		site := s.known(known)
		if site != nil {
			site.until = s.Began.Add(known.Fresh)
			return site
		}
		// Its text is not available, so the origin is asked again.
		known = &crawl.Robots{Origin: o}
	}
	return s.refresh(known)
}

// fixedFor is longer than anybody uses fixed sites.
const fixedFor = 30 * 24 * time.Hour

// known makes a site of a fact. It returns nil if the rules are needed and not available.
func (s *Sites) known(r *crawl.Robots) *Site {
	site := &Site{Origin: r.Origin, fact: r}
	switch r.State {
	case crawl.RobotsParsed:
		if site.rules = s.rules(r); site.rules == nil {
			return nil
		}
		if !s.Fixed {
			s.keepDelay(site.rules)
		}
	case crawl.RobotsUnavailable:
		site.rules = allowAll
	default:
		site.Closed = true
	}
	return site
}

// keepDelay applies the Crawl-delay of rules to the rest of the visit.
func (s *Sites) keepDelay(rules *ruleset) {
	if d, ok := rules.CrawlDelay(); ok {
		s.Requests.AddDelay(d, "crawl-delay")
		if d > wire.MaxCrawlDelay {
			s.Requests.End(fmt.Sprintf("robots.txt asks for %v between requests; with more than %v the host is not visited", d, wire.MaxCrawlDelay))
		}
	}
}

// Origin returns an origin in the form of pkg/robots.
func Origin(o canon.Origin) robots.Origin {
	return robots.Origin{Scheme: o.Scheme, Host: strings.Trim(string(o.Host), "[]"), Port: o.Port}
}

// Cleaned returns a path with query without the parameters that the robots.txt calls meaningless
// (Clean-param).
func (site *Site) Cleaned(pathQuery string) string { return site.rules.cleaned(pathQuery) }

// AgentServer returns the server to which the robots.txt sends mobile robots for a path (formats
// §3). ok is false if it names none.
func (site *Site) AgentServer(path string) (target string, ok bool) {
	if site.rules == nil {
		return "", false
	}
	return site.rules.AgentServer(path)
}

// Permission says whether a URL may be requested, and if not why.
type Permission struct {
	// Over: the visit is over, and the rules are not known. Then no other field is set.
	Over    bool
	Site    *Site
	Verdict robots.Verdict // by which line the URL is refused
	Reason  crawl.Reason   // empty: it may be requested
	Text    string         // why it may not, for people; it begins with the code of the reason
}

// OK reports whether the URL may be requested.
func (p *Permission) OK() bool { return !p.Over && p.Reason == "" }

// Closed reports whether the URL may not be requested because its robots.txt cannot be fetched now.
func (p *Permission) Closed() bool { return p.Site != nil && p.Site.Closed && !p.Site.Bar.Barred }

// Ask says whether u may be requested. It requests the robots.txt and the rights files of its
// origin if they are not known.
func (s *Sites) Ask(u canon.URL) Permission {
	if s.Requests.Forgotten(u) {
		return Permission{Reason: crawl.ReasonForgotten, Text: string(crawl.ReasonForgotten)}
	}
	site := s.Of(u.Origin())
	switch {
	case site != nil && site.Bar.Barred:
		return Permission{Site: site, Reason: site.Bar.Reason, Text: site.Bar.String()}
	case site != nil && site.Closed:
		return Permission{Site: site, Reason: unreachable, Text: site.whyClosed()}
	case site == nil || s.Requests.Over():
		return Permission{Over: true}
	}
	p := Permission{Site: site}
	switch p.Verdict, p.Reason = s.Match(site, u); p.Reason {
	case "":
	case crawl.ReasonUsage: // its rule says which line it is
		p.Text = fmt.Sprintf("%s: %s", p.Reason, crawl.ShortDetail(p.Verdict.Rule))
	default:
		p.Text = fmt.Sprintf("%s: line %d: %s", p.Reason, p.Verdict.Line, crawl.ShortDetail(p.Verdict.Rule))
	}
	return p
}

// unreachable begins the text about a site that is closed. It is no reason of a URL.
const unreachable crawl.Reason = "unreachable"

// whyClosed says for people why nothing may be requested of a site now.
func (site *Site) whyClosed() string {
	why := string(unreachable) + ": robots.txt of " + site.Origin.String() + " cannot be fetched now"
	if site.fact != nil && site.fact.Reason != "" {
		why += ": " + site.fact.Reason
	}
	return why
}
