package account

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/sitemaps"
	"github.com/curtsy/curtsy/pkg/robots"
)

// maxHeld bounds the held hosts that a status lists; the count of URLs is exact all the same.
const maxHeld = 100

// Status is the shard's part of the crawl's accounting.
func (s *Account) Status(now, since time.Time) crawl.Status {
	c := &s.ledger.Meta.Counts
	st := crawl.Status{
		Queued: c.Queued - s.urls.InFlight, InFlight: s.urls.InFlight, Stored: c.Stored, Redirected: c.Redirected,
		Refused: c.Refused, Failed: c.Failed, ByReason: maps.Clone(c.ByReason), Bytes: c.Bytes,
		Hosts: s.ledger.KnownHosts(), State: "running",
	}
	st.Discovered = st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed
	if s.ledger.Judge.Spec.Paused {
		st.State = "paused"
	}
	if st.ByReason == nil {
		st.ByReason = map[string]int64{}
	}
	st.Rate = s.ledger.Rate.PerSecond(now, since)
	sum := s.summarise(now)
	if st.Again = sum.Again; sum.Again > 0 {
		next := sum.Next.UTC()
		st.NextAgain = &next
	}
	dueSoon, eta := sum.DueSoon, sum.Eta
	st.Held = slices.Clone(sum.Held)
	if st.Rate > 0 || dueSoon == 0 {
		// The slowest host bounds the crawl from below; so does the whole queue
		// at the present rate.
		if st.Rate > 0 {
			eta = max(eta, time.Duration(float64(dueSoon)/st.Rate*float64(time.Second)))
		}
		secs := eta.Seconds()
		st.ETA = &secs
	}
	st.Shards = []crawl.ShardStatus{{
		Shard: s.ledger.ID, Epoch: s.ledger.Epoch, Owner: s.ledger.Meta.Owner, Applied: s.ledger.Meta.Seq, Outstanding: len(s.visits.Outstanding), Outbox: len(s.ledger.Outbox),
		Errands: s.ledger.PendingErrands(now, s.patience()) + s.mirrors.Pending(now, s.patience()), DueSoon: dueSoon,
		Forgotten: s.ledger.Judge.ForgottenText, Forgetting: s.passes.Listed(ledger.BucketForget), Retrying: s.passes.Listed(ledger.BucketRetry), Passing: s.passes.Passing(),
	}}
	return st
}

// summarise goes over all hosts, but not all the time: with many hosts an earlier answer is good
// for a while, as long as it says that there is work. That there is none is never said from memory.
func (s *Account) summarise(now time.Time) *ledger.Summary {
	if m := &s.ledger.Summary; m.DueSoon > 0 && now.Sub(m.At) < 20*m.Cost {
		return m
	}
	began := time.Now()
	m := ledger.Summary{At: now}
	if s.passes.Passing() {
		m.DueSoon++ // there are more to come
	}
	for ref := range s.mirrors.Settling {
		if s.mirrors.Settles(ref) {
			m.DueSoon++
		}
	}
	asleep := s.ledger.Meta.Counts.Queued // all of it is due
	for _, h := range s.ledger.Hosts {
		asleep -= h.Queued
		if len(h.Errands) > 0 && !h.Due.After(s.patientUntil(now)) {
			m.DueSoon += s.polite.ErrandsDueBy(h, s.patientUntil(now), now, s.patience())
		}
		if next, n := s.recrawl.AgainOf(h); n > 0 {
			if m.Again == 0 || next.Before(m.Next) {
				m.Next = next
			}
			m.Again += n
		}
		if h.Queued == 0 {
			continue
		}
		held, reason, until := s.HeldBack(h, now)
		if held {
			m.Held = append(m.Held, crawl.HeldHost{Host: string(h.Name), Queued: h.Queued, Reason: reason, Until: until})
			continue
		}
		m.DueSoon += h.Queued
		d := time.Duration(h.Queued) * (s.polite.DelayOf(h).D + h.Response)
		if wait := h.Due.Sub(now); wait > 0 {
			d += wait
		}
		m.Eta = max(m.Eta, d)
	}
	slices.SortFunc(m.Held, func(a, b crawl.HeldHost) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Host, b.Host))
	})
	m.Held = m.Held[:min(len(m.Held), maxHeld)]
	m.DueSoon += max(asleep, 0) + s.sitemaps.DueBy(s.patientUntil(now))
	m.Cost = time.Since(began)
	s.ledger.Summary = m
	return &s.ledger.Summary
}

