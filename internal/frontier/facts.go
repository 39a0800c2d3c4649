package frontier

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/shard"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// dueRetryAfter is the DueReason of a host whose Due was set by a Retry-After.
const dueRetryAfter = "retry-after"

// applyRobots applies what the fetcher of a visit found about an origin's robots.txt. A zero visit
// means the answer to an auxiliary request, which was sent to another host. at is when the report
// was sent, never later than now: freshness counts from at, and delays count from now, so that a
// wrong clock elsewhere can make requests for robots.txt earlier but never those for pages. A
// second call only increases the count of failures, which makes us wait longer.
func (s *Shard) applyRobots(f *crawl.Robots, visit crawl.VisitID, at, now time.Time) error {
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
	if !visit.IsZero() {
		if visit.Compare(o.Visit) < 0 {
			// A late report of an expired visit: a newer visit has requested the file since
			return nil
		}
		o.Visit = visit
	}
	for i := range f.Rights {
		if err := s.applyRights(h, o, &f.Rights[i], at); err != nil {
			return err
		}
	}
	if f.State == crawl.RobotsUnknown { // the report has only rights files
		return nil
	}
	if f.State == crawl.RobotsParsed && f.Renewed && (!bytes.Equal(f.Digest, o.Digest) || hosts.RobotsCopy(s.ledger.Tx, h.ID, o.Origin) == nil) {
		// The response renews a copy that we do not have, so we have no rules. Request it again
		// without a condition.
		o.History, o.Digest, o.ETag, o.LastMod = robots.History{}, nil, "", ""
		s.ledger.MarkDirty(h)
		return nil
	}
	at = at.Add(-f.Age)
	o.Status, o.Reason = f.Status, strings.Clone(crawl.ShortDetail(f.Reason))
	o.PendingOn, o.Redirects = "", 0
	switch f.State {
	case crawl.RobotsParsed:
		o.History = o.History.Succeeded(at, f.Age+f.Fresh)
		o.Copy = crawl.RobotsParsed
		o.CrawlDelay, o.HasDelay = f.CrawlDelay, f.HasCrawlDelay
		if f.ETag != "" || !f.Renewed {
			o.ETag = strings.Clone(f.ETag)
		}
		if f.LastModified != "" || !f.Renewed {
			o.LastMod = strings.Clone(f.LastModified)
		}
		if !f.Renewed {
			o.Digest = slices.Clone(f.Digest)
			parsed := robots.Parse(f.Body)
			o.Clean, o.Cleans, o.Agents = nil, len(parsed.CleanParams) > 0, len(parsed.AgentServers()) > 0
			o.Uses = shard.SpeaksOfUse(parsed, s.ledger.Judge.Spec.Agent, o)
			if err := s.ledger.Put(hosts.BucketRobots, hosts.RobotsKey(h.ID, o.Origin), f.Body); err != nil {
				return err
			}
		}
	case crawl.RobotsUnavailable:
		o.History = o.History.Succeeded(at, f.Age+f.Fresh)
		o.Copy = crawl.RobotsUnavailable
		o.CrawlDelay, o.HasDelay, o.Digest, o.ETag, o.LastMod = 0, false, nil, "", ""
		o.Clean, o.Cleans, o.Agents, o.Uses = nil, false, false, false
		if err := s.ledger.Drop(hosts.BucketRobots, hosts.RobotsKey(h.ID, o.Origin)); err != nil {
			return err
		}
	case crawl.RobotsPending:
		return s.follow(h, o, f.Location, f.Redirects, now)
	default:
		o.History = o.History.Failed(now, f.Status, f.RetryAfter)
		if t := now.Add(f.RetryAfter); f.RetryAfter > 0 && !visit.IsZero() && h.Due.Before(t) {
			h.Due, h.DueReason = t, dueRetryAfter
		}
	}
	s.ledger.MarkDirty(h)
	if visit.IsZero() {
		s.polite.Lengthened(h, now)
	}
	if f.State == crawl.RobotsParsed || f.State == crawl.RobotsUnavailable {
		// First, because the rules of a mirror are not used.
		if err := s.mirrors.ClaimRead(h, int(i), now); err != nil {
			return err
		}
		if err := s.robotsProxy.Answer(h, int(i), now); err != nil {
			return err
		}
		return s.features.AskOrigin(h, int(i), now)
	}
	if err := s.robotsProxy.Answer(h, int(i), now); err != nil {
		return err
	}
	return s.mirrors.AnswerClaims(h, o.Origin, now)
}

// follow sends an auxiliary request to the host to which a robots.txt redirects.
func (s *Shard) follow(h *hosts.Host, o *hosts.Origin, location string, redirects int, now time.Time) error {
	u, err := canon.Parse(location)
	// The redirect leads back to the file itself.
	loops := err == nil && u.Origin() == o.Origin && u.PathQuery() == "/robots.txt"
	if err != nil || redirects > robots.MaxRedirects || loops {
		// There are no rules, as after a 4xx.
		return s.applyRobots(&crawl.Robots{Origin: o.Origin, State: crawl.RobotsUnavailable, Fresh: robots.MaxAge,
			Status: o.Status, Reason: "redirected to an unusable URL: " + location}, crawl.VisitID{}, now, now)
	}
	o.PendingOn, o.PendingAt, o.Redirects = string(u), now, redirects
	s.ledger.MarkDirty(h)
	if i, ok := h.OriginIndex(o.Origin); ok {
		if err := s.robotsProxy.Answer(h, i, now); err != nil {
			return err
		}
	}
	return s.ledger.Send(crawl.ShardOf(u.Host(), s.ledger.Judge.Spec.Shards), &crawl.Event{Aux: []crawl.AuxRequest{{
		Kind: crawl.AuxRobots, URL: u, Origin: o.Origin, Hop: redirects, ReplyShard: s.ledger.ID,
	}}})
}
