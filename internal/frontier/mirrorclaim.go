package frontier

import (
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// What this shard tells others of its own origins, without a request where what it holds will do.

// claimOf is what a robots.txt says of the origin o it came from.
func claimOf(body []byte, o canon.Origin) crawl.Claim {
	c := crawl.Claim{Kind: crawl.ClaimNone}
	sum := robots.Digest(body)
	c.Digest = sum[:]
	switch said := robots.Parse(body).Claim(robotsOrigin(o)); said.Kind {
	case robots.ClaimSelf:
		c.Kind = crawl.ClaimSelf
	case robots.ClaimTarget:
		// A name that no URL can have is none.
		if u, err := canon.FromParts(said.Target.Scheme, canon.Host(said.Target.Host), said.Target.Port, "/"); err == nil {
			c.Kind, c.Target = crawl.ClaimTarget, u.Origin()
		}
	}
	return c
}

// originIndex returns where o is among its host's origins.
func (h *host) originIndex(o canon.Origin) (int, bool) {
	i := slices.IndexFunc(h.Origins, func(have origin) bool { return have.Origin == o })
	return i, i >= 0
}

// copiedClaim is what the copy of an origin's robots.txt says, however old it is.
func (s *shard) copiedClaim(h *host, o *origin) (c crawl.Claim) {
	switch o.Copy {
	case crawl.RobotsParsed:
		c = claimOf(robotsCopy(s.tx, h.ID, o.Origin), o.Origin)
	case crawl.RobotsUnavailable:
		c.Kind = crawl.ClaimNone
	default:
		c.Reason = "its robots.txt was not asked for yet"
	}
	if o.Mirror.mirrored() {
		c.Main = o.Mirror.Main
	}
	return c
}

// heldClaim is what an origin's robots.txt says, if that can be told without asking for it: the copy is in use, or it is not
// the time to ask. A server that has given nothing but errors for 30 days has nothing to say, although it counts as having
// no rules.
func (s *shard) heldClaim(h *host, o *origin, now time.Time) (c crawl.Claim, ok bool) {
	state, ask := o.state(now)
	if !ask.After(now) || state == crawl.RobotsPending {
		return c, false
	}
	if state == crawl.RobotsUnreachable || o.History.Failures > 0 && now.Sub(o.History.Fetched) >= robots.MaxAge {
		return crawl.Claim{Reason: o.Reason}, true
	}
	return s.copiedClaim(h, o), true
}

// answerNow answers an errand without a request, if that is possible.
func (s *shard) answerNow(e *crawl.Errand, now time.Time) (done bool, err error) {
	switch e.Kind {
	case crawl.ErrandClaim, crawl.ErrandSample, crawl.ErrandTwin:
	default:
		return false, nil
	}
	h := s.hosts[e.URL.Host()]
	i, known := 0, false
	if h != nil {
		i, known = h.originIndex(e.URL.Origin())
	}
	switch {
	case e.Kind == crawl.ErrandTwin && !known && e.Hop != crawl.TwinAsk || e.Kind != crawl.ErrandTwin && h != nil && len(h.errands) >= maxErrands:
		return true, s.reply(e, crawl.Answer{Claim: crawl.Claim{Reason: "too many ask its host"}, Sample: crawl.Sample{Reason: "too many ask its host"}})
	case e.Kind == crawl.ErrandTwin:
		return true, s.twinAsked(e, h, i, known, now)
	case known && e.Kind == crawl.ErrandClaim:
		c, ok := s.heldClaim(h, &h.Origins[i], now)
		if !ok {
			return false, nil
		}
		return true, s.reply(e, crawl.Answer{Claim: c})
	case known && e.Kind == crawl.ErrandSample && e.Hop == 0:
		return s.sampleHeld(e, h)
	}
	return false, nil
}

// reply answers an errand.
func (s *shard) reply(e *crawl.Errand, a crawl.Answer) error {
	a.Errand = *e
	return s.send(e.ReplyShard, &crawl.Event{Answers: []crawl.Answer{a}})
}

// sampleHeld answers with what is known of a page that is stored, or that was seen to be a redirect.
func (s *shard) sampleHeld(e *crawl.Errand, h *host) (done bool, err error) {
	k, v := s.lookup(h, e.URL)
	if v == nil {
		return false, nil
	}
	r, err := decodeRecord(k, v)
	if err != nil {
		return false, err
	}
	sample, ok := r.sample()
	if !ok {
		return false, nil
	}
	return true, s.reply(e, crawl.Answer{Sample: sample})
}

// sample is what a record tells of its page.
func (r *record) sample() (sample crawl.Sample, ok bool) {
	switch {
	case r.storedAs() != 0:
		return crawl.Sample{Status: 200, Digest: r.storedAs()}, true
	case r.Class == crawl.Redirected && r.Reason == crawl.ReasonRedirect && r.Status != 0:
		return crawl.Sample{Status: r.Status, Location: r.Detail}, true
	}
	return sample, false
}

// answerSamples answers those who wait to compare a page that was just visited for the crawl's own sake: nobody need ask for it again.
func (s *shard) answerSamples(h *host, r *record, now time.Time) error {
	if len(h.errands) == 0 {
		return nil
	}
	sample, ok := r.sample()
	if !ok {
		return nil
	}
	for _, e := range slices.Clone(h.errands) {
		if e.Kind != crawl.ErrandSample || e.Hop != 0 || e.URL != r.URL {
			continue
		}
		if err := errors.Join(s.reply(&e, crawl.Answer{Sample: sample}), s.dropErrand(h, e, now)); err != nil {
			return err
		}
	}
	return nil
}

// answerClaims answers those who wait to hear what an origin says of itself, now that its robots.txt was asked for.
func (s *shard) answerClaims(h *host, of canon.Origin, now time.Time) error {
	if len(h.errands) == 0 {
		return nil
	}
	i, ok := h.originIndex(of)
	if !ok {
		return nil
	}
	for _, e := range slices.Clone(h.errands) {
		if e.Kind != crawl.ErrandClaim || e.URL.Origin() != of {
			continue
		}
		c, ok := s.heldClaim(h, &h.Origins[i], now)
		if !ok {
			return nil
		}
		if err := s.reply(&e, crawl.Answer{Claim: c}); err != nil {
			return err
		}
		if err := s.dropErrand(h, e, now); err != nil {
			return err
		}
	}
	return nil
}

// errandFrom is when an errand may be done: one that waits for a robots.txt which another host is asked for, not before that
// has answered; a file or a page when a page may be asked for; nothing but robots.txt of a host that asks for longer delays than we
// wait.
func (h *host) errandFrom(e *crawl.Errand, now time.Time) (t time.Time) {
	i, ok := h.originIndex(e.URL.Origin())
	switch e.Kind {
	case crawl.ErrandRobots, crawl.ErrandTwin:
		return t
	case crawl.ErrandClaim:
		if ok {
			if state, ask := h.Origins[i].state(now); state == crawl.RobotsPending {
				return ask
			}
		}
		return t
	case crawl.ErrandSitemap, crawl.ErrandData, crawl.ErrandNested, crawl.ErrandSample:
		if ok {
			t = h.Origins[i].from(now)
		}
	}
	if o := h.slow(); o != nil {
		t = latest(t, o.from(now))
	}
	return t
}

// errandsDueBy is how many errands a crawl waits for that waits until a time, and so long for another host's robots.txt. Claims are
// waited for: they are answered whatever comes.
func (h *host) errandsDueBy(limit, now time.Time, patience time.Duration) (n int64) {
	for i := range h.errands {
		e := &h.errands[i]
		if e.Kind != crawl.ErrandClaim && h.errandFrom(e, now).After(limit) {
			j, known := h.originIndex(e.URL.Origin())
			if !known || h.Origins[j].PendingOn == "" || now.Sub(h.Origins[j].PendingAt) >= patience {
				continue
			}
		}
		n++
	}
	return n
}

// errandsReady returns up to n errands that may be done now.
func (h *host) errandsReady(n int, now time.Time) (list []crawl.Errand) {
	for i := range h.errands {
		if len(list) == n {
			break
		}
		if !h.errandFrom(&h.errands[i], now).After(now) {
			list = append(list, h.errands[i])
		}
	}
	return list
}
