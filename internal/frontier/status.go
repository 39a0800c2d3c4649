package frontier

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/robots"
)

// maxHeld bounds the held hosts that a status lists; the count of URLs is exact all the same.
const maxHeld = 100

// status is the shard's part of the crawl's accounting.
func (s *shard) status(now, since time.Time) crawl.Status {
	c := &s.m.Counts
	st := crawl.Status{
		Queued: c.Queued - s.inFlight, InFlight: s.inFlight, Stored: c.Stored, Redirected: c.Redirected,
		Refused: c.Refused, Failed: c.Failed, ByReason: maps.Clone(c.ByReason), Bytes: c.Bytes,
		Hosts: int64(len(s.hosts)), State: "running",
	}
	st.Discovered = st.Queued + st.InFlight + st.Stored + st.Redirected + st.Refused + st.Failed
	if s.j.spec.Paused {
		st.State = "paused"
	}
	if st.ByReason == nil {
		st.ByReason = map[string]int64{}
	}
	st.Rate = s.rate.perSecond(now, since)
	sum := s.summarise(now)
	if st.Again = sum.again; sum.again > 0 {
		next := sum.next.UTC()
		st.NextAgain = &next
	}
	dueSoon, eta := sum.dueSoon, sum.eta
	st.Held = slices.Clone(sum.held)
	if st.Rate > 0 || dueSoon == 0 {
		// The slowest host bounds the crawl from below; so does the whole queue at the present rate.
		if st.Rate > 0 {
			eta = max(eta, time.Duration(float64(dueSoon)/st.Rate*float64(time.Second)))
		}
		secs := eta.Seconds()
		st.ETA = &secs
	}
	st.Shards = []crawl.ShardStatus{{
		Shard: s.id, Epoch: s.epoch, Owner: s.m.Owner, Applied: s.m.Seq, Outstanding: len(s.visits), Outbox: len(s.outbox),
		Errands: s.pendingErrands(now, s.patience()) + s.mirrorsPending(now, s.patience()), DueSoon: dueSoon,
		Forgotten: s.j.forgottenText, Forgetting: s.forgetting(),
	}}
	return st
}

// summary is what a pass over all hosts finds.
type summary struct {
	at      time.Time
	cost    time.Duration
	dueSoon int64 // URLs due within hold-max
	eta     time.Duration
	held    []crawl.HeldHost
	again   int64     // URLs that are asked for again
	next    time.Time // when the first of them is due
}

// summarise goes over all hosts, but not all the time: with many hosts an earlier answer is good for a while, as long as
// it says that there is work. That there is none is never said from memory.
func (s *shard) summarise(now time.Time) *summary {
	if m := &s.summary; m.dueSoon > 0 && now.Sub(m.at) < 20*m.cost {
		return m
	}
	began := time.Now()
	m := summary{at: now}
	if s.passing() {
		m.dueSoon++ // there are more to come
	}
	for ref := range s.settling {
		if s.settles(ref) {
			m.dueSoon++
		}
	}
	for _, h := range s.hosts {
		if len(h.errands) > 0 && !h.Due.After(s.patientUntil(now)) {
			m.dueSoon += h.errandsDueBy(s.patientUntil(now), now, s.patience())
		}
		if next, n := s.againOf(h); n > 0 {
			if m.again == 0 || next.Before(m.next) {
				m.next = next
			}
			m.again += n
		}
		if h.Queued == 0 {
			continue
		}
		held, reason, until := s.held(h, now)
		if held {
			m.held = append(m.held, crawl.HeldHost{Host: string(h.Name), Queued: h.Queued, Reason: reason, Until: until})
			continue
		}
		m.dueSoon += h.Queued
		d := time.Duration(h.Queued) * (s.delayOf(h).d + h.Response)
		if wait := h.Due.Sub(now); wait > 0 {
			d += wait
		}
		m.eta = max(m.eta, d)
	}
	slices.SortFunc(m.held, func(a, b crawl.HeldHost) int {
		return cmp.Or(cmp.Compare(b.Queued, a.Queued), cmp.Compare(a.Host, b.Host))
	})
	m.held = m.held[:min(len(m.held), maxHeld)]
	m.dueSoon += s.sitemapsDueBy(s.patientUntil(now))
	m.cost = time.Since(began)
	s.summary = m
	return &s.summary
}

// patience is how long a URL may still have to wait without keeping the crawl from being done.
func (s *shard) patience() time.Duration {
	if s.j.spec.HoldMax > 0 {
		return s.j.spec.HoldMax
	}
	return 10 * time.Minute
}

// patientUntil is when patience ends for what is due now. While nothing may be granted after a restart it counts from the
// end of that: a host that must wait for our own lease to run out is not held by anything of its own.
func (s *shard) patientUntil(now time.Time) time.Time {
	if now.Before(s.quiet) {
		now = s.quiet
	}
	return now.Add(s.patience())
}

