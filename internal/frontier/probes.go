package frontier

import (
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The bounds of how long what a fetcher says of /data.txt is believed (protocols §5.1 keeps its lifetime within 30 days).
const (
	minProbeFresh = time.Hour
	maxProbeFresh = 30 * 24 * time.Hour
)

// applyProbe takes in what came of asking an origin for /data.txt. Applied again it changes nothing.
func (s *shard) applyProbe(p *crawl.Probe, at, now time.Time) error {
	h := s.hosts[p.Origin.Host]
	if h == nil {
		return nil
	}
	i, ok := s.originOf(h, p.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	o.Data, o.DataReason = p.State, strings.Clone(p.Reason)
	o.DataDue = at.Add(min(max(p.Fresh, minProbeFresh), maxProbeFresh))
	s.touch(h)
	s.judgeData(o)
	s.disownData(o) // it was asked for before it was known to be a mirror
	if o.Data != crawl.ProbePending {
		return nil
	}
	u, err := canon.Parse(p.Location)
	if err != nil || p.Hops > robots.MaxRedirects {
		o.Data = crawl.ProbeAbsent
		return nil
	}
	o.DataOn = string(u)
	return s.send(crawl.ShardOf(u.Host(), s.j.spec.Shards), &crawl.Event{Errands: []crawl.Errand{{
		Kind: crawl.ErrandData, URL: u, Origin: o.Origin, Hop: p.Hops, ReplyShard: s.id,
	}}})
}

// answerProbe takes in another host's answer about /data.txt, if it is still awaited.
func (s *shard) answerProbe(a *crawl.Answer, at, now time.Time) error {
	h := s.hosts[a.Errand.Origin.Host]
	if h == nil {
		return nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Origin == a.Errand.Origin && o.Data == crawl.ProbePending && o.DataOn == string(a.Errand.URL) {
			p := a.Probe
			p.Origin = o.Origin
			return s.applyProbe(&p, at, now)
		}
	}
	return nil
}

// cleaned returns u without the query parameters that its host's robots.txt calls meaningless (Clean-param, protocols
// §1.5). A URL accepted before that was known keeps its spelling until it is visited; the fetcher then turns it into a
// link to the clean one.
func (s *shard) cleaned(u canon.URL) canon.URL {
	q := strings.IndexByte(string(u), '?')
	if q < 0 {
		return u
	}
	h := s.hosts[u.Host()]
	if h == nil {
		return u
	}
	i := slices.IndexFunc(h.Origins, func(o origin) bool { return o.Cleans && o.Origin == u.Origin() })
	if i < 0 {
		return u
	}
	o := &h.Origins[i]
	if o.clean == nil {
		if o.Copy != crawl.RobotsParsed {
			return u
		}
		o.clean = robots.Parse(robotsCopy(s.tx, h.ID, o.Origin))
	}
	pathQuery := u.PathQuery()
	short := o.clean.CleanURL(pathQuery)
	if short == pathQuery {
		return u
	}
	v, err := o.Origin.URL(short)
	if err != nil {
		return u
	}
	return v
}
