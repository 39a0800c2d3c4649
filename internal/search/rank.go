package search

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"iter"
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
	// Matching is for Plan.Need.
	Matching
	// Less is the same for smaller needs, if so few pages of the shard match that one of these may
	// become the plan's need. Most is how many of these clauses any page has.
	Less []Matching `json:"less,omitempty"`
	Most int        `json:"most,omitempty"`
	// Whole is how many pages have all the clauses with weight.
	Whole  int64 `json:"whole"`
	Behind int64 `json:"behind"`
}

// Matching describes the pages that have at least Need of the clauses with weight: how many there
// are, and their values.
type Matching struct {
	Need   int              `json:"need,omitempty"`
	Count  int64            `json:"count"`
	Facets map[string]Facet `json:"facets,omitempty"`
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
	// Key is what the hit is sorted by; nil unless the plan sorts by a field.
	Key *sortKey `json:"key,omitempty"`
}

// Facet counts pages by the values of one kind. One of a field that is empty means that the pages
// have too many different values.
type Facet map[string]int64

// Rank finds a shard's best pages for a complete plan, n of them and some more. It fails only when
// the file does or ctx ends.
func (x *Index) Rank(ctx context.Context, p *Plan, n int, explain bool) (r Ranked, err error) {
	defer x.edge(&err)()
	r = Ranked{Hits: []Ranking{}, Behind: x.Behind(), Matching: Matching{Need: p.Need, Facets: map[string]Facet{}}}
	if x.empty() {
		return r, x.broken
	}
	err = x.view(func(v *view) (err error) {
		s := newScorer(v, p)
		s.run()
		if err := ctx.Err(); err != nil {
			return err
		}
		best := s.first(x, &r)
		x.second(s, best, explain)
		if p.Sort == nil {
			slices.SortFunc(best, compareCandidates)
		} else {
			best = p.sortBest(best)
		}
		if r.Hits, err = x.still(s, best, n+spare); err != nil {
			return err
		}
		s.less(x, &r)
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
	key     sortKey // of a plan that sorts by a field
}

func compareCandidates(a, b *candidate) int {
	if a.score != b.score {
		return cmp.Compare(b.score, a.score)
	}
	return cmp.Or(cmp.Compare(b.first, a.first), bytes.Compare(a.part.URL(a.page), b.part.URL(b.page)))
}

// first counts the pages that match and returns the best of them.
func (s *scorer) first(x *Index, r *Ranked) (best []*candidate) {
	heavy, all, total := s.plan.heavyBits(), s.plan.heavy(), s.plan.total()
	facets := newFacets(r.Facets, s.plan.Facets)
	var least float64
	keys := sorter{by: s.plan.Sort}
	cut, most := cut, maxCandidates
	if s.plan.Sort != nil {
		cut, most = func(all []*candidate) ([]*candidate, float64) { return s.plan.sortBest(all), -1 }, maxSorted
	}
	// Most pages have one word of several. They are not counted, and are far from the best.
	skip := func(page uint32) bool {
		n := level(s.have[page], heavy)
		return n < s.plan.Need && n <= r.Most && len(best) >= most && s.points(page, total)+tieBreak < least
	}
	for p, page := range s.passing(x, skip) {
		i := page - p.base
		n := level(s.have[page], heavy)
		r.Most = max(r.Most, n)
		if n >= s.plan.Need {
			r.Count++
			facets.count(p, i)
		}
		if n == all {
			r.Whole++
		}
		score := s.points(page, total)
		if len(s.plan.Clauses) == 0 {
			score = 1 / float64(1+len(p.URL(i)))
		}
		if len(best) >= 4*most {
			best, least = cut(best)
		}
		if len(best) >= most && score+tieBreak < least {
			continue
		}
		score += tieBreak * float64(segment.Hash(string(p.URL(i)))>>11) / (1 << 53)
		c := &candidate{part: p, page: i, first: score, have: s.have[page], level: n}
		if s.plan.Sort != nil {
			c.key = keys.key(p, i)
		}
		best = append(best, c)
	}
	facets.done()
	best, _ = cut(best)
	for _, c := range best {
		r.First = append(r.First, c.first)
	}
	return best
}

// less counts for smaller needs than the plan's if the plan's may prove too great: see Plan.enough.
// Asking all shards again would cost as much again.
func (s *scorer) less(x *Index, r *Ranked) {
	if r.Count >= fewHits {
		return
	}
	needs := []int{s.plan.Need - 1}
	if most := mostOf(r.Hits); most < needs[0] {
		needs = append(needs, most)
	}
	heavy := s.plan.heavyBits()
	for _, need := range needs {
		if need < 1 || need > r.Most {
			continue
		}
		m := Matching{Need: need, Facets: map[string]Facet{}}
		facets := newFacets(m.Facets, s.plan.Facets)
		for p, page := range s.passing(x, func(page uint32) bool { return level(s.have[page], heavy) < need }) {
			m.Count++
			facets.count(p, page-p.base)
		}
		facets.done()
		r.Less = append(r.Less, m)
	}
}

// relax uses the counts for a smaller need. It returns false if these were not counted.
func (r *Ranked) relax(need int) bool {
	if r.Need > 0 && r.Most < need {
		r.Matching = Matching{Need: need}
		return true
	}
	i := slices.IndexFunc(r.Less, func(m Matching) bool { return m.Need == need })
	if i < 0 {
		return false
	}
	r.Matching = r.Less[i]
	return true
}

// mostOf is how many of the clauses with weight any hit has.
func mostOf(hits []Ranking) (most int) {
	for i := range hits {
		most = max(most, hits[i].Level)
	}
	return most
}

// passing iterates over the pages that have any clause and pass the plan's filters, with their part
// and their number in the view, except those for which skip returns true.
func (s *scorer) passing(x *Index, skip func(page uint32) bool) iter.Seq2[*part, uint32] {
	return func(yield func(*part, uint32) bool) {
		var f *filter
		now := x.o.Now()
		for page := range s.found() {
			if skip(page) {
				continue
			}
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

// cut keeps the best candidates of the first stage, and returns the score of the last.
func cut(all []*candidate) ([]*candidate, float64) {
	slices.SortFunc(all, func(a, b *candidate) int {
		if a.first != b.first { // nearly always: see tieBreak
			return cmp.Compare(b.first, a.first)
		}
		return bytes.Compare(a.part.URL(a.page), b.part.URL(b.page))
	})
	all = few(all) // so that many copies of one page do not displace all others
	all = all[:min(len(all), maxCandidates)]
	if len(all) == 0 {
		return all, 0
	}
	return all, all[len(all)-1].first
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
			Lang: f.Narrow[segment.Lang], Type: f.Narrow[segment.Type]}
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
		if s.plan.Sort != nil {
			r.Key = &c.key
		}
		hits = append(hits, r)
	}
	return hits, nil
}
