package wellknown

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sitemaps are read while few URLs of their host are queued: as many as can be fetched in
// fewWaitSpan, within limits. One sitemap may name 50,000 URLs, so at most that many more are
// queued.
const (
	fewWaitSpan  = time.Hour
	fewWaitLeast = 1000
	fewWaitMost  = 10_000
)

// FewWait is the number of queued URLs of h at which its next sitemap is not read.
func (s *Sitemaps) FewWait(h *hosts.Host) int64 {
	d := s.polite.DelayOf(h).D
	if d <= 0 {
		return fewWaitMost
	}
	return min(max(int64(fewWaitSpan/d), fewWaitLeast), fewWaitMost)
}

// sitemapFrom is the earliest time at which a sitemap may be read. A sitemap that its own host
// names waits until few URLs are queued, one that another host names waits until the URLs of the
// last such sitemap can have been fetched. A host is checked again whenever a visit to it ends.
func (s *Sitemaps) sitemapFrom(h *hosts.Host, e *crawl.AuxRequest, now time.Time) time.Time {
	t := polite.PageFrom(h, e, now)
	switch {
	case e.Origin.Host != h.Name:
		return mirror.Latest(t, s.foreignFrom(h))
	case h.Queued >= h.Few:
		return mirror.Latest(t, now.Add(time.Minute))
	}
	return t
}

// foreignFrom is the earliest time at which h may be asked for the next sitemap that another host
// names. It uses the current delay: an answer may be applied before its visit reports that the host
// has a private address, and the delay of a public host would then be far too long.
func (s *Sitemaps) foreignFrom(h *hosts.Host) (t time.Time) {
	if h.ForeignRead.IsZero() || s.ledger.Judge.Spec.PlanOnly { // no URL of it is fetched
		return t
	}
	return h.ForeignRead.Add(s.fetchSpan(h, h.ForeignEntries))
}

// fetchSpan is how long fetching the entries of a sitemap takes, up to a limit.
func (s *Sitemaps) fetchSpan(h *hosts.Host, entries int) time.Duration {
	return min(time.Duration(entries)*s.polite.DelayOf(h).D, sitemapRest)
}

// dressSitemaps adds the validators of the last response to requests. A sitemap that was read under
// another scope is read completely. So is an index, which may be unchanged although its sitemaps
// have changed. A visit reads as many sitemaps as name few URLs. The number of URLs in a sitemap
// that was never read is unknown, so it is the only one of its visit.
func (s *Sitemaps) dressSitemaps(h *hosts.Host, _ time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	sitemaps, capacity := 0, h.Few-h.Queued
	return func(e *crawl.AuxRequest) (bool, error) {
		r, known, err := s.sitemapRecord(SitemapKey(h.ID, e))
		if err != nil {
			return false, err
		}
		entries := int64(r.Entries)
		if r.Read.IsZero() || r.Form == formIndex || e.Origin.Host != h.Name {
			entries = fewWaitMost
		}
		if sitemaps++; sitemaps > 1 && entries > capacity {
			return false, nil
		}
		capacity -= entries
		if known && r.Form != formIndex && r.Scope == s.ledger.Judge.Spec.ScopeHash() {
			e.ETag, e.LastModified = r.ETag, r.LastMod
		}
		return true, nil
	}
}

// vouchable reports whether a host may cause the sitemap u to be read, by its robots.txt or by a
// sitemap that this names: on its own host, on hosts of its registered domain, and in scope. Other
// sitemaps do not belong to the crawl.
func (s *Sitemaps) vouchable(u canon.URL, by canon.Host) bool {
	return u.Host() == by || s.ledger.Judge.Scope.Decide(u).In || u.Host().Registered() == by.Registered()
}

// admitSitemap reports whether a named sitemap is to be read. New hosts are limited as for links.
func (s *Sitemaps) admitSitemap(e *crawl.AuxRequest) (bool, error) {
	if e.Origin.Host == e.URL.Host() {
		return true, nil
	}
	if !s.vouchable(e.URL, e.Origin.Host) {
		s.ledger.Log.Info("a sitemap is not read: it is out of scope, and its domain differs from that of the site that lists it", "url", e.URL, "vouched_for_by", e.Origin.String())
		return false, nil
	}
	h, err := s.urls.LinkedHost(e.URL.Host(), false)
	return h != nil && !h.Closed, err
}
