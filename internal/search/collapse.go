package search

import (
	"cmp"
	"fmt"
	"math/bits"
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
// those of its mirrors. Then across decides between sites, by properties that no site can
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

// simHash computes one number of a text. Texts that are nearly the same have numbers that differ in
// few bits (Charikar's SimHash, over runs of three words). One run in eight is used, chosen by its
// hash, so that the same runs are used in all texts: one word more or less changes three runs in
// either.
type simHash struct {
	ones   [64]int32 // how often each bit was set in the used runs
	adding [8]uint64 // the same for the last runs: one byte for each bit, eight of them in a number
	added  int       // runs in adding
	last   [2]uint32 // hashes of the two preceding words
	words  int
	chosen int
}

const (
	// One of simSample runs is used.
	simSample = 8
	// simLeast is how many runs must be used for the number to be meaningful.
	simLeast = 12
	// simDiffer is in how many bits two texts may differ to count as nearly the same. About one run
	// in fifty differs then.
	simDiffer = 3
)

// add adds the hashes of words that follow one another. On the way it adds them to text as addHash
// does, because the processor can do both at the same time.
func (s *simHash) add(words []uint32, text uint64) uint64 {
	before := uint64(s.last[0])<<32 | uint64(s.last[1])
	skip := max(0, 2-s.words) // words with less than two before them
	for i, word := range words {
		text = addHash(text, word)
		h := before ^ uint64(word)*0x9E3779B97F4A7C15
		before = before<<32 | uint64(word)
		h ^= h >> 29
		h *= 0xBF58476D1CE4E5B9
		h ^= h >> 32
		if h%simSample == 0 && i >= skip {
			s.use(h)
		}
	}
	s.last = [2]uint32{uint32(before >> 32), uint32(before)}
	s.words += len(words)
	return text
}

// use adds a run that was chosen.
func (s *simHash) use(h uint64) {
	s.chosen++
	h *= 0x94D049BB133111EB // the bits that chose the run are the same for all
	h ^= h >> 31
	for i := range s.adding {
		s.adding[i] += spreadBits[byte(h>>(8*i))]
	}
	if s.added++; s.added == 255 {
		s.flush()
	}
}

// flush adds the counts in adding to ones, before a byte overflows.
func (s *simHash) flush() {
	for i := range s.ones {
		s.ones[i] += int32(byte(s.adding[i/8] >> (i % 8 * 8)))
	}
	s.adding, s.added = [8]uint64{}, 0
}

// spreadBits spreads the bits of a byte over eight bytes.
var spreadBits = func() (t [256]uint64) {
	for b := range t {
		for i := range 8 {
			t[b] |= uint64(b>>i&1) << (8 * i)
		}
	}
	return t
}()

// hash is 0 for a text that is too short.
func (s *simHash) hash() (h uint64) {
	if s.chosen < simLeast {
		return 0
	}
	s.flush()
	for i, n := range s.ones {
		if 2*int(n) > s.chosen {
			h |= 1 << i
		}
	}
	return max(h, 1)
}

// alike reports whether texts with these numbers are nearly the same. 0 is not like any number, not
// even another 0.
func alike(a, b uint64) bool { return a != 0 && b != 0 && bits.OnesCount64(a^b) <= simDiffer }
