package plan

import (
	"cmp"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// sumUp computes the sums, and what the limits of the spec leave out.
func (r *Report) sumUp(spec crawl.Spec) {
	if n := spec.MaxPagesPerHost; n > 0 {
		r.limitHosts(n)
	}
	for i := range r.Hosts {
		h := &r.Hosts[i]
		h.ShortestS = h.shortest(h.Pages)
		r.Pages += h.Pages
		r.Requests += h.Read + h.Pages
		r.Waiting += h.Waiting
		if h.ShortestS > r.ShortestS {
			r.ShortestS, r.Longest = h.ShortestS, h.Host
		}
	}
	if n := spec.MaxPages; n > 0 && r.Pages > n {
		r.limitPages(n)
	}
	switch {
	case r.Cut != "":
		r.PagesAre = PagesAtLeast
	case spec.NoLinks && r.whole(), spec.Scope == "page", spec.MaxDepth == 0:
		r.PagesAre = PagesAll
	case r.named == 0 && !spec.NoLinks:
		r.PagesAre = PagesUnknown
	default:
		r.PagesAre = PagesAtLeast
	}
	r.list()
}

// shortest is the least time for the requests for some pages of a host and for its other files. The
// delay follows each response but the last.
func (h *Host) shortest(pages int64) float64 {
	n := float64(h.Read + pages)
	if n == 0 {
		return 0
	}
	return (n-1)*h.DelayS + n*h.ResponseS
}

// whole reports whether all files that list pages were read.
func (r *Report) whole() bool {
	return !slices.ContainsFunc(r.Hosts, func(h Host) bool { return h.Waiting > 0 || len(h.Unread) > 0 })
}

// limitHosts moves pages beyond --max-pages-per-host to the refusals.
func (r *Report) limitHosts(n int64) {
	for i := range r.Hosts {
		if h := &r.Hosts[i]; h.Pages > n {
			over := h.Pages - n
			h.Pages = n
			h.Refused, r.Refused = h.Refused+over, r.Refused+over
			r.groups[Refusal{Reason: string(crawl.ReasonHostLimit), Host: h.Host}] += over
		}
	}
}

// limitPages applies a limit of n pages that is less than there are. All hosts are requested at the
// same time until n pages are stored. It finds that time by bisection.
func (r *Report) limitPages(n int64) {
	r.Limit = "max-pages"
	within := func(t float64) (pages, read int64) {
		for i := range r.Hosts {
			h := &r.Hosts[i]
			each := h.DelayS + h.ResponseS
			have := h.Read + h.Pages
			if each > 0 {
				have = min(have, int64((t+h.DelayS)/each))
			}
			read += min(have, h.Read)
			pages += max(have-h.Read, 0)
		}
		return pages, read
	}
	low, high := 0.0, r.ShortestS
	for range 60 {
		if mid := (low + high) / 2; mid > low && mid < high {
			if pages, _ := within(mid); pages >= n {
				high = mid
			} else {
				low = mid
			}
		}
	}
	_, read := within(high)
	r.Pages, r.Requests, r.ShortestS = n, n+read, high
}

// list sorts the refusals, the most frequent first.
func (r *Report) list() {
	for g, n := range r.groups {
		g.URLs = n
		r.Refusals = append(r.Refusals, g)
	}
	slices.SortFunc(r.Refusals, func(a, b Refusal) int {
		return cmp.Or(cmp.Compare(b.URLs, a.URLs), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule))
	})
	if len(r.Refusals) > MaxRefusals {
		for _, g := range r.Refusals[MaxRefusals:] {
			r.More += g.URLs
		}
		r.Refusals = slices.Clip(r.Refusals[:MaxRefusals])
	}
}
