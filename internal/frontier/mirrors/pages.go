package mirrors

import (
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// look is how many URLs of a host are searched for pages to compare.
const look = 2000

// pages reads what is known of the pages of an origin that is compared with another one.
type pages struct {
	ledger *hosts.Ledger
	urls   *urls.URLs
}

// some calls f for some of an origin's URLs, the root first, until f returns true.
func (p pages) some(h *hosts.Host, i int, f func(r *urls.Record) (enough bool)) {
	root := canon.URL(h.Origins[i].Origin.String() + "/")
	if k, v := p.urls.Lookup(h, root); v != nil {
		if r, err := urls.DecodeRecord(k, v); err != nil || f(&r) {
			return
		}
	}
	c := p.ledger.Records().Cursor()
	n := 0
	for k, v := c.Seek(h.ID.Append(nil)); k != nil && store.KeyHost(k) == h.ID && n < look; k, v = c.Next() {
		n++
		if urls.OriginOf(v) != i {
			continue
		}
		if r, err := urls.DecodeRecord(k, v); err == nil && r.URL != root && f(&r) {
			return
		}
	}
}

// inScope reports whether any page of main may be crawled: its root, or the equivalents of
// some of the origin's pages.
func (p pages) inScope(h *hosts.Host, i int, main canon.Origin) bool {
	in := func(pathQuery string) bool {
		u, err := main.URL(pathQuery)
		return err == nil && p.ledger.Judge.Scope.Decide(u).In
	}
	if in("/") {
		return true
	}
	found, n := false, 0
	p.some(h, i, func(r *urls.Record) bool {
		n++
		found = in(r.URL.PathQuery())
		return found || n >= 2*mirror.Pages
	})
	return found
}

// comparable are up to n pages of an origin that can be compared, except those in skip: stored
// pages first, then pages that its rules permit to fetch. The root comes first of all.
func (p pages) comparable(h *hosts.Host, i, n int, skip []string) []mirror.Sample {
	o := &h.Origins[i]
	// An old copy suffices: the visit that fetches the page reads robots.txt first.
	state, _ := polite.State(o, time.Now())
	had := o.Copy != crawl.RobotsUnknown && state != crawl.RobotsUnreachable && state != crawl.RobotsPending
	rules := p.ledger.RobotsFile(h, o).Rules(p.ledger.Judge.Spec.Agent, hosts.RobotsOrigin(o.Origin))
	var stored, open []mirror.Sample
	p.some(h, i, func(r *urls.Record) bool {
		path := r.URL.PathQuery()
		if slices.Contains(skip, path) {
			return false
		}
		page := mirror.Sample{Path: path, Open: had && rules.Match(path).Allowed}
		switch {
		case r.StoredAs() != 0:
			stored = append(stored, mirror.Sample{Path: path, Open: page.Open, Ours: mirror.Page{Known: true, Status: 200, Digest: r.StoredAs()}})
		case page.Open && r.Class != crawl.Redirected && r.Class != crawl.Failed && r.Reason != crawl.ReasonForgotten:
			if open = append(open, page); len(open) > n {
				open = open[:n]
			}
		}
		return len(stored) >= n
	})
	all := append(stored, open...)
	slices.SortStableFunc(all, func(a, b mirror.Sample) int { return isRoot(b) - isRoot(a) })
	return all[:min(len(all), n)]
}

func isRoot(p mirror.Sample) int {
	if p.Path == "/" {
		return 1
	}
	return 0
}

// stored counts the stored pages of an origin, among the first URLs of its host.
func (p pages) stored(h *hosts.Host, i int) (n int) {
	p.some(h, i, func(r *urls.Record) bool {
		if r.Class == crawl.Stored {
			n++
		}
		return false
	})
	return n
}

// movedTo is the origin to which a page has moved permanently, with the same path.
func movedTo(r *urls.Record) (to canon.Origin, ok bool) {
	if r.Class != crawl.Redirected || r.Reason != crawl.ReasonRedirect || r.Status != 301 && r.Status != 308 {
		return to, false
	}
	u, err := canon.Parse(r.Detail)
	if err != nil || u.PathQuery() != r.URL.PathQuery() || u.Origin() == r.URL.Origin() {
		return to, false
	}
	to = u.Origin()
	// A copy, because a substring would keep a larger string in memory
	to.Host = canon.Host(string([]byte(to.Host)))
	return to, true
}

// moved are up to movedPages pages of an origin that have moved to main, the root first. There
// are none if the root, or any other page that was requested, has not moved.
func (p pages) moved(h *hosts.Host, i int, main canon.Origin) (paths []string) {
	against := false
	p.some(h, i, func(r *urls.Record) bool {
		to, has := movedTo(r)
		switch path := r.URL.PathQuery(); {
		case has && to == main:
			if len(paths) < movedPages && (len(paths) > 0 || path == "/") {
				paths = append(paths, path)
			}
		case r.Class == crawl.Stored || r.Class == crawl.Redirected && r.Reason == crawl.ReasonRedirect:
			against = true
		}
		return against
	})
	if against {
		return nil
	}
	return paths
}
