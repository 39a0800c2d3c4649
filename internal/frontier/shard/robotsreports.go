package shard

import (
	"bytes"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirrors"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/wellknown"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// RobotsReports applies to one shard what visits and auxiliary requests report of robots.txt files.
type RobotsReports struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	mirrors  *mirrors.Mirrors
	polite   *polite.Polite
	proxy    *wellknown.RobotsProxy
}

// NewRobotsReports returns the reports of robots.txt files in one shard.
func NewRobotsReports(features *hosts.Features, ledger *hosts.Ledger, mirrors *mirrors.Mirrors, polite *polite.Polite, proxy *wellknown.RobotsProxy) *RobotsReports {
	return &RobotsReports{features: features, ledger: ledger, mirrors: mirrors, polite: polite, proxy: proxy}
}

// Apply applies what the fetcher of a visit found about an origin's robots.txt. A zero visit
// means the answer to an auxiliary request, which was sent to another host. at is when the report
// was sent, never later than now: freshness counts from at, and delays count from now, so that a
// wrong clock elsewhere can make requests for robots.txt earlier but never those for pages. A
// second call only increases the count of failures, which makes us wait longer.
func (s *RobotsReports) Apply(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error {
	h, err := s.ledger.HostNamed(f.Origin.Host)
	if err != nil {
		return err
	}
	if h == nil {
		s.ledger.Log.Error("robots.txt of a host that was never granted", "origin", f.Origin)
		return nil
	}
	i, ok := s.ledger.OriginOf(h, f.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	if !visit.IsZero() && !o.ReportedBy(visit) {
		return nil
	}
	for i := range f.Rights {
		if err := o.KeepRights(&f.Rights[i], at); err != nil {
			return err
		}
	}
	if f.State == crawl.RobotsUnknown { // the report has only rights files
		return nil
	}
	if f.State == crawl.RobotsParsed && f.Renewed && (!bytes.Equal(f.Digest, o.Digest) || hosts.RobotsCopy(s.ledger.Tx, h.ID, o.Origin) == nil) {
		// The response renews a copy that we do not have, so we have no rules. Request it again
		// without a condition.
		o.LostRobots()
		return nil
	}
	at = at.Add(-f.Age)
	o.RobotsAnswered(f.Status, f.Reason)
	switch f.State {
	case crawl.RobotsParsed:
		if f.Renewed {
			o.RenewRobots(f, at)
			break
		}
		parsed := robots.Parse(f.Body)
		if err := o.KeepRobots(f, parsed, SpeaksOfUse(parsed, s.ledger.Judge.Spec.Agent, o), at); err != nil {
			return err
		}
	case crawl.RobotsUnavailable:
		if err := o.NoRobots(at, f.Age+f.Fresh); err != nil {
			return err
		}
	case crawl.RobotsPending:
		return s.follow(h, o, f.Location, f.Redirects, now)
	default:
		o.RobotsFailed(now, f.Status, f.RetryAfter)
		if f.RetryAfter > 0 && !visit.IsZero() {
			h.DelayUntil(now.Add(f.RetryAfter), hosts.DueRetryAfter)
		}
	}
	if visit.IsZero() {
		s.polite.Lengthened(h, now)
	}
	if f.State == crawl.RobotsParsed || f.State == crawl.RobotsUnavailable {
		// First, because the rules of a mirror are not used.
		if err := s.mirrors.ClaimRead(h, int(i), now); err != nil {
			return err
		}
		if err := s.proxy.Answer(h, int(i), now); err != nil {
			return err
		}
		return s.features.AskOrigin(h, int(i), now)
	}
	if err := s.proxy.Answer(h, int(i), now); err != nil {
		return err
	}
	return s.mirrors.AnswerClaims(h, o.Origin, now)
}

// follow sends an auxiliary request to the host to which a robots.txt redirects.
func (s *RobotsReports) follow(h *hosts.Host, o *hosts.Origin, location string, redirects int, now time.Time) error {
	u, err := canon.Parse(location)
	// The redirect leads back to the file itself.
	loops := err == nil && u.Origin() == o.Origin && u.PathQuery() == "/robots.txt"
	if err != nil || redirects > robots.MaxRedirects || loops {
		// There are no rules, as after a 4xx.
		return s.Apply(&crawl.Robots{Origin: o.Origin, State: crawl.RobotsUnavailable, Fresh: robots.MaxAge,
			Status: o.Status, Reason: "redirected to an unusable URL: " + location}, crawl.VisitID{}, now, now)
	}
	o.AwaitRobots(string(u), redirects, now)
	if i, ok := h.OriginIndex(o.Origin); ok {
		if err := s.proxy.Answer(h, i, now); err != nil {
			return err
		}
	}
	return s.ledger.Send(crawl.ShardOf(u.Host(), s.ledger.Judge.Spec.Shards), &crawl.Event{Aux: []crawl.AuxRequest{{
		Kind: crawl.AuxRobots, URL: u, Origin: o.Origin, Hop: redirects, ReplyShard: s.ledger.ID,
	}}})
}
