package search

import (
	"cmp"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Anybody can copy a page, give the copy a short address, link to it from near a seed and have
// other pages name it. So between sites none of that counts. Of pages that are equal byte by byte,
// the one whose store has had that content for longest is the original, and the others are joined
// to it. Content stored before this was recorded counts as the oldest. If this is equal, the depth
// decides, then the address.
//
// A page may state that another page is to be shown instead of it, but not that it is to be shown
// instead of another. So a page that names an address on another host is joined to that page, if
// that is found too, whatever else it is a copy of. Each hit is joined to at most one other, so no
// page can join two hits that belong to others.

// across makes one hit of hits of different sites that are the same. at contains for each URL the
// index of its hit.
func across(hits []crawl.Hit, at map[string]int) []crawl.Hit {
	names := make([]int, len(hits)) // index of the hit that this one calls canonical, -1: none
	for i := range hits {
		names[i] = -1
		j, found := at[hits[i].Canonical]
		if !found || j == i {
			continue
		}
		names[i] = j
		// If a copy that was stored earlier names this page, the age of the copy counts for this
		// page.
		if a, b := &hits[i], &hits[j]; a.SHA256 == b.SHA256 && a.StoredSince.Before(b.StoredSince) {
			b.StoredSince = a.StoredSince
		}
	}
	originals := map[string]int{} // by digest
	for i, h := range hits {
		if j, ok := originals[h.SHA256]; h.SHA256 != "" && (!ok || names[i] < 0 && names[j] >= 0 || (names[i] < 0) == (names[j] < 0) && before(&h, &hits[j]) < 0) {
			originals[h.SHA256] = i
		}
	}
	behind := make([]int, len(hits)) // index of the hit to which this one is joined, -1: none
	for i, h := range hits {
		behind[i] = names[i]
		if j, ok := originals[h.SHA256]; ok && j != i && names[i] < 0 {
			behind[i] = j
		}
	}
	members := make([][]int, len(hits))
	best := make([]int, len(hits))
	for i := range hits {
		best[i] = last(hits, names, behind, originals, i)
		members[best[i]] = append(members[best[i]], i)
	}
	out := []crawl.Hit{}
	for i := range hits { // in the order of the best of each
		if m := members[best[i]]; m[0] == i {
			out = append(out, shownAs(hits, m, best[i]))
		}
	}
	return out
}

// last follows a hit to the end of its chain: the hit to which all others in it are joined. If hits
// name each other in a circle, the first of them by before is removed from the circle: a copy is
// joined to its original.
func last(hits []crawl.Hit, names, behind []int, originals map[string]int, i int) int {
	var way []int
	for behind[i] >= 0 {
		if k := slices.Index(way, i); k >= 0 {
			circle := way[k:]
			i = slices.MinFunc(circle, func(a, b int) int { return before(&hits[a], &hits[b]) })
			behind[i], way = -1, nil
			if j, ok := originals[hits[i].SHA256]; ok && names[j] < 0 {
				behind[i] = j
			}
			continue
		}
		way = append(way, i)
		i = behind[i]
	}
	return i
}

// before orders hits of different sites.
func before(a, b *crawl.Hit) int {
	return cmp.Or(a.StoredSince.Compare(b.StoredSince), cmp.Compare(min(len(a.AliasOf), 1), min(len(b.AliasOf), 1)), cmp.Compare(a.Depth, b.Depth),
		cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
}
