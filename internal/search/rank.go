package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	// maxCandidates is how many pages of a shard, and of the whole crawl, reach the second stage.
	maxCandidates = crawl.MaxRanked
	// spare is how many more hits than requested a shard returns, because some may prove to be the
	// same page as others.
	spare = 40
)

// Ranked is the result of a shard for a complete Plan.
type Ranked struct {
	// Hits are the best candidates, without what Show adds. Their Score is that of the second
	// stage.
	Hits []Ranking `json:"hits"`
	// First are the scores of all candidates in the first stage, greatest first.
	First []float64 `json:"first"`
	// Count is how many pages match, and Facets are their values.
	Count  int64            `json:"count"`
	Facets map[string]Facet `json:"facets,omitempty"`
	// Has is how many pages have each clause, and Whole how many have all the clauses with weight.
	// Most is how many of these any page has. All count pages that pass the filters.
	Has   []int64 `json:"has,omitempty"`
	Whole int64   `json:"whole"`
	// Pins is how many of the pages in Count are pinned and not found by the query.
	Pins   int64 `json:"pins,omitempty"`
	Most   int   `json:"most,omitempty"`
	Behind int64 `json:"behind"`
}

// Ranking is a hit of a shard, with data for choosing between it and others that are the same page.
type Ranking struct {
	crawl.Hit
	First float64 `json:"first"`          // score of the first stage
	Text  uint64  `json:"text,omitempty"` // a hash of its words; 0: unknown
	Sim   uint64  `json:"sim,omitempty"`  // of its main text: see simHash; 0: unknown
	Level int     `json:"level"`          // how many of the clauses with weight it has
	Near  int     `json:"near,omitempty"` // see Plan.Near
	// See Plan.NearAt.
	NearAt int `json:"nearAt,omitempty"`
	// Section is that of Plan.Section; 0: none.
	Section uint32 `json:"nth,omitempty"`
	// Key is what the hit is sorted by; nil unless the plan sorts by a field.
	Key *sortKey `json:"key,omitempty"`
}

// Facet counts pages by the values of one kind. One of a field that is empty means that the pages
// have too many different values.
type Facet map[string]int64

