package mirrors

import (
	"errors"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// This file answers the questions of other shards about this shard's origins, without a request
// where stored data suffice.

// MirrorsFeature finds out which origins are mirrors, and moves their URLs to the main host.
func (s *Mirrors) MirrorsFeature() hosts.Feature {
	answer := func(a *crawl.Answer, _, now time.Time) error { return s.answer(a, now) }
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxClaim:  {Want: s.wantClaim, From: claimFrom, Awaited: true, Answer: answer},
			crawl.AuxSample: {Want: s.wantSample, From: polite.PageFrom, Answer: answer},
			crawl.AuxTwin:   {Want: s.wantTwin, From: polite.AtOnce, Answer: answer},
		},
		Load:   s.load,
		Upkeep: s.Upkeep,
	}
}

// ClaimOf returns the claim of the robots.txt body of origin o.
func ClaimOf(body []byte, o canon.Origin) crawl.Claim {
	c := crawl.Claim{Kind: crawl.ClaimNone}
	sum := robots.Digest(body)
	c.Digest = sum[:]
	switch claim := robots.Parse(body).Claim(hosts.RobotsOrigin(o)); claim.Kind {
	case robots.ClaimSelf:
		c.Kind = crawl.ClaimSelf
	case robots.ClaimTarget:
		// A name that no URL can have is ignored.
		if u, err := canon.FromParts(claim.Target.Scheme, canon.Host(claim.Target.Host), claim.Target.Port, "/"); err == nil {
			c.Kind, c.Target = crawl.ClaimTarget, u.Origin()
		}
	}
	return c
}

// copiedClaim is the claim in the stored copy of an origin's robots.txt, however old it is.
func (s *Mirrors) copiedClaim(h *hosts.Host, o *hosts.Origin) (c crawl.Claim) {
	switch o.Copy {
	case crawl.RobotsParsed:
		c = ClaimOf(hosts.RobotsCopy(s.ledger.Tx, h.ID, o.Origin), o.Origin)
	case crawl.RobotsUnavailable:
		c.Kind = crawl.ClaimNone
	default:
		c.Reason = "its robots.txt was not requested yet"
	}
	if o.Mirror.Mirrored() {
		c.Main = o.Mirror.Main
	}
	return c
}

// heldClaim is the claim of an origin's robots.txt, if no request is needed for it: the copy is in
// use, or no request may be sent now. A server that has returned only errors for 30 days makes no
// claim, although it counts as having no rules.
func (s *Mirrors) heldClaim(h *hosts.Host, o *hosts.Origin, now time.Time) (c crawl.Claim, ok bool) {
	state, ask := polite.State(o, now)
	if !ask.After(now) || state == crawl.RobotsPending {
		return c, false
	}
	if state == crawl.RobotsUnreachable || o.History.Failures > 0 && now.Sub(o.History.Fetched) >= robots.MaxAge {
		return crawl.Claim{Reason: o.Reason}, true
	}
	return s.copiedClaim(h, o), true
}

// wantClaim answers with the claim of an origin, if no request is needed for it.
func (s *Mirrors) wantClaim(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	h, i, known, err := s.askedOf(e)
	if err != nil {
		return nil, err
	}
	if h != nil && len(h.Aux) >= hosts.MaxAux {
		return nil, s.features.Reply(e, tooManyAsk)
	}
	if known {
		if c, ok := s.heldClaim(h, &h.Origins[i], now); ok {
			return nil, s.features.Reply(e, crawl.Answer{Claim: c})
		}
	}
	return s.features.NewAux(e, now)
}

// wantSample answers with a page that is to be compared, if no request is needed for it.
func (s *Mirrors) wantSample(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	h, _, known, err := s.askedOf(e)
	if err != nil {
		return nil, err
	}
	if h != nil && len(h.Aux) >= hosts.MaxAux {
		return nil, s.features.Reply(e, tooManyAsk)
	}
	if known && e.Hop == 0 {
		if done, err := s.sampleHeld(e, h); done || err != nil {
			return nil, err
		}
	}
	return s.features.NewAux(e, now)
}

