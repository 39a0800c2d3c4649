package search

import (
	"iter"
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// The first stage: every page that has a word of the query gets a score by BM25F, of figures that
// need no positions but for phrases. The best go on to the second stage, in rank.go.

// What a word counts for in the parts of a page, compared with one in the body; and BM25's k1 and
// b.
const (
	inTitle  = 4.0
	inURL    = 2.0
	inHeads  = 1.5
	inAround = 0.2
	inLinks  = 1.5
	bm25K1   = 1.2
	bm25B    = 0.6
)

// scorer is the state of one query over one view. Its slices have one element a page.
type scorer struct {
	v    *view
	plan *Plan
	norm [segment.Fields]float64

	score      []float32 // of the clauses so far
	clause, tf []float32 // of the clause and of the way at hand
	have       []uint32  // which clauses a page has, a bit each
	touched    []uint32  // pages of the way at hand
	pages      []uint32  // pages of any way
	excluded   map[uint32]bool

	links []map[uint64]float32 // by clause: how many pages link to an address with its words
	buf   []uint32
}

var scorers = sync.Pool{New: func() any { return new(scorer) }}

func newScorer(v *view, p *Plan) *scorer {
	s := scorers.Get().(*scorer)
	s.v, s.plan = v, p
	for f := range segment.Fields {
		s.norm[f] = p.Stats.mean(f)
	}
	n := int(v.pages)
	for _, b := range []*[]float32{&s.score, &s.clause, &s.tf} {
		*b = slices.Grow((*b)[:0], n)[:n]
		clear(*b)
	}
	s.have = slices.Grow(s.have[:0], n)[:n]
	clear(s.have)
	s.touched, s.pages, s.links, s.excluded = s.touched[:0], s.pages[:0], nil, nil
	return s
}

func (s *scorer) free() { scorers.Put(s) }

// run scores all pages.
func (s *scorer) run() {
	for i := range s.plan.Not {
		s.exclude(&s.plan.Not[i])
	}
	s.links = make([]map[uint64]float32, len(s.plan.Clauses))
	for i := range s.plan.Clauses {
		c := &s.plan.Clauses[i]
		if c.Light {
			continue // nearly all pages have it; the second stage looks where
		}
		s.links[i] = map[uint64]float32{}
		var of []uint32 // pages of this clause; a page may be there more than once
		for j := range c.Any {
			m := &c.Any[j]
			s.find(m, s.links[i])
			for _, page := range s.touched {
				if s.tf[page] == 0 {
					continue
				}
				w := float32(m.IDF*m.Weight) * s.tf[page] / (bm25K1 + s.tf[page])
				s.clause[page] = max(s.clause[page], w)
				s.tf[page] = 0
			}
			of = append(of, s.touched...)
			s.touched = s.touched[:0]
		}
		for _, page := range of {
			if s.clause[page] == 0 {
				continue
			}
			if s.have[page] == 0 {
				s.pages = append(s.pages, page)
			}
			s.score[page] += s.clause[page]
			s.have[page] |= 1 << (i & 31)
			s.clause[page] = 0
		}
	}
}

// exclude notes the pages that have a clause.
func (s *scorer) exclude(c *Clause) {
	if s.excluded == nil {
		s.excluded = map[uint32]bool{}
	}
	for j := range c.Any {
		s.find(&c.Any[j], nil)
		for _, page := range s.touched {
			if s.tf[page] > 0 {
				s.excluded[page] = true
			}
			s.tf[page] = 0
		}
		s.touched = s.touched[:0]
	}
}

// find adds up how often pages have a way. links counts the pages that link by it; nil: those do
// not count.
func (s *scorer) find(m *Match, links map[uint64]float32) {
	if slices.ContainsFunc(m.Slots, func(t Slot) bool { return len(t.Forms) == 0 }) {
		return
	}
	if len(m.Slots) == 1 {
		by := map[uint64]float32{}
		for _, f := range m.Slots[0].Forms {
			for _, p := range s.v.parts {
				if e, ok := p.Word([]byte(f.Word)); ok {
					s.word(p, &e, f.Weight, m.Title)
					if links != nil && !m.Title {
						p.linkedBy(&e, float32(f.Weight), by)
					}
				}
			}
		}
		s.linked(by)
		for hash, n := range by {
			links[hash] = max(links[hash], n)
		}
		return
	}
	for _, p := range s.v.parts {
		for page, at := range p.phrase(m) {
			var n [segment.Fields]float64
			for _, o := range at {
				n[segment.FieldAt(o.pos)] += o.weight
			}
			s.count(p, page, n, m.Title)
		}
	}
}

// word counts a word in the pages of a part.
func (s *scorer) word(p *part, e *segment.Entry, weight float64, titleOnly bool) {
	for post := e.Postings(); post.Next(); {
		if p.deleted(post.Page) {
			continue
		}
		var n [segment.Fields]float64
		n[segment.Body] = weight * float64(post.Body)
		if post.Mask != 0 {
			for f, bit := range [segment.Fields]uint8{segment.MaskTitle, segment.MaskURL, segment.MaskHeads, 0, segment.MaskAround} {
				if post.Mask&bit != 0 {
					n[f] = weight
				}
			}
		}
		s.count(p, post.Page, n, titleOnly)
	}
}

// count adds to a page what it has of a way, by parts of the page.
func (s *scorer) count(p *part, page uint32, n [segment.Fields]float64, titleOnly bool) {
	tf := 0.0
	if n[segment.Title] > 0 {
		tf = inTitle * n[segment.Title] / s.length(p, page, segment.Title)
	}
	if !titleOnly {
		if n[segment.Body] > 0 {
			tf += n[segment.Body] / s.length(p, page, segment.Body)
		}
		if n[segment.Heads] > 0 {
			tf += inHeads * n[segment.Heads] / s.length(p, page, segment.Heads)
		}
		tf += inURL*n[segment.URL] + inAround*n[segment.Around]
	}
	if tf == 0 {
		return
	}
	at := p.base + page
	if s.tf[at] == 0 {
		s.touched = append(s.touched, at)
	}
	s.tf[at] += float32(tf)
}

// length is BM25's measure of a part of a page: 1 for one of average length.
func (s *scorer) length(p *part, page uint32, f segment.Field) float64 {
	return 1 - bm25B + bm25B*float64(p.Words(page, f))/s.norm[f]
}

// linkedBy counts the pages that link to an address by a word.
func (p *part) linkedBy(e *segment.Entry, weight float32, links map[uint64]float32) {
	for page, target := range e.LinkPairs() {
		if !p.deleted(page) {
			links[p.Target(target)] += weight
		}
	}
}

// linked counts for pages what the links to them say.
func (s *scorer) linked(links map[uint64]float32) {
	for hash, n := range links {
		for _, p := range s.v.parts {
			i, ok := p.FindURL(hash)
			if !ok || p.deleted(i) {
				continue
			}
			at := p.base + i
			if s.tf[at] == 0 {
				s.touched = append(s.touched, at)
			}
			s.tf[at] += float32(inLinks * math.Log2(1+min(float64(n), 31)))
			break
		}
	}
}

// heavyBits are the clauses that carry weight.
func (p *Plan) heavyBits() (b uint32) {
	for i := range p.Clauses {
		if !p.Clauses[i].Light {
			b |= 1 << (i & 31)
		}
	}
	return b
}

// total is the weight of all clauses.
func (p *Plan) total() (sum float64) {
	for i := range p.Clauses {
		sum += p.Clauses[i].IDF
	}
	return max(sum, 1e-9)
}

// level is how many of the clauses that carry weight a page has.
func level(have, heavy uint32) int { return bits.OnesCount32(have & heavy) }

// occurrence is a place at which a page has a way.
type occurrence struct {
	pos    uint32
	length uint32
	weight float64 // of the form; 1: as asked for
}

// phrase goes through the live pages in which the words of a way stand in a row, with where.
func (p *part) phrase(m *Match) iter.Seq2[uint32, []occurrence] {
	return func(yield func(uint32, []occurrence) bool) {
		slots := make([]slotPages, len(m.Slots))
		for i := range slots {
			if !slots[i].open(p, &m.Slots[i]) {
				return
			}
		}
		n := uint32(len(slots))
		var out []occurrence
		for page := uint32(0); ; page++ {
			for again := true; again; {
				again = false
				for i := range slots {
					got, ok := slots[i].seek(page)
					if !ok {
						return
					}
					if got > page {
						page, again = got, true
					}
				}
			}
			if p.deleted(page) {
				continue
			}
			out = out[:0]
			first := slots[0].places()
			for i := 1; i < len(slots) && len(first) > 0; i++ {
				first = follow(first, slots[i].places(), uint32(i))
			}
			for _, o := range first {
				o.length = n
				out = append(out, o)
			}
			if len(out) > 0 && !yield(page, out) {
				return
			}
		}
	}
}

// follow keeps the places that another place follows, by words.
func follow(first, next []occurrence, by uint32) []occurrence {
	kept, j := first[:0], 0
	for _, o := range first {
		for j < len(next) && next[j].pos < o.pos+by {
			j++
		}
		if j < len(next) && next[j].pos == o.pos+by {
			o.weight = min(o.weight, next[j].weight)
			kept = append(kept, o)
		}
	}
	return kept
}

// slotPages goes through the pages that have any form of a slot.
type slotPages struct {
	forms []formPages
	at    []uint32
	out   []occurrence
	page  uint32
}

type formPages struct {
	segment.Postings
	weight float64
	end    bool
}

// open reports whether there is any.
func (s *slotPages) open(p *part, slot *Slot) bool {
	for _, f := range slot.Forms {
		if e, ok := p.Word([]byte(f.Word)); ok {
			fp := formPages{Postings: e.Postings(), weight: f.Weight}
			fp.end = !fp.Next()
			s.forms = append(s.forms, fp)
		}
	}
	return len(s.forms) > 0
}

// seek goes to the first page that is not before page.
func (s *slotPages) seek(page uint32) (got uint32, ok bool) {
	for i := range s.forms {
		f := &s.forms[i]
		for !f.end && f.Page < page {
			f.end = !f.Next()
		}
		if !f.end && (!ok || f.Page < got) {
			got, ok = f.Page, true
		}
	}
	s.page = got
	return got, ok
}

// places are where the page has the slot, in order.
func (s *slotPages) places() []occurrence {
	s.out = s.out[:0]
	for i := range s.forms {
		f := &s.forms[i]
		if f.end || f.Page != s.page {
			continue
		}
		s.at = f.Places(s.at[:0])
		for _, pos := range s.at {
			s.out = append(s.out, occurrence{pos, 1, f.weight})
		}
	}
	if len(s.forms) > 1 {
		slices.SortFunc(s.out, func(a, b occurrence) int { return int(int64(a.pos) - int64(b.pos)) })
	}
	return s.out
}
