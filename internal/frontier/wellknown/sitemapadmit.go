package wellknown

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Sitemaps are read while few URLs of their host wait: those that fetching takes fewWaitSpan for,
// within bounds. One sitemap may name 50,000, so at most that many more are queued.
const (
	fewWaitSpan  = time.Hour
	fewWaitLeast = 1000
	fewWaitMost  = 10_000
)

// FewWait is how many queued URLs of h are so many that its next sitemap is not read.
func (s *Sitemaps) FewWait(h *hosts.Host) int64 {
	d := s.polite.DelayOf(h).D
	if d <= 0 {
		return fewWaitMost
	}
	return min(max(int64(fewWaitSpan/d), fewWaitLeast), fewWaitMost)
}

// sitemapFrom is when a sitemap may be read: its own host's once few URLs wait, that of another
// once what the last of those named can have been fetched. A host is looked at anew whenever a
// visit to it ends.
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

// foreignFrom is when h may be asked for the next sitemap that another host vouches for. It goes by
// the delay as it is now: an answer may be taken in before the visit that it is of tells that its
// host has a private address, and then the delay of a public one would be far too long.
func (s *Sitemaps) foreignFrom(h *hosts.Host) (t time.Time) {
	if h.ForeignRead.IsZero() || s.ledger.Judge.Spec.PlanOnly { // nothing of it is fetched
		return t
	}
	return h.ForeignRead.Add(s.fetchSpan(h, h.ForeignEntries))
}

// fetchSpan is how long the entries of a sitemap take to be fetched, as far as they are waited for.
func (s *Sitemaps) fetchSpan(h *hosts.Host, entries int) time.Duration {
	return min(time.Duration(entries)*s.polite.DelayOf(h).D, sitemapRest)
}

// dressSitemaps puts into errands how their sitemaps were answered last. A sitemap that was read
// under another scope is read anew, and so is an index, which may be the same as ever while the
// sitemaps it names are not. A visit reads so many as name few URLs. How many one names that was
// never read nobody knows: it is the only one.
func (s *Sitemaps) dressSitemaps(h *hosts.Host, _ time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	sitemaps, room := 0, h.Few-h.Queued
	return func(e *crawl.AuxRequest) (bool, error) {
		r, known, err := s.sitemapRecord(SitemapKey(h.ID, e))
		if err != nil {
			return false, err
		}
		entries := int64(r.Entries)
		if r.Read.IsZero() || r.Form == formIndex || e.Origin.Host != h.Name {
			entries = fewWaitMost
		}
		if sitemaps++; sitemaps > 1 && entries > room {
			return false, nil
		}
		room -= entries
		if known && r.Form != formIndex && r.Scope == s.ledger.Judge.Spec.ScopeHash() {
			e.ETag, e.LastModified = r.ETag, r.LastMod
		}
		return true, nil
	}
}

// vouchable reports whether a robots.txt of a host, or a sitemap it vouches for, may have the
// sitemap u asked for: on its own host, on those of its registered domain, and in scope. Others
// have no part in the crawl.
func (s *Sitemaps) vouchable(u canon.URL, by canon.Host) bool {
	return u.Host() == by || s.ledger.Judge.Scope.Decide(u).In || u.Host().Registered() == by.Registered()
}

// admitSitemap reports whether a sitemap that was named is to be read. Its host is bounded as that
// of a link is.
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
