package search

import (
	"math"
	"math/bits"
	"slices"
	"sync"

	"github.com/curtsy/curtsy/internal/search/segment"
)

// The first stage: every page that has a word of the query gets a score by BM25F, from data that
// need no positions except for phrases. The best reach the second stage, in rank.go.

// The weights of a word in the parts of a page, compared with the body; and BM25's k1 and b.
const (
	inTitle  = 4.0
	inURL    = 2.0
	inHeads  = 1.5
	inAround = 0.2
	inLinks  = 1.5
	bm25K1   = 1.2
	bm25B    = 0.6
)

// scorer is the state of one query over one view. Its slices have one element for each page.
type scorer struct {
	v     *view
	plan  *Plan
	slope [segment.Fields]float64 // the increase of length with each word

	score      []float32 // of the clauses so far
	clause, tf []float32 // of the current clause, and of the current match
	have       []uint32  // which clauses a page has, one bit each
	touched    []uint32  // pages of the current match
	pages      []uint32  // pages of any match
	excluded   map[uint32]bool

	// links is, by clause, how many pages link to a page with its words; nil means not counted.
	links   [][]float32
	linking []float32 // of the current match
	linked  []uint32  // pages with a value in linking
	targets []float32 // of the current word and part, by number of the target
	met     []uint32  // numbers with a value in targets

	entries map[*Form][]segment.Entry // by part
	at      [][][]occurrence          // see occurrences
	of, buf []uint32
	posts   [128]segment.Posting
	body    []bodyPlace

	sections []segment.Section
	next     []int // by clause, where section is in its positions
}

// scorers are unused ones, with all slices zero.
var scorers = sync.Pool{New: func() any { return &scorer{entries: map[*Form][]segment.Entry{}} }}

func newScorer(v *view, p *Plan) *scorer {
	s := scorers.Get().(*scorer)
	s.v, s.plan = v, p
	for f := range segment.Fields {
		s.slope[f] = bm25B / p.Stats.mean(f)
	}
	n := int(v.pages)
	for _, b := range []*[]float32{&s.score, &s.clause, &s.tf, &s.linking} {
		*b = zeros(*b, n)
	}
	s.have = zeros(s.have, n)
	for len(s.links) < len(p.Clauses) {
		s.links = append(s.links, nil)
	}
	return s
}

// zeros changes the length of a slice that is zero up to its capacity.
func zeros[T any](b []T, n int) []T {
	if cap(b) < n {
		return make([]T, n)
	}
	return b[:n]
}

// free returns a scorer for the next query. It clears what is not zero, which usually is little.
// The scorer of a query that ends in an error is not returned.
func (s *scorer) free() {
	for _, page := range s.pages {
		s.score[page], s.have[page] = 0, 0
		for _, n := range s.links {
			if len(n) > 0 {
				n[page] = 0
			}
		}
	}
	for i, n := range s.links {
		s.links[i] = n[:0]
	}
	clear(s.entries)
	s.v, s.plan, s.pages, s.excluded = nil, nil, s.pages[:0], nil
	scorers.Put(s)
}

// run scores all pages.
func (s *scorer) run() {
	s.hide()
	for i := range s.plan.Not {
		s.exclude(&s.plan.Not[i])
	}
	for i := range s.plan.Clauses {
		c := &s.plan.Clauses[i]
		if c.Light {
			continue // nearly all pages have it; the second stage examines its positions
		}
		s.links[i] = zeros(s.links[i], len(s.have))
		bit := uint32(1) << (i & 31)
		if len(c.Any) == 1 {
			s.find(&c.Any[0], s.links[i])
			s.eachTouched(&c.Any[0], func(page uint32, w float32) { s.has(page, bit, w) })
			continue
		}
		of := s.of[:0] // pages of this clause
		for j := range c.Any {
			s.find(&c.Any[j], s.links[i])
			s.eachTouched(&c.Any[j], func(page uint32, w float32) {
				if s.clause[page] == 0 {
					of = append(of, page)
				}
				s.clause[page] = max(s.clause[page], w)
			})
		}
		for _, page := range of {
			s.has(page, bit, s.clause[page])
			s.clause[page] = 0
		}
		s.of = of
	}
}

// has notes that a page has a clause, with its score.
func (s *scorer) has(page, bit uint32, w float32) {
	if s.have[page] == 0 {
		s.pages = append(s.pages, page)
	}
	s.score[page] += w
	s.have[page] |= bit
}

