package wellknown

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The limits of the lifetime of a /data.txt that a fetcher reports (formats §5.1 limits it to 30
// days).
const (
	minProbeFresh = time.Hour
	maxProbeFresh = 30 * 24 * time.Hour
)

// dataMirrorChanged drops the data.txt of an origin that has become a mirror, with its nested
// files. For an origin that has ceased to be one it becomes due.
func (s *DataFiles) dataMirrorChanged(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if o.Mirror.Mirrored() {
		s.disownData(o)
		return s.DropNested(h, o.Origin, now)
	}
	if o.Data == crawl.ProbeRead {
		o.ExpireData()
	}
	return nil
}

// ApplyProbe applies the result of requesting /data.txt from an origin. A second call has no
// effect.
func (s *DataFiles) ApplyProbe(p *crawl.Probe, at, now time.Time) error {
	h, err := s.ledger.HostNamed(p.Origin.Host)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	i, ok := s.ledger.OriginOf(h, p.Origin)
	if !ok {
		return nil
	}
	o := &h.Origins[i]
	o.KeepData(p.State, p.Reason, at.Add(min(max(p.Fresh, minProbeFresh), maxProbeFresh)))
	s.JudgeData(o)
	s.disownData(o) // it was requested before the origin was known to be a mirror
	if o.Data != crawl.ProbePending {
		return nil
	}
	u, err := canon.Parse(p.Location)
	if err != nil || p.Redirects > robots.MaxRedirects {
		o.NoData()
		return nil
	}
	o.AwaitData(string(u))
	return s.ledger.Send(crawl.ShardOf(u.Host(), s.ledger.Judge.Spec.Shards), &crawl.Event{Aux: []crawl.AuxRequest{{
		Kind: crawl.AuxData, URL: u, Origin: o.Origin, Hop: p.Redirects, ReplyShard: s.ledger.ID,
	}}})
}

// answerProbe applies another host's answer about /data.txt, if it is still awaited.
func (s *DataFiles) answerProbe(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.Origin.Host)
	if err != nil {
		return err
	}
	if h == nil {
		return nil
	}
	for i := range h.Origins {
		if o := &h.Origins[i]; o.Origin == a.Aux.Origin && o.Data == crawl.ProbePending && o.DataOn == string(a.Aux.URL) {
			p := a.Probe
			p.Origin = o.Origin
			return s.ApplyProbe(&p, at, now)
		}
	}
	return nil
}