// wantTwin does what the owner of an origin's twin has requested. No request to the web is needed.
func (s *Mirrors) wantTwin(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	h, i, known, err := s.askedOf(e)
	switch {
	case err != nil:
		return nil, err
	case !known && e.Hop != crawl.TwinAsk:
		return nil, s.features.Reply(e, tooManyAsk)
	}
	return nil, s.twinAsked(e, h, i, known, now)
}

// tooManyAsk answers an auxiliary request that is not sent.
var tooManyAsk = crawl.Answer{Claim: crawl.Claim{Reason: "too many auxiliary requests for its host"}, Sample: crawl.Sample{Reason: "too many auxiliary requests for its host"}}

// askedOf returns the host and the index of the origin of a request's URL, if they are known.
func (s *Mirrors) askedOf(e *crawl.AuxRequest) (h *hosts.Host, i int, known bool, err error) {
	if h, err = s.ledger.HostNamed(e.URL.Host()); h != nil {
		i, known = h.OriginIndex(e.URL.Origin())
	}
	return h, i, known, err
}

// claimFrom is the earliest time at which an origin may be asked for its claim: not while its
// robots.txt is requested on another host.
func claimFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) (t time.Time) {
	if i, ok := h.OriginIndex(e.URL.Origin()); ok {
		if state, ask := polite.State(&h.Origins[i], now); state == crawl.RobotsPending {
			t = ask
		}
	}
	return t
}

// sampleHeld answers with what is known of a page that is stored, or that was found to be a
// redirect.
func (s *Mirrors) sampleHeld(e *crawl.AuxRequest, h *hosts.Host) (done bool, err error) {
	k, v := s.urls.Lookup(h, e.URL)
	if v == nil {
		return false, nil
	}
	r, err := urls.DecodeRecord(k, v)
	if err != nil {
		return false, err
	}
	sample, ok := sample(&r)
	if !ok {
		return false, nil
	}
	return true, s.features.Reply(e, crawl.Answer{Sample: sample})
}

// sample is what a record contains about its page.
func sample(r *urls.Record) (sample crawl.Sample, ok bool) {
	switch {
	case r.StoredAs() != 0:
		return crawl.Sample{Status: 200, Digest: r.StoredAs()}, true
	case r.Class == crawl.Redirected && r.Reason == crawl.ReasonRedirect && r.Status != 0:
		return crawl.Sample{Status: r.Status, Location: r.Detail}, true
	}
	return sample, false
}

// answerSamples answers those that wait to compare a page which the crawl has just visited, so that
// nobody needs to fetch it again.
func (s *Mirrors) answerSamples(h *hosts.Host, r *urls.Record, now time.Time) error {
	if len(h.Aux) == 0 {
		return nil
	}
	sample, ok := sample(r)
	if !ok {
		return nil
	}
	for _, e := range slices.Clone(h.Aux) {
		if e.Kind != crawl.AuxSample || e.Hop != 0 || e.URL != r.URL {
			continue
		}
		if err := errors.Join(s.features.Reply(&e, crawl.Answer{Sample: sample}), s.features.DropAux(h, e, now)); err != nil {
			return err
		}
	}
	return nil
}

// AnswerClaims answers those that wait for the claim of an origin, now that its robots.txt was
// requested.
func (s *Mirrors) AnswerClaims(h *hosts.Host, of canon.Origin, now time.Time) error {
	if len(h.Aux) == 0 {
		return nil
	}
	i, ok := h.OriginIndex(of)
	if !ok {
		return nil
	}
	for _, e := range slices.Clone(h.Aux) {
		if e.Kind != crawl.AuxClaim || e.URL.Origin() != of {
			continue
		}
		c, ok := s.heldClaim(h, &h.Origins[i], now)
		if !ok {
			return nil
		}
		if err := s.features.Reply(&e, crawl.Answer{Claim: c}); err != nil {
			return err
		}
		if err := s.features.DropAux(h, e, now); err != nil {
			return err
		}
	}
	return nil
}