// eachTouched calls do for the pages that have the current match, with its score, and clears them.
func (s *scorer) eachTouched(m *Match, do func(page uint32, w float32)) {
	weight := float32(m.IDF * m.Weight)
	for _, page := range s.touched {
		tf := s.tf[page]
		s.tf[page] = 0
		if w := weight * tf / (bm25K1 + tf); w > 0 {
			do(page, w)
		}
	}
	s.touched = s.touched[:0]
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

// entry returns the entries of a word in the parts; that of a part without the word is empty.
func (s *scorer) entry(f *Form) []segment.Entry {
	all, ok := s.entries[f]
	if !ok {
		all = make([]segment.Entry, len(s.v.parts))
		for i, p := range s.v.parts {
			all[i], _ = p.Word([]byte(f.Word))
		}
		s.entries[f] = all
	}
	return all
}

// find adds up how often pages have a match. links receives how many pages link to each by it, if
// that is more; nil means that links do not count.
func (s *scorer) find(m *Match, links []float32) {
	if slices.ContainsFunc(m.Slots, func(t Slot) bool { return len(t.Forms) == 0 }) {
		return
	}
	if len(m.Slots) == 1 {
		forms := m.Slots[0].Forms
		// The data of one part's pages stay in the processor's cache.
		for k, p := range s.v.parts {
			for i := range forms {
				if e := &s.entry(&forms[i])[k]; e.Pages > 0 {
					s.word(p, e, forms[i].Weight, m.Title)
				}
			}
		}
		if links == nil || m.Title {
			return
		}
		for i := range forms {
			for k, p := range s.v.parts {
				if e := &s.entry(&forms[i])[k]; e.Pairs > 0 {
					s.linkedBy(p, e, float32(forms[i].Weight))
				}
			}
		}
		s.countLinks(links)
		return
	}
	for _, p := range s.v.parts {
		for page, at := range s.phrase(p, m, nil) {
			var n [segment.Fields]float64
			for _, o := range at {
				n[segment.FieldAt(o.pos)] += o.weight
			}
			s.count(p, page, &n, m.Title)
		}
	}
}

// word counts a word in the pages of a part.
func (s *scorer) word(p *part, e *segment.Entry, weight float64, titleOnly bool) {
	post := e.Postings()
	for {
		some := post.Some(s.posts[:])
		if len(some) == 0 {
			return
		}
		for i := range some {
			o := &some[i]
			switch {
			case p.deleted(o.Page):
			case o.Mask == 0: // nearly all
				if !titleOnly {
					s.more(p.base+o.Page, weight*float64(o.Body)/s.bodyLength(p, o.Page))
				}
			default:
				var n [segment.Fields]float64
				n[segment.Body] = weight * float64(o.Body)
				if o.Mask&segment.MaskTitle != 0 {
					n[segment.Title] = weight
				}
				if o.Mask&segment.MaskURL != 0 {
					n[segment.URL] = weight
				}
				if o.Mask&segment.MaskHeads != 0 {
					n[segment.Heads] = weight
				}
				if o.Mask&segment.MaskAround != 0 {
					n[segment.Around] = weight
				}
				s.count(p, o.Page, &n, titleOnly)
			}
		}
	}
}

// count adds the occurrences of a match in a page, by parts of the page.
func (s *scorer) count(p *part, page uint32, n *[segment.Fields]float64, titleOnly bool) {
	tf := 0.0
	if n[segment.Title] > 0 {
		tf = inTitle * n[segment.Title] / s.length(p, page, segment.Title)
	}
	if !titleOnly {
		if n[segment.Body] > 0 {
			tf += n[segment.Body] / s.bodyLength(p, page)
		}
		if n[segment.Heads] > 0 {
			tf += inHeads * n[segment.Heads] / s.length(p, page, segment.Heads)
		}
		tf += inURL*n[segment.URL] + inAround*n[segment.Around]
	}
	if tf > 0 {
		s.more(p.base+page, tf)
	}
}

// more adds to the occurrences of the current match in a page.
func (s *scorer) more(page uint32, tf float64) {
	if s.tf[page] == 0 {
		s.touched = append(s.touched, page)
	}
	s.tf[page] += float32(tf)
}

// length is BM25's measure of a part of a page: 1 for one of average length.
func (s *scorer) length(p *part, page uint32, f segment.Field) float64 {
	return 1 - bm25B + s.slope[f]*float64(p.Words(page, f))
}

func (s *scorer) bodyLength(p *part, page uint32) float64 {
	return 1 - bm25B + s.slope[segment.Body]*float64(p.Words(page, segment.Body))
}

// linkedBy counts the pages of a part that link to each page with a word.
func (s *scorer) linkedBy(p *part, e *segment.Entry, weight float32) {
	s.targets = zeros(s.targets, int(p.Targets()))
	met := s.met[:0]
	for page, target := range e.LinkPairs() {
		if p.deleted(page) {
			continue
		}
		if s.targets[target] == 0 {
			met = append(met, target)
		}
		s.targets[target] += weight
	}
	s.met = met
	for _, target := range met {
		n := s.targets[target]
		s.targets[target] = 0
		page, ok := s.v.ledTo(p, target)
		if !ok {
			continue
		}
		if s.linking[page] == 0 {
			s.linked = append(s.linked, page)
		}
		s.linking[page] += n
	}
}

// countLinks adds the words of links to the pages to which they lead.
func (s *scorer) countLinks(links []float32) {
	for _, page := range s.linked {
		n := s.linking[page]
		s.linking[page] = 0
		s.more(page, inLinks*math.Log2(1+min(float64(n), 31)))
		links[page] = max(links[page], n)
	}
	s.linked = s.linked[:0]
}

// heavyBits are the clauses with weight.
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

// level is how many of the clauses with weight a page has.
func level(have, heavy uint32) int { return bits.OnesCount32(have & heavy) }