// Rank finds a shard's best pages for a complete plan, o.N of them and some more. It fails only
// when the file does or ctx ends.
func (x *Index) Rank(ctx context.Context, p *Plan, o RankOptions) (r Ranked, err error) {
	defer x.edge(&err)()
	r = Ranked{Hits: []Ranking{}, Behind: x.Behind(), Facets: map[string]Facet{}}
	if x.empty() {
		return r, x.broken
	}
	err = x.view(func(v *view) (err error) {
		s := newScorer(v, p)
		s.run()
		if err := ctx.Err(); err != nil {
			return err
		}
		best := s.first(x, &r, o)
		best = s.pin(x, &r, best, o)
		x.second(s, best, o.Explain)
		if p.Sort == nil && o.After == nil {
			slices.SortFunc(best, compareCandidates)
		} else {
			slices.SortFunc(best, s.compare)
		}
		if r.Hits, err = x.still(s, best, o.N+spare); err != nil {
			return err
		}
		s.free()
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("search: %w", err)
	}
	return r, nil
}

// candidate is a page that reaches the second stage.
type candidate struct {
	part    *part
	page    uint32 // within the part
	first   float64
	have    uint32
	level   int
	at      [][]occurrence // by clause, in order of position
	score   float64
	signals []crawl.Signal
	section uint32  // see Plan.Section
	key     sortKey // of a plan that sorts by a field
	pinned  int     // its number among the pins of the plan's rules, from 1 on; 0: it has none
}

func compareCandidates(a, b *candidate) int {
	if c := comparePins(a, b); c != 0 {
		return c
	}
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(cmp.Compare(b.first, a.first), bytes.Compare(a.part.URL(a.page), b.part.URL(b.page)))
}

// compare orders candidates by the plan's field if it has one, and as in the first stage.
func (s *scorer) compare(a, b *candidate) int {
	if s.plan.Sort != nil {
		if c := compareKeys(s.plan.Sort, a.key, b.key); c != 0 {
			return c
		}
	}
	if a.first != b.first { // nearly always: see tieBreak
		return cmp.Compare(b.first, a.first)
	}
	return bytes.Compare(a.part.URL(a.page), b.part.URL(b.page))
}

// first counts the pages that match and returns the best of them.
func (s *scorer) first(x *Index, r *Ranked, o RankOptions) (best []*candidate) {
	total := s.plan.total()
	facets, counts := newFacets(r.Facets, s.plan.Facets), newClauseCounts(s.plan)
	keys, most := sorter{by: s.plan.Sort}, maxCandidates
	if s.plan.Sort != nil || o.After != nil {
		most = o.N + spare
	}
	least := math.Inf(-1) // unless the plan sorts by a field
	for p, page := range s.passing(x) {
		i := page - p.base
		if !counts.count(s.have[page], s.plan.Need) {
			continue
		}
		r.Count++
		facets.count(p, i)
		score := s.points(page, total)
		if len(s.plan.Clauses) == 0 {
			score = 1 / float64(1+len(p.URL(i)))
		}
		if score+tieBreak < least {
			continue
		}
		score += tieBreak * float64(segment.Hash(string(p.URL(i)))>>11) / (1 << 53)
		c := &candidate{part: p, page: i, first: score, have: s.have[page]}
		c.level = level(c.have, counts.heavy)
		if s.plan.Sort != nil {
			c.key = keys.key(p, i)
		}
		if o.After != nil && !s.behind(c, o.After) {
			continue
		}
		if best = append(best, c); len(best) >= 4*most {
			best = s.cut(best, most)
			if s.plan.Sort == nil && len(best) == most { // copies that were left out have made room
				least = best[len(best)-1].first
			}
		}
	}
	facets.done()
	counts.result(r)
	best = s.cut(best, most)
	for _, c := range best {
		r.First = append(r.First, c.first)
	}
	return best
}

// behind reports whether a candidate is behind a position of the list.
func (s *scorer) behind(c *candidate, p *Position) bool {
	if s.plan.Sort != nil && p.Key != nil {
		if k := compareKeys(s.plan.Sort, *p.Key, c.key); k != 0 {
			return k < 0
		}
	}
	if c.first != p.First {
		return c.first < p.First
	}
	return p.URL != "" && p.URL < string(c.part.URL(c.page))
}

// clauseCounts counts pages by the clauses that they have.
type clauseCounts struct {
	heavy uint32
	all   int
	few   []int64 // by the bits of a page's clauses, if there are not too many
	has   [32]int64
	whole int64
	most  int
}

// maxCounted is the number of clauses up to which pages are counted by the bits of their clauses.
const maxCounted = 10

func newClauseCounts(p *Plan) *clauseCounts {
	c := &clauseCounts{heavy: p.heavyBits(), all: p.heavy()}
	if n := len(p.Clauses); n <= maxCounted {
		c.few = make([]int64, 1<<n)
	}
	return c
}

// count counts a page with these clauses, and reports whether it has as many of those with weight
// as are needed.
func (c *clauseCounts) count(have uint32, need int) bool {
	if c.few != nil {
		c.few[have]++
	} else {
		c.add(have, 1)
	}
	return need <= 1 || level(have, c.heavy) >= need
}

func (c *clauseCounts) add(have uint32, n int64) {
	of := level(have, c.heavy)
	c.most = max(c.most, of)
	if of == c.all {
		c.whole += n
	}
	for ; have != 0; have &= have - 1 {
		c.has[bits.TrailingZeros32(have)] += n
	}
}

func (c *clauseCounts) result(r *Ranked) {
	for have, n := range c.few {
		if n > 0 {
			c.add(uint32(have), n)
		}
	}
	r.Whole, r.Most = c.whole, c.most
	r.Has = slices.Clone(c.has[:])
	for len(r.Has) > 0 && r.Has[len(r.Has)-1] == 0 {
		r.Has = r.Has[:len(r.Has)-1]
	}
}

// passing iterates over the pages that have any clause and pass the plan's filters, with their part
// and their number in the view.
func (s *scorer) passing(x *Index) iter.Seq2[*part, uint32] {
	return func(yield func(*part, uint32) bool) {
		var f *filter
		now := x.o.Now()
		for page := range s.found() {
			if f == nil || page-f.p.base >= f.p.Len() {
				p, _ := s.v.at(page)
				f = newFilter(p, &s.plan.Filters, now)
				f.hiding(x.o.HiddenHost, x.hidden)
			}
			if !f.pass(page-f.p.base) || s.excluded[page] {
				continue
			}
			if !yield(f.p, page) {
				return
			}
		}
	}
}

// found iterates over the pages that have any clause, in order; over all pages if the query has
// only filters.
func (s *scorer) found() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		filters := len(s.plan.Clauses) == 0
		if !filters && len(s.pages) < len(s.have)/16 {
			slices.Sort(s.pages)
			for _, page := range s.pages {
				if !yield(page) {
					return
				}
			}
			return
		}
		for page, have := range s.have {
			if (filters || have != 0) && !yield(uint32(page)) {
				return
			}
		}
	}
}

