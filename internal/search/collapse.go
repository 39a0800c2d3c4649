package search

import (
	"cmp"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxAlso is how many other addresses of a hit are named.
const maxAlso = 20

// collapse makes one hit of those that are the same: a page and its copies, byte by byte; pages and the one they call their
// canonical address; mirrors' copies and the page they stand in for. It is shown as the page that the others name, else as the one
// nearest to a seed, with the rank of the best. Hits come best first, and go so.
//
// A page may say of itself that another is the one to be shown, but not that it is itself another's. So what names an address on
// another host is only ever put away behind that page, if that is found too, and is not named with it.
func collapse(hits []crawl.Hit) []crawl.Hit {
	g := groups{of: make([]int, len(hits)), first: map[string]int{}, at: map[string]int{}}
	for i, h := range hits {
		g.of[i] = i
		if _, twice := g.at[h.URL]; !twice {
			g.at[h.URL] = i
		}
	}
	for i, h := range hits {
		g.join(i, "url "+h.URL)
		if h.SHA256 != "" {
			g.join(i, "sum "+h.SHA256)
		}
		if h.AliasOf != "" {
			g.join(i, "url "+h.AliasOf)
		}
		if _, found := g.at[h.Canonical]; h.Canonical != "" && (found || sameHost(h.URL, h.Canonical)) {
			g.join(i, "url "+h.Canonical)
		}
	}
	members := make([][]int, len(hits))
	for i := range hits {
		members[g.of[i]] = append(members[g.of[i]], i)
	}
	out := []crawl.Hit{}
	for i, m := range members { // in the order of the best of each
		if g.of[i] == i {
			out = append(out, one(hits, m))
		}
	}
	return out
}

// groups joins hits that have a key in common; a group is named by its first hit.
type groups struct {
	of    []int
	first map[string]int // key → a hit that has it
	at    map[string]int // URL → its hit
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

// one makes a hit of those at some places.
func one(hits []crawl.Hit, at []int) crawl.Hit {
	named := map[string]bool{}
	for _, i := range at {
		named[hits[i].Canonical], named[hits[i].AliasOf] = true, true
	}
	in := map[string]bool{}
	for _, i := range at {
		in[hits[i].URL] = true
	}
	// Whether something speaks against showing a hit as the one, most important first.
	against := func(h *crawl.Hit) (n int) {
		if h.AliasOf != "" {
			n += 4
		}
		if h.Canonical != "" && in[h.Canonical] {
			n += 2
		}
		if !named[h.URL] {
			n++
		}
		return n
	}
	best := slices.MinFunc(at, func(i, j int) int {
		a, b := &hits[i], &hits[j]
		return cmp.Or(cmp.Compare(against(a), against(b)), cmp.Compare(a.Depth, b.Depth), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
	})
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

// addresses sorts out what is to be named beside a hit.
func addresses(also []string, self string) []string {
	slices.SortFunc(also, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	also = slices.DeleteFunc(slices.Compact(also), func(u string) bool { return u == self })
	if len(also) == 0 {
		return nil
	}
	return also[:min(len(also), maxAlso)]
}

func sameHost(a, b string) bool { return canon.URL(a).Host() == canon.URL(b).Host() }
