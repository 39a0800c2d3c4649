package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxAlso is the maximum number of other addresses that are listed with a hit.
const maxAlso = 20

// collapse makes one hit of hits that are the same: a page and its exact copies; pages and the page
// that they call canonical; copies of mirrors and the page of the main host. Hits are sorted best
// first, before and after.
//
// First the hits of each site are collapsed (perSite); all pages of a site are in one shard, except
// those of its mirrors. Then copies.go decides between sites, by properties that no site can
// arrange to its own advantage.
func collapse(hits []crawl.Hit) []crawl.Hit { return across(perSite(hits)) }

// perSite makes one hit of hits of a site that are the same. It shows the page that the others
// name, otherwise the one nearest to a seed, with the rank of the best. at contains for each URL
// the index of its hit.
func perSite(hits []crawl.Hit) (out []crawl.Hit, at map[string]int) {
	g := groups{of: make([]int, len(hits)), first: map[string]int{}}
	for i := range hits {
		g.of[i] = i
	}
	for i, h := range hits {
		g.join(i, "url "+h.URL)
		if h.SHA256 != "" {
			g.join(i, "sum "+string(site(&h))+" "+h.SHA256)
		}
		if h.Text != 0 {
			g.join(i, fmt.Sprint("text ", site(&h), " ", h.Text, " ", h.Title))
		}
		if h.AliasOf != "" {
			g.join(i, "url "+h.AliasOf)
		}
		if h.Canonical != "" && (sameHost(h.URL, h.Canonical) || site(&h) == canon.URL(h.Canonical).Host()) {
			g.join(i, "url "+h.Canonical)
		}
	}
	g.joinAlike(hits)
	members := make([][]int, len(hits))
	for i := range hits {
		members[g.of[i]] = append(members[g.of[i]], i)
	}
	at = make(map[string]int, len(hits))
	for i, m := range members { // in the order of the best of each
		if g.of[i] != i {
			continue
		}
		for _, j := range m {
			at[hits[j].URL] = len(out)
		}
		out = append(out, one(hits, m))
	}
	return out, at
}

// site is the host to which a hit belongs. The copy of a mirror belongs to the main host.
func site(h *crawl.Hit) canon.Host {
	if h.AliasOf != "" {
		return canon.URL(h.AliasOf).Host()
	}
	return canon.URL(h.URL).Host()
}

// groups joins hits that have a key in common. A group is identified by its first hit.
type groups struct {
	of    []int
	first map[string]int // key → a hit that has it
}

func (g *groups) join(i int, key string) {
	j, ok := g.first[key]
	if !ok {
		g.first[key] = i
		return
	}
	from, to := g.of[i], g.of[j]
	if from == to {
		return
	}
	from, to = max(from, to), min(from, to)
	for k, of := range g.of {
		if of == from {
			g.of[k] = to
		}
	}
}

// joinAlike joins hits of a site that have the same title and nearly the same text, for example a
// version for printing or with a date. Pages with different titles are not joined, however similar
// they are: the pages of a manual's functions are similar.
func (g *groups) joinAlike(hits []crawl.Hit) {
	titled := map[string][]int{}
	for i := range hits {
		if h := &hits[i]; h.Sim != 0 && h.Title != "" {
			key := string(site(h)) + " " + h.Title
			for _, j := range titled[key] {
				if alike(h.Sim, hits[j].Sim) {
					g.join(i, "url "+hits[j].URL)
				}
			}
			titled[key] = append(titled[key], i)
		}
	}
}

// one makes one hit of the hits of a site at the indexes in at.
func one(hits []crawl.Hit, at []int) crawl.Hit {
	named := map[string]bool{}
	for _, i := range at {
		named[hits[i].Canonical], named[hits[i].AliasOf] = true, true
	}
	in := map[string]bool{}
	for _, i := range at {
		in[hits[i].URL] = true
	}
	// Reasons against showing a hit; the most important one is the highest bit.
	against := func(h *crawl.Hit) (n int) {
		if h.AliasOf != "" {
			n += 8
		}
		if h.Canonical != "" && in[h.Canonical] {
			n += 4
		}
		if !named[h.URL] {
			n += 2
		}
		if _, ok := placeOf(h.URL, h.Lang); !ok {
			n++ // of pages that are not translated, the original is shown
		}
		return n
	}
	best := slices.MinFunc(at, func(i, j int) int {
		a, b := &hits[i], &hits[j]
		return cmp.Or(cmp.Compare(against(a), against(b)), cmp.Compare(a.Depth, b.Depth), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
	})
	hit := shownAs(hits, at, best)
	for _, i := range at {
		if h := &hits[i]; h.SHA256 == hit.SHA256 && h.StoredSince.Before(hit.StoredSince) {
			hit.StoredSince = h.StoredSince
		}
	}
	return hit
}

// shownAs returns the hit at index best, with the rank of the first of the hits at the indexes in
// at, and with the addresses of the others.
func shownAs(hits []crawl.Hit, at []int, best int) crawl.Hit {
	if hits[at[0]].Pinned {
		best = at[0] // search rules decide before the pages
	}
	hit := hits[best]
	hit.Score = hits[at[0]].Score
	also := slices.Clone(hit.Also)
	for _, i := range at {
		if h := &hits[i]; h.SHA256 == hit.SHA256 || h.AliasOf != "" || sameHost(h.URL, hit.URL) {
			also = append(append(also, h.URL), h.Also...)
		}
	}
	hit.Also = addresses(also, hit.URL)
	return hit
}

// addresses sorts the other addresses that are listed with a hit.
func addresses(also []string, self string) []string {
	slices.SortFunc(also, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	also = slices.DeleteFunc(slices.Compact(also), func(u string) bool { return u == self })
	if len(also) == 0 {
		return nil
	}
	return also[:min(len(also), maxAlso)]
}

func sameHost(a, b string) bool { return canon.URL(a).Host() == canon.URL(b).Host() }
