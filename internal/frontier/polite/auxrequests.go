package polite

import (
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
)

// AuxFrom is the earliest time at which an auxiliary request may be sent.
func (s *Polite) AuxFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	from, _ := s.Caused.From(h, e)
	return mirror.Latest(from, s.kindFrom(h, e, now))
}

// kindFrom is AuxFrom without regard to who causes the request.
func (s *Polite) kindFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
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
		if from, _ := s.Caused.From(h, e); from.After(limit) {
			continue // others must not keep a crawl from being done
		}
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

// AuxReady returns up to n auxiliary requests that may be sent now: first those of parties that
// caused none lately, then those of parties that caused few.
func (s *Polite) AuxReady(h *hosts.Host, n int, now time.Time) (list []crawl.AuxRequest) {
	type ready struct {
		i    int
		used time.Time
	}
	var all []ready
	for i, unused := 0, 0; i < len(h.Aux) && unused < n; i++ {
		from, used := s.Caused.From(h, &h.Aux[i])
		if from.After(now) || s.kindFrom(h, &h.Aux[i], now).After(now) {
			continue
		}
		if used.IsZero() {
			unused++
		}
		all = append(all, ready{i, used})
	}
	slices.SortStableFunc(all, func(a, b ready) int { return a.used.Compare(b.used) })
	for _, r := range all[:min(n, len(all))] {
		list = append(list, h.Aux[r.i])
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

// WaitsForAllowance is why auxiliary requests to h wait, for people, if one of them waits because
// of who causes it; else "".
func (s *Polite) WaitsForAllowance(h *hosts.Host, now time.Time) string {
	n := 0
	for i := range h.Aux {
		if from, _ := s.Caused.From(h, &h.Aux[i]); from.After(now) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d requests wait, because other sites have caused many to this one lately", n)
}