// patience is how long a URL may still have to wait without keeping the crawl from being done.
func (s *Account) patience() time.Duration {
	if s.ledger.Judge.Spec.HoldMax > 0 {
		return s.ledger.Judge.Spec.HoldMax
	}
	return 10 * time.Minute
}

// patientUntil is when patience ends for what is due now. While nothing may be granted after a
// restart it counts from the end of that: a host that must wait for our own lease to run out is not
// held by anything of its own.
func (s *Account) patientUntil(now time.Time) time.Time {
	return now.Add(s.ledger.Phase.Owes(now) + s.patience())
}

// HeldBack reports that nothing of h will be asked for within hold-max, why, and until when.
func (s *Account) HeldBack(h *ledger.Host, now time.Time) (held bool, reason string, until time.Time) {
	if h.Visit != nil {
		return false, "", until
	}
	limit := s.patientUntil(now)
	if o := polite.SlowOrigin(h); o != nil {
		return true, "crawl-delay " + o.CrawlDelay.String() + " is over the cap of " + polite.CrawlDelayCap.String(), polite.From(o, now)
	}
	if h.Due.After(limit) && h.DueReason != ledger.DueAddress {
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
		return false, "", until // another attempt, soon
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Ready == 0 {
			continue
		}
		t := polite.From(o, now)
		switch {
		case o.PendingOn != "" && now.Sub(o.PendingAt) >= s.patience():
			reason, until = "robots.txt waits for "+o.PendingOn, t
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

// HostInfo is what `curtsy hosts` says of h.
func (s *Account) HostInfo(h *ledger.Host, now time.Time) crawl.HostInfo {
	sp := s.polite.DelayOf(h)
	hi := crawl.HostInfo{
		Host: string(h.Name), DelayS: sp.D.Seconds(), DelaySource: sp.Source, Queued: h.Queued, Fetched: h.Fetched,
		Shard: s.ledger.ID, AgentServers: []crawl.AgentInfo{}, Robots: []crawl.RobotsInfo{},
	}
	if h.DueReason != "" && h.Due.After(now) {
		hi.DelaySource = h.DueReason
	}
	main := -1
	for i := range h.Origins {
		o := &h.Origins[i]
		f := s.ledger.RobotsFile(h, o)
		ri := info(o, now)
		ri.HostHint = f.HostHint
		switch c := f.Claim(ledger.RobotsOrigin(o.Origin)); c.Kind {
		case robots.ClaimSelf:
			ri.Claim = "self"
		case robots.ClaimTarget:
			ri.Claim = c.Target.String()
		}
		ri.DataTxt, ri.Nested = o.Data.String(), s.datafiles.NestedInfos(h, o.Origin)
		ri.SecurityTxt = o.SecurityTxt
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
	hi.Sitemaps = s.sitemaps.Infos(h, sitemaps.MaxSitemapInfos)
	return hi
}

func (s *Account) hostState(h *ledger.Host, now time.Time) (state, reason string, next *time.Time) {
	if h.Visit != nil {
		return "visiting", "", nil
	}
	if h.Queued == 0 && len(h.Errands) == 0 {
		if t, n := s.recrawl.AgainOf(h); n > 0 {
			return "idle", "", &t
		}
		return "idle", "", nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 {
			return "robots-pending", "its robots.txt leads to " + o.PendingOn, nil
		}
	}
	if held, why, until := s.HeldBack(h, now); held {
		return "held", why, &until
	}
	when := h.Due
	from, ok := s.visits.Ready(h, now)
	if from.After(when) {
		when = from
	}
	switch {
	case !ok:
		return "waiting", "another attempt", nil
	case when.After(now):
		return "waiting", "", &when
	}
	return "due", "", nil
}

// info is what can be said of an origin's robots.txt without reading it.
func info(o *ledger.Origin, now time.Time) crawl.RobotsInfo {
	state, _ := polite.State(o, now)
	ri := crawl.RobotsInfo{Origin: o.Origin.String(), State: state.String(), Status: o.Status, Reason: o.Reason}
	if t := o.History.Fetched; !t.IsZero() {
		t = t.UTC()
		ri.FetchedAt = &t
	}
	return ri
}
