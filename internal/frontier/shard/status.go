package shard

import (
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/robots"
)

// maxPostponed limits the postponed hosts that a status lists. The count of their URLs is exact in
// any case.
const maxPostponed = 100

// Status is the shard's part of the crawl's status.
func (s *Account) Status(now time.Time) crawl.Status {
	c := &s.ledger.Meta.Counts
	st := crawl.Status{
		Queued: c.Queued - s.urls.InFlight, InFlight: s.urls.InFlight, Stored: c.Stored, Redirected: c.Redirected,
		Refused: c.Refused, Failed: c.Failed, ByReason: maps.Clone(c.ByReason), Bytes: c.Bytes,
		Hosts: s.ledger.Meta.KnownHosts(), State: "running",
	}
	st.Discovered = st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed
	if s.ledger.Judge.Spec.Paused {
		st.State = "paused"
	}
	if open := s.polite.OpenFrom(now); open.After(now) {
		open = open.UTC()
		st.OpensAt = &open
	}
	if st.ByReason == nil {
		st.ByReason = map[string]int64{}
	}
	st.Rate = s.ledger.Rate.PerSecond(now)
	sum := s.summarise(now)
	if st.Again = sum.Again; sum.Again > 0 {
		next := sum.Next.UTC()
		st.NextAgain = &next
	}
	dueSoon := sum.DueSoon
	st.Postponed = slices.Clone(sum.Postponed)
	st.Outlook = s.outlook(sum, now)
	st.PausedHosts, st.PausedURLs = s.paused()
	st.Shards = []crawl.ShardStatus{{
		Shard: s.ledger.ID, Epoch: s.ledger.Epoch, Owner: s.ledger.Meta.Owner, Applied: s.ledger.Meta.Seq, Outstanding: len(s.visits.Outstanding), Outbox: s.ledger.Pending(),
		Aux: s.ledger.PendingAux(now, s.patience()) + s.mirrors.Pending(now, s.patience()), DueSoon: dueSoon,
		Paused: s.ledger.Judge.Spec.Paused, Forgotten: s.ledger.Judge.ForgottenText, Forgetting: s.passes.Listed(store.BucketForget), Retrying: s.passes.Listed(store.BucketRetry), Passing: s.passes.Passing(),
		Sites: s.ledger.Judge.SitesHash, SitesQueued: s.ledger.Meta.Judging.Sites.Queued, SitesRefused: s.ledger.Meta.Judging.Sites.Refused, Judging: s.ledger.Meta.Judging.Running,
	}}
	st.Shards[0].Aux += s.dispatches.Pending(s.patientUntil(now), now)
	st.Rendering = c.Rendering
	st.MobileRobots = s.dispatches.Sum()
	st.Round = s.round(st, now)
	return st
}

// round is the current round of a crawl with rounds. It is over when nothing is due before the
// next.
func (s *Account) round(st crawl.Status, now time.Time) *crawl.Round {
	r, ok := s.ledger.Judge.Spec.RoundAt(now)
	if !ok {
		return nil
	}
	r.Began, r.Next = r.Began.UTC(), r.Next.UTC()
	mine := &st.Shards[0]
	r.Over = mine.DueSoon == 0 && mine.Outstanding == 0 && mine.Aux == 0 && mine.Outbox == 0 && !mine.Passing &&
		(st.NextAgain == nil || !st.NextAgain.Before(r.Next))
	return &r
}

// paused counts the hosts that the operator has paused, and their queued URLs.
func (s *Account) paused() (hosts, urls int64) {
	spec := &s.ledger.Judge.Spec
	for name, rule := range spec.Hosts {
		if !rule.Paused || crawl.ShardOf(name, spec.Shards) != s.ledger.ID {
			continue
		}
		// An unreadable host is reported by the code that needs it.
		if h, err := s.ledger.HostNamed(name); err == nil && h != nil {
			hosts, urls = hosts+1, urls+h.Queued
		}
	}
	return hosts, urls
}

// patience is how long a URL may still have to wait without keeping the crawl from being done.
func (s *Account) patience() time.Duration {
	if s.ledger.Judge.Spec.HoldMax > 0 {
		return s.ledger.Judge.Spec.HoldMax
	}
	return 10 * time.Minute
}

// patientUntil is when patience ends for what is due now. While nothing may be granted after a
// restart, or outside of the hours of the crawl, it counts from the end of that period, because a
// host that must wait for us is not postponed by its site.
func (s *Account) patientUntil(now time.Time) time.Time {
	return now.Add(max(s.ledger.Phase.RemainingDelay(now), s.polite.OpenFrom(now).Sub(now)) + s.patience())
}

