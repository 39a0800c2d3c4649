package frontier

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// applyRobots takes in what a fetcher learned of an origin's robots.txt. at is when the fact was sent, never later
// than now. Applied again it changes nothing but the count of failures, which errs on the side of waiting.
func (s *shard) applyRobots(f *crawl.Robots, at, now time.Time) error {
	h := s.hosts[f.Origin.Host]
	if h == nil {
		s.log.Error("robots.txt of a host never granted", "origin", f.Origin)
		return nil
	}
	i, ok := h.originOf(f.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	at = at.Add(-f.Age)
	o.Status, o.Reason = f.Status, strings.Clone(f.Reason)
	o.PendingOn, o.Hops = "", 0
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
			if err := s.tx.Bucket(bucketRobots).Put(robotsKey(h.ID, o.Origin), f.Body); err != nil {
				return err
			}
		}
	case crawl.RobotsUnavailable:
		o.History = o.History.Succeeded(at, f.Age+f.Fresh)
		o.Copy = crawl.RobotsUnavailable
		o.CrawlDelay, o.HasDelay, o.Digest, o.ETag, o.LastMod = 0, false, nil, "", ""
		if err := s.tx.Bucket(bucketRobots).Delete(robotsKey(h.ID, o.Origin)); err != nil {
			return err
		}
	case crawl.RobotsPending:
		return s.follow(h, o, f.Location, f.Hops, now)
	default:
		o.History = o.History.Failed(at, f.Status, f.RetryAfter)
	}
	s.touch(h)
	s.reschedule(h, now)
	return nil
}

// follow sends an errand after a robots.txt that redirects to another host.
func (s *shard) follow(h *host, o *origin, location string, hops int, now time.Time) error {
	u, err := canon.Parse(location)
	if err != nil || hops > robots.MaxRedirects {
		// No rules can be had: as a 4xx.
		return s.applyRobots(&crawl.Robots{Origin: o.Origin, State: crawl.RobotsUnavailable, Fresh: robots.MaxAge,
			Status: o.Status, Reason: "redirected to nowhere usable: " + location}, now, now)
	}
	o.PendingOn, o.PendingAt, o.Hops = string(u), now, hops
	s.touch(h)
	s.reschedule(h, now)
	return s.send(crawl.ShardOf(u.Host(), s.j.spec.Shards), &crawl.Event{Errands: []crawl.Errand{{
		Kind: crawl.ErrandRobots, URL: u, Origin: o.Origin, Hop: hops, ReplyShard: s.id,
	}}})
}

// applyAnswer takes in the answer to an errand, if it is still the one awaited.
func (s *shard) applyAnswer(a *crawl.Answer, at, now time.Time) error {
	h := s.hosts[a.Errand.Origin.Host]
	if a.Errand.Kind != crawl.ErrandRobots || h == nil {
		return nil
	}
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.Origin == a.Errand.Origin && o.PendingOn == string(a.Errand.URL) && o.Hops == a.Errand.Hop {
			f := a.Robots
			f.Origin = o.Origin
			return s.applyRobots(&f, at, now)
		}
	}
	return nil
}
