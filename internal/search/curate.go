package search

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Search rules about a query are part of its plan, so that each shard applies them to its pages.
// Pinned pages are candidates of the second stage whether or not the query finds them. They are
// counted, pass the same filters as all others, and come first in every list, so that the parts of
// an answer follow one another without gaps. Hidden pages are treated as pages with excluded words.
// Boosts, demotions and weights change the scores of the second stage only: they decide about the
// best pages of the first stage, and bring no other page among these.

// weightedBy are the names under which search rules weight signals. The others are not weighted.
var weightedBy = map[string]string{
	"title": "title", "name": "address", "heading": "headings", "section": "headings", "links": "links", "rank": "links", "list": "lists",
	"words": "text", "pairs": "text", "near": "text", "early": "text", "exact": "text",
}

// weighted are the signals with the weights that search rules give them.
func (p *Plan) weighted() [numSignals]weightedSignal {
	w := signals
	if p.Rules == nil {
		return w
	}
	for i := range w {
		if by, ok := p.Rules.Weights[weightedBy[w[i].name]]; ok {
			w[i].weight *= by
		}
	}
	return w
}

// hide excludes the pages that search rules hide.
func (s *scorer) hide() {
	if s.plan.Rules == nil {
		return
	}
	for _, u := range s.plan.Rules.Hide {
		if p, i, ok := s.v.find(u); ok {
			if s.excluded == nil {
				s.excluded = map[uint32]bool{}
			}
			s.excluded[p.base+i] = true
		}
	}
}

// find returns the page with an address.
func (v *view) find(url string) (p *part, i uint32, ok bool) {
	hash := segment.Hash(url)
	for _, p := range v.parts {
		if i, ok := p.FindURL(hash); ok && !p.deleted(i) && string(p.URL(i)) == url {
			return p, i, true
		}
	}
	return nil, 0, false
}

// pin marks the candidates that search rules pin, adds those that are not among them, and counts
// those that the query does not find. Where an answer is sorted by a field, nothing is pinned.
// Behind a position of the list no pinned page follows, because all come first.
func (s *scorer) pin(x *Index, r *Ranked, best []*candidate, o RankOptions) []*candidate {
	if s.plan.Rules == nil || s.plan.Sort != nil {
		return best
	}
	now, heavy := x.o.Now(), s.plan.heavyBits()
	for n, u := range s.plan.Rules.Pins {
		p, i, ok := s.v.find(u)
		if !ok {
			continue
		}
		f := newFilter(p, &s.plan.Filters, now)
		f.hiding(x.o.HiddenHost, x.hidden)
		page := p.base + i
		if !f.pass(i) || s.excluded[page] {
			continue
		}
		if found := len(s.plan.Clauses) == 0 || s.have[page] != 0 && level(s.have[page], heavy) >= s.plan.Need; !found {
			r.Count, r.Pins = r.Count+1, r.Pins+1
			facets := newFacets(r.Facets, s.plan.Facets)
			facets.count(p, i)
			facets.done()
		}
		is := func(c *candidate) bool { return c.part == p && c.page == i }
		if o.After != nil {
			best = slices.DeleteFunc(best, is)
			continue
		}
		at := slices.IndexFunc(best, is)
		if at < 0 {
			at = len(best)
			best = append(best, &candidate{part: p, page: i, first: s.points(page, s.plan.total()), have: s.have[page]})
		}
		best[at].pinned, best[at].level = n+1, s.plan.heavy()
	}
	return best
}

// comparePins orders candidates by their pins: those with one are first.
func comparePins(a, b *candidate) int {
	switch {
	case a.pinned == b.pinned:
		return 0
	case b.pinned == 0 || a.pinned != 0 && a.pinned < b.pinned:
		return -1
	}
	return 1
}

// comparePinned orders hits by their pins: those with one are first.
func (p *Plan) comparePinned(a, b *crawl.Hit) int {
	if !a.Pinned && !b.Pinned || p.Rules == nil {
		return 0
	}
	at := func(h *crawl.Hit) int {
		if i := slices.Index(p.Rules.Pins, h.URL); h.Pinned && i >= 0 {
			return i
		}
		return len(p.Rules.Pins)
	}
	return at(a) - at(b)
}

// unpinned is 0 for a pinned hit, and 1 for any other.
func unpinned(h *crawl.Hit) int {
	if h.Pinned {
		return 0
	}
	return 1
}

// curate changes the score of a candidate by search rules: freshness, boosts and demotions.
func (x *Index) curate(s *scorer, c *candidate, explain bool) {
	rules := s.plan.Rules
	if rules == nil {
		return
	}
	note := func(name string, value, weight, points float64) {
		c.score += points
		if explain {
			c.signals = append(c.signals, crawl.Signal{Name: name, Value: value, Weight: weight, Points: points})
		}
	}
	if w := rules.Weights["freshness"]; w > 0 {
		v := freshness(c.part.Date(c.page), x.o.Now().Unix()/(24*3600))
		note("freshness", v, w, w*v)
	}
	url := string(c.part.URL(c.page))
	by := 1.0
	for _, f := range rules.Boost {
		if strings.HasPrefix(url, f.Of) {
			by *= f.By
		}
	}
	for _, f := range rules.Demote {
		if inSite(url, f.Of) {
			by *= f.By
		}
	}
	if by != 1 && c.score > 0 { // a factor would raise a negative score instead of reducing it
		note("rules", by, 1, c.score*(by-1))
	}
}

// freshness is 1 for a page of today, 1/2 for one that is a year old, and 0 for a page without a
// date. Both are in days since 1970.
func freshness(date int32, today int64) float64 {
	if date == 0 {
		return 0
	}
	return 1 / (1 + float64(max(0, today-int64(date)))/365)
}

// inSite reports whether a URL belongs to a site: a host, which is also that of the names below it,
// or a host and the beginning of a path.
func inSite(url, site string) bool {
	_, rest, _ := strings.Cut(url, "://")
	host, path, _ := strings.Cut(rest, "/")
	name, under, _ := strings.Cut(site, "/")
	return isSite(host, name) && strings.HasPrefix(path, under)
}

// curation are the rules of a query for its plan, nil if there are none.
func curation(c searchrules.Curation) *searchrules.Curation {
	if c.Empty() {
		return nil
	}
	return &c
}