// held reports that nothing of h will be asked for within hold-max, why, and until when.
func (s *shard) held(h *host, now time.Time) (held bool, reason string, until time.Time) {
	if h.visit != nil {
		return false, "", until
	}
	limit := s.patientUntil(now)
	if o := h.slow(); o != nil {
		return true, "crawl-delay " + o.CrawlDelay.String() + " is over the cap of " + crawlDelayCap.String(), o.from(now)
	}
	if h.Due.After(limit) {
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
		t := o.from(now)
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

// Sum adds the parts of a crawl's status up, one of each shard. Of a shard that moved while its owners were asked there may
// be two; the later owner's counts.
func Sum(parts []crawl.Status) crawl.Status {
	latest := map[int]crawl.ShardStatus{}
	for _, p := range parts {
		for _, s := range p.Shards {
			if was, ok := latest[s.Shard]; !ok || cmp.Or(cmp.Compare(s.Epoch, was.Epoch), cmp.Compare(s.Applied, was.Applied)) >= 0 {
				latest[s.Shard] = s
			}
		}
	}
	st := crawl.Status{ByReason: map[string]int64{}}
	for _, p := range parts {
		if len(p.Shards) == 1 {
			s := p.Shards[0]
			if latest[s.Shard] != s {
				continue
			}
			delete(latest, s.Shard)
		}
		st = addStatus(st, p)
	}
	return st
}

func addStatus(a, b crawl.Status) crawl.Status {
	for k, n := range b.ByReason {
		a.ByReason[k] += n
	}
	a.Discovered += b.Discovered
	a.Queued += b.Queued
	a.InFlight += b.InFlight
	a.Stored += b.Stored
	a.Redirected += b.Redirected
	a.Refused += b.Refused
	a.Failed += b.Failed
	a.Bytes += b.Bytes
	a.Hosts += b.Hosts
	a.Again += b.Again
	if b.NextAgain != nil && (a.NextAgain == nil || b.NextAgain.Before(*a.NextAgain)) {
		a.NextAgain = b.NextAgain
	}
	a.Rate += b.Rate
	a.Held = append(a.Held, b.Held...)
	a.Shards = append(a.Shards, b.Shards...)
	switch {
	case len(a.Shards) == len(b.Shards): // the first part
		a.ETA = b.ETA
	case a.ETA == nil || b.ETA == nil:
		// A part that cannot tell makes the whole unknown, unless it has nothing left to do.
		a.ETA = nil
	case *b.ETA > *a.ETA:
		a.ETA = b.ETA
	}
	if a.State == "" || b.State == "paused" {
		a.State = b.State
	}
	a.Trouble = cmp.Or(a.Trouble, b.Trouble)
	if a.Limit == "" {
		a.Limit = b.Limit
	}
	return a
}

func (s *shard) sortedHosts() []*host {
	return slices.SortedFunc(maps.Values(s.hosts), func(a, b *host) int { return cmp.Compare(a.Name, b.Name) })
}

// hostInfo is what `curtsy hosts` says of h.
func (s *shard) hostInfo(h *host, now time.Time) crawl.HostInfo {
	sp := s.delayOf(h)
	hi := crawl.HostInfo{
		Host: string(h.Name), DelayS: sp.d.Seconds(), DelaySource: sp.source, Queued: h.Queued, Fetched: h.Fetched,
		Shard: s.id, AgentServers: []crawl.AgentInfo{}, Robots: []crawl.RobotsInfo{},
	}
	if h.DueReason == "retry-after" && h.Due.After(now) {
		hi.DelaySource = "retry-after"
	}
	main := -1
	for i := range h.Origins {
		o := &h.Origins[i]
		f := s.robotsFile(h, o)
		ri := o.info(now)
		ri.HostHint = f.HostHint
		switch c := f.Claim(robotsOrigin(o.Origin)); c.Kind {
		case robots.ClaimSelf:
			ri.Claim = "self"
		case robots.ClaimTarget:
			ri.Claim = c.Target.String()
		}
		ri.DataTxt, ri.Nested = o.Data.String(), s.nestedInfos(h, o.Origin)
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
		if o.slow() {
			hi.DelayS, hi.DelaySource = o.CrawlDelay.Seconds(), "crawl-delay"
		}
	}
	hi.MirrorOf = h.mirrorsOf(hi.Robots)
	if main >= 0 {
		r := hi.Robots[main]
		hi.Robot = &r
	}
	hi.State, hi.Reason, hi.NextDue = s.hostState(h, now)
	hi.Sitemaps = s.sitemapInfos(h, maxSitemapInfos)
	return hi
}

func (s *shard) hostState(h *host, now time.Time) (state, reason string, next *time.Time) {
	if h.visit != nil {
		return "visiting", "", nil
	}
	if h.Queued == 0 && len(h.errands) == 0 {
		if t, n := s.againOf(h); n > 0 {
			return "idle", "", &t
		}
		return "idle", "", nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.PendingOn != "" && o.Ready > 0 {
			return "robots-pending", "its robots.txt leads to " + o.PendingOn, nil
		}
	}
	if held, why, until := s.held(h, now); held {
		return "held", why, &until
	}
	when := h.Due
	from, ok := s.ready(h, now)
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
func (o *origin) info(now time.Time) crawl.RobotsInfo {
	state, _ := o.state(now)
	ri := crawl.RobotsInfo{Origin: o.Origin.String(), State: state.String(), Status: o.Status, Reason: o.Reason}
	if t := o.History.Fetched; !t.IsZero() {
		t = t.UTC()
		ri.FetchedAt = &t
	}
	return ri
}
