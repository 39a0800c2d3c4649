package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

// AuxFrom is when an errand may be done.
func (s *Polite) AuxFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	if from := s.features.Kinds[e.Kind].From; from != nil {
		return from(h, e, now)
	}
	return hostFrom(h, e, now)
}

// AtOnce is the from of errands that never wait.
func AtOnce(*hosts.Host, *crawl.AuxRequest, time.Time) (t time.Time) { return t }

// hostFrom is when a host may be asked for anything but a robots.txt: not while it asks for longer
// delays than we wait.
func hostFrom(h *hosts.Host, _ *crawl.AuxRequest, now time.Time) (t time.Time) {
	if o := SlowOrigin(h); o != nil {
		t = From(o, now)
	}
	return t
}

// PageFrom is when a page of an errand's origin may be fetched.
func PageFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	t := hostFrom(h, e, now)
	if i, ok := h.OriginIndex(e.URL.Origin()); ok {
		t = mirror.Latest(t, From(&h.Origins[i], now))
	}
	return t
}

// AuxDueBy counts the errands that keep a crawl from being done if it waits until limit, and
// for another host's robots.txt no longer than patience.
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

// AuxReady returns up to n errands that may be done now.
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

// AuxQuota reports that the next visit to h is for errands.
func (s *Polite) AuxQuota(h *hosts.Host, now time.Time) bool {
	return h.Quota.ForAux() && len(s.AuxReady(h, 1, now)) > 0
}

// An answer to a take must fit into a NATS message, whatever the URLs and errands are like.
const MaxVisitBytes = 48 << 10

// SpentPause is how long a spent page budget is not asked for more.
const SpentPause = 250 * time.Millisecond