// tieBreak is the maximum that an address adds to a score of the first stage, so that no two pages
// have equal scores: the same pages then reach the second stage on any number of shards.
const tieBreak = 1e-6

// points is the score of a page in the first stage.
func (s *scorer) points(page uint32, total float64) float64 {
	score := float64(s.score[page])
	return score * coverage(score/total)
}

// coverage reduces the score of a page that lacks much of the query.
func coverage(share float64) float64 { return 0.5 + 0.5*share }

// cut keeps the first candidates, at most as many as given.
func (s *scorer) cut(all []*candidate, most int) []*candidate {
	slices.SortFunc(all, s.compare)
	all = few(all) // so that many copies of one page do not displace all others
	return all[:min(len(all), most)]
}

// few keeps maxAlso+1 copies of each page of a site.
func few(all []*candidate) []*candidate {
	digests := make(map[uint64]int, len(all))
	many := false
	for _, c := range all {
		d := c.part.Digest(c.page)
		digests[d]++
		many = many || d != 0 && digests[d] > maxAlso+1
	}
	if !many {
		return all
	}
	type text struct{ host, digest uint64 }
	copies := map[text]int{}
	return slices.DeleteFunc(all, func(c *candidate) bool {
		d := c.part.Digest(c.page)
		if d == 0 || digests[d] <= maxAlso+1 {
			return false
		}
		k := text{segment.Hash(c.part.Value(c.part.Narrow(c.page, segment.Host))), d}
		copies[k]++
		return copies[k] > maxAlso+1
	})
}

// still returns the first candidates, at most n, that the store still has and that may be shown,
// with data from the store.
func (x *Index) still(s *scorer, best []*candidate, n int) (hits []Ranking, err error) {
	now := x.o.Now()
	hits = []Ranking{}
	for _, c := range best {
		if len(hits) == n {
			break
		}
		f := c.part.Facts(c.page)
		p, ok, err := x.store.Lookup(canon.URL(f.URL))
		if err != nil {
			return hits, err
		}
		if !ok || p.Expired(now) || p.Directives&crawl.NoIndex != 0 || x.hidden(f.URL) {
			continue
		}
		h := crawl.Hit{URL: f.URL, Title: p.Title, Score: c.score, Depth: p.Depth, Signals: c.signals, StoredSince: p.Since,
			Lang: f.Narrow[segment.Lang], Type: f.Narrow[segment.Type], Pinned: c.pinned > 0}
		if !x.hidden(string(p.Canonical)) {
			h.Canonical = string(p.Canonical)
		}
		if !x.hidden(string(p.AliasOf)) {
			h.AliasOf = string(p.AliasOf)
		}
		if p.SHA256 != [32]byte{} {
			h.SHA256 = hex.EncodeToString(p.SHA256[:])
		}
		if f.Date != 0 {
			h.Date = crawl.Date{Time: time.Unix(int64(f.Date)*24*3600, 0).UTC()}
		}
		r := Ranking{Hit: h, First: c.first, Text: f.Text, Sim: f.Sim, Level: c.level}
		r.Near, r.NearAt = s.nearby(c)
		r.Section = c.section
		if s.plan.Sort != nil {
			r.Key = &c.key
		}
		hits = append(hits, r)
	}
	return hits, nil
}