// Postponed reports that nothing will be requested from h within patience, why, and until when.
func (s *Account) Postponed(h *hosts.Host, now time.Time) (postponed bool, reason string, until time.Time) {
	if h.Visit != nil {
		return false, "", until
	}
	if s.polite.Paused(h) {
		return false, "", until // not postponed by its site
	}
	limit := s.patientUntil(now)
	if o := polite.SlowOrigin(h); o != nil {
		return true, "crawl-delay " + o.CrawlDelay.String() + " is longer than the limit of " + polite.CrawlDelayCap.String(), polite.From(o, now)
	}
	if h.Due.After(limit) && h.DueReason != hosts.DueAddress {
		switch {
		case h.DueReason != "":
			reason = h.DueReason
		case h.Backoff > 0:
			reason = "backing off after overload or time-outs"
		default:
			reason = "delay"
		}
		for i := range h.Origins {
			if o := &h.Origins[i]; o.History.Failures > 0 && o.Reason != "" {
				reason += "; robots.txt unreachable: " + o.Reason
				break
			}
		}
		return true, reason, h.Due
	}
	if h.Later > 0 {
		return false, "", until // another attempt follows soon
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Ready == 0 {
			continue
		}
		t := polite.From(o, now)
		switch {
		case o.PendingOn != "" && now.Sub(o.PendingAt) >= s.patience():
			reason, until = "robots.txt is waiting for "+o.PendingOn, t
		case o.PendingOn != "" || !t.After(limit):
			return false, "", until
		default:
			reason = "robots.txt unreachable"
			if o.Reason != "" {
				reason += ": " + o.Reason
			}
			until = t
		}
	}
	return reason != "", reason, until
}

// HostInfo is what `curtsy hosts` prints about h.
func (s *Account) HostInfo(h *hosts.Host, now time.Time) crawl.HostInfo {
	sp := s.polite.DelayOf(h)
	hi := crawl.HostInfo{
		Host: string(h.Name), DelayS: sp.D.Seconds(), DelaySource: sp.Source, Queued: h.Queued, Fetched: h.Fetched,
		Shard: s.ledger.ID, AgentServers: []crawl.AgentInfo{}, Robots: []crawl.RobotsInfo{},
	}
	rule := s.ledger.Judge.Spec.Hosts[h.Name]
	hi.Paused, hi.OperatorDelayS = rule.Paused, rule.Delay.Seconds()
	if h.DueReason != "" && h.Due.After(now) {
		hi.DelaySource = h.DueReason
	}
	main := -1
	for i := range h.Origins {
		o := &h.Origins[i]
		f := s.ledger.RobotsFile(h, o)
		ri := info(o, now)
		ri.HostHint = f.HostHint
		switch c := f.Claim(hosts.RobotsOrigin(o.Origin)); c.Kind {
		case robots.ClaimSelf:
			ri.Claim = "self"
		case robots.ClaimTarget:
			ri.Claim = c.Target.String()
		}
		ri.DataTxt, ri.Nested = o.Data.String(), s.datafiles.NestedInfos(h, o.Origin)
		ri.OriginFiles = o.OriginFiles
		ri.Usage, ri.UsageMore = usageLines(f, s.ledger.Judge.Spec.Agent, o)
		hi.Robots = append(hi.Robots, ri)
		if main < 0 || o.Ready > h.Origins[main].Ready || !o.History.Fetched.IsZero() && h.Origins[main].History.Fetched.IsZero() {
			main = i
		}
		for _, a := range f.AgentServers() {
			target := a.Target
			if target == "" {
				target = "none"
			}
			hi.AgentServers = append(hi.AgentServers, crawl.AgentInfo{Path: a.Path, Target: target, Line: a.Line})
		}
		if polite.Slow(o) {
			hi.DelayS, hi.DelaySource = o.CrawlDelay.Seconds(), "crawl-delay"
		}
	}
	hi.MirrorOf = mirrorsOf(h, hi.Robots)
	if main >= 0 {
		r := hi.Robots[main]
		hi.Robot = &r
	}
	hi.State, hi.Reason, hi.NextDue = s.hostState(h, now)
	hi.Sitemaps = s.sitemaps.Infos(h, wellknown.MaxSitemapInfos)
	var err error
	if hi.Dispatches, err = s.dispatches.Infos(h); err != nil {
		s.ledger.Log.Error("dispatches cannot be read", "host", h.Name, "error", s.ledger.Blame(err))
	}
	return hi
}

func (s *Account) hostState(h *hosts.Host, now time.Time) (state, reason string, next *time.Time) {
	switch {
	case h.Visit != nil:
		return "visiting", "", nil
	case s.polite.Paused(h):
		return "paused", "paused by the operator; to continue, type: curtsy host resume " + string(h.Name), nil
	}
	if h.Queued == 0 && len(h.Aux) == 0 {
		if t, n := s.recrawl.AgainOf(h); n > 0 {
			next := t
			return "idle", "", &next
		}
		return "idle", "", nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 {
			return "robots-pending", "its robots.txt leads to " + o.PendingOn, nil
		}
	}
	if why, until := s.polite.Closed(h, now); why != "" && !h.Due.After(until) {
		next := until
		return "waiting", why, &next
	}
	if postponed, why, until := s.Postponed(h, now); postponed {
		next := until // not until itself, which would be allocated on the heap for every host
		return "held", why, &next
	}
	when := h.Due
	from, ok := s.visits.Ready(h, now)
	if from.After(when) {
		when = from
	}
	switch {
	case !ok:
		return "waiting", "waiting for the next attempt", nil
	case when.After(now):
		next := when
		return "waiting", s.polite.WaitsForAllowance(h, now), &next
	}
	return "due", "", nil
}

// info is the information about an origin's robots.txt that does not require reading its text.
func info(o *hosts.Origin, now time.Time) crawl.RobotsInfo {
	state, _ := polite.State(o, now)
	ri := crawl.RobotsInfo{Origin: o.Origin.String(), State: state.String(), Status: o.Status, Reason: o.Reason}
	if t := o.History.Fetched; !t.IsZero() {
		t = t.UTC()
		ri.FetchedAt = &t
	}
	return ri
}
