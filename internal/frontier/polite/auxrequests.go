package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

// AuxFrom is the earliest time at which an auxiliary request may be sent.
func (s *Polite) AuxFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	if from := s.features.Kinds[e.Kind].From; from != nil {
		return from(h, e, now)
	}
	return hostFrom(h, e, now)
}

// AtOnce is the From of requests that never wait.
func AtOnce(*hosts.Host, *crawl.AuxRequest, time.Time) (t time.Time) { return t }

// hostFrom is the earliest time at which a host may be asked for anything except a robots.txt.
// While it asks for a longer delay than CrawlDelayCap, nothing else is requested.
func hostFrom(h *hosts.Host, _ *crawl.AuxRequest, now time.Time) (t time.Time) {
	if o := SlowOrigin(h); o != nil {
		t = From(o, now)
	}
	return t
}

// PageFrom is the earliest time at which a page of the request's origin may be fetched.
func PageFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	t := hostFrom(h, e, now)
	if i, ok := h.OriginIndex(e.URL.Origin()); ok {
		t = mirror.Latest(t, From(&h.Origins[i], now))
	}
	return t
}

// AuxDueBy counts the auxiliary requests that keep a crawl from being done, if it waits until limit
// in general, and at most patience for another host's robots.txt.
func (s *Polite) AuxDueBy(h *hosts.Host, limit, now time.Time, patience time.Duration) (n int64) {
	for i := range h.Aux {
		e := &h.Aux[i]
		if !s.features.Kinds[e.Kind].Awaited && s.AuxFrom(h, e, now).After(limit) {
			j, known := h.OriginIndex(e.URL.Origin())
			if !known || h.Origins[j].PendingOn == "" || now.Sub(h.Origins[j].PendingAt) >= patience {
				continue
			}
		}
		n++
	}
	return n
}

// AuxReady returns up to n auxiliary requests that may be sent now.
func (s *Polite) AuxReady(h *hosts.Host, n int, now time.Time) (list []crawl.AuxRequest) {
	for i := range h.Aux {
		if len(list) == n {
			break
		}
		if !s.AuxFrom(h, &h.Aux[i], now).After(now) {
			list = append(list, h.Aux[i])
		}
	}
	return list
}

// AuxQuota reports that the next visit to h is for auxiliary requests.
func (s *Polite) AuxQuota(h *hosts.Host, now time.Time) bool {
	return h.Quota.ForAux() && len(s.AuxReady(h, 1, now)) > 0
}

// MaxVisitBytes limits a visit, so that the response to a request for visits fits into a NATS
// message however long the URLs are.
const MaxVisitBytes = 48 << 10

// SpentPause is the interval at which a spent page budget is checked again.
const SpentPause = 250 * time.Millisecond
