package schedule

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// DownloadQuota is how long a host that is due stays reserved for the crawl's own work after a
// download.
const DownloadQuota = time.Second

// Download makes a visit without URLs: the permission to send requests to a host, with its delay
// and without another visit at the same time. The visit contains what is known of the origin's
// robots.txt. An unknown host is added: its delay and its rules are stored as for any other. by is
// the host of the page that needs something there; empty: it is for a download.
func (s *Visits) Download(o canon.Origin, by canon.Host, now time.Time) (*crawl.Visit, error) {
	if !s.MayGrant(now) {
		return nil, s.ledger.Phase.Err
	}
	if by != "" && s.polite.Caused.ResourceFrom(o, by).After(now) {
		return nil, nil
	}
	var h *hosts.Host
	var err error
	if by == "" {
		h, err = s.ledger.HostOf(o.Host)
	} else {
		h, err = s.urls.PageHost(o.Host)
	}
	if err != nil {
		return nil, s.ledger.Fail(err)
	}
	if h == nil {
		return nil, nil
	}
	if why, _ := s.polite.Closed(h, now); why != "" {
		return nil, nil
	}
	if h.Visit != nil || s.polite.Paused(h) || h.Due.After(now) || s.polite.DelayedUntil(h).After(now) {
		return nil, nil
	}
	if from, ok := s.Ready(h, now); ok && h.Quota.ForCrawl() && !from.After(now) && now.Sub(h.Due) < DownloadQuota {
		return nil, nil // the next visit is the crawl's
	}
	i, ok := s.ledger.OriginOf(h, o)
	if !ok || polite.From(&h.Origins[i], now).After(now) {
		return nil, nil // its robots.txt cannot be fetched now
	}
	if by != "" {
		if err := s.polite.Caused.UseResource(o, by, now); err != nil {
			return nil, s.ledger.Fail(err)
		}
	}
	v := &hosts.Visit{ID: s.ledger.NextVisit(), Host: h, Since: now, Until: now.Add(times.OwnerLease)}
	r := s.robotsFor(h, &h.Origins[i], now, 4*robotsInline)
	r.ProbeData = false
	s.ledger.Metrics.Visits.Inc()
	s.Outstanding[v.ID] = v
	s.AllSlots.Take(v, now)
	h.BeginVisit(v)
	h.Quota.TookDownload()
	s.ledger.Unschedule(h)
	return &crawl.Visit{
		ID: v.ID, Shard: s.ledger.ID, Host: h.Name, Delay: s.polite.GrantDelay(h), Lease: times.Lease, Hurried: s.ledger.Judge.Hurries(h.Name),
		DelaySource: s.polite.DelayOf(h).Source, Robots: []crawl.Robots{r},
	}, nil
}
