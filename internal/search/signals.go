package search

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/search/segment"
)

// The second stage: a few hundred candidates, and for each the signals below, all of them numbers
// from 0 to 1. A page's score is their weighted sum.

type signal int

const (
	sigWords signal = iota
	sigTitle
	sigName
	sigHeading
	sigSection
	sigLinks
	sigPairs
	sigNear
	sigEarly
	sigExact
	sigRank
	sigShallow
	sigList
	sigMissing
	numSignals
)

type weightedSignal struct {
	name   string
	weight float64
}

// signals determine the rank of a page, with their weights. These were chosen with the tuning half
// of the queries in bench/search.
var signals = [numSignals]weightedSignal{
	sigWords:   {"words", 3.0},    // BM25F over all its parts, relative to the maximum
	sigTitle:   {"title", 2.0},    // its title has the words, and little else
	sigName:    {"name", 2.0},     // the last part of its address has the words, and little else
	sigHeading: {"heading", 1.2},  // one of its headings has the words
	sigSection: {"section", 0.8},  // one of its sections has the words, in its heading and its text
	sigLinks:   {"links", 0.9},    // other pages of the site link to it with the words
	sigPairs:   {"pairs", 0.9},    // words that follow one another in the query also do in the page
	sigNear:    {"near", 0.7},     // the words are near one another in its body
	sigEarly:   {"early", 0.5},    // the words are near its beginning
	sigExact:   {"exact", 0.4},    // the words are in it as they were typed
	sigRank:    {"rank", 1.0},     // pages of the site that link to it
	sigShallow: {"shallow", 0.1},  // its address has few parts
	sigList:    {"list", -0.6},    // its text is mostly links
	sigMissing: {"missing", -1.5}, // words that it does not have
}

// second scores candidates.
func (x *Index) second(s *scorer, all []*candidate, explain bool) {
	slices.SortFunc(all, func(a, b *candidate) int { return cmp.Compare(a.part.base+a.page, b.part.base+b.page) })
	found, signals := s.occurrences(all), s.plan.weighted()
	for i, c := range all {
		c.at = found[i]
		e := evidence{s: s, c: c, at: c.at}
		v := e.values()
		c.score = 0
		for k, sig := range signals {
			c.score += sig.weight * v[k]
			if explain {
				c.signals = append(c.signals, crawl.Signal{Name: sig.name, Value: v[k], Weight: sig.weight, Points: sig.weight*v[k] + 0})
			}
		}
		x.curate(s, c, explain)
		// The result must be equal to the last bit on every machine and in every order of addition.
		c.score = math.Round(c.score*1e6) / 1e6
	}
}

// occurrences returns the positions of each clause in each candidate, in order. Candidates are in
// the order of the view.
func (s *scorer) occurrences(all []*candidate) [][][]occurrence {
	for len(s.at) < len(all) {
		s.at = append(s.at, nil)
	}
	found, n := make([][][]occurrence, len(all)), len(s.plan.Clauses)
	for i := range found {
		for len(s.at[i]) < n {
			s.at[i] = append(s.at[i], nil)
		}
		found[i] = s.at[i][:n]
		for k := range found[i] {
			found[i][k] = found[i][k][:0]
		}
	}
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to].part == all[from].part {
			to++
		}
		for k := range s.plan.Clauses {
			end := uint32(math.MaxUint32)
			if s.plan.Clauses[k].Light {
				// Pairs and nearness do not use these positions, and the other signals need only
				// one position in the body.
				end = segment.Body.Start()
			}
			for j := range s.plan.Clauses[k].Any {
				s.places(&s.plan.Clauses[k].Any[j], k, end, all[from:to], found[from:to])
			}
		}
		from = to
	}
	for i := range found {
		for k := range found[i] {
			sortPlaces(found[i][k])
		}
	}
	return found
}

// sortPlaces sorts positions, and equal positions by length, the longest first. Usually they are
// sorted already, because each list from which they come is.
func sortPlaces(all []occurrence) {
	for i := 1; i < len(all); i++ {
		if a, b := &all[i-1], &all[i]; a.pos > b.pos || a.pos == b.pos && a.length < b.length {
			slices.SortFunc(all, func(a, b occurrence) int {
				if a.pos != b.pos {
					return int(a.pos) - int(b.pos)
				}
				return int(b.length) - int(a.length)
			})
			return
		}
	}
}

// places adds the positions of a match in candidates of one part, up to the first that is not
// before end.
func (s *scorer) places(m *Match, clause int, end uint32, all []*candidate, found [][][]occurrence) {
	p := all[0].part
	// A frequent part of a name, or a frequent alternative, is less than what makes the clause
	// rare.
	share := m.Weight
	if idf := s.plan.Clauses[clause].IDF; idf > m.IDF {
		share *= m.IDF / idf
	}
	if len(m.Slots) > 1 {
		i := 0
		for page, at := range s.phrase(p, m, all) {
			for i < len(all) && all[i].page < page {
				i++
			}
			if i == len(all) {
				return
			}
			if all[i].page == page {
				for _, o := range at {
					o.weight *= share
					found[i][clause] = append(found[i][clause], o)
				}
			}
		}
		return
	}
	for j := range m.Slots[0].Forms {
		f := &m.Slots[0].Forms[j]
		post, more := s.entry(f)[p.nth].Postings(), true
		for i := range all {
			for more = more && (post.Started() || post.Next()); more && post.Page < all[i].page; {
				more = post.Next()
			}
			if !more {
				break
			}
			if post.Page != all[i].page {
				continue
			}
			s.buf = post.PlacesUntil(s.buf[:0], end)
			for _, pos := range s.buf {
				found[i][clause] = append(found[i][clause], occurrence{pos, 1, f.Weight * share})
			}
		}
	}
}

// evidence is the input for the signals of a candidate.
type evidence struct {
	s  *scorer
	c  *candidate
	at [][]occurrence // by clause, in order of position
}

func (e *evidence) values() (v [numSignals]float64) {
	plan, total := e.s.plan, e.s.plan.total()
	if len(plan.Clauses) > 0 {
		v[sigWords] = float64(e.s.score[e.c.part.base+e.c.page]) / total
		v[sigTitle] = e.covers(segment.Title, segment.URL.Start(), e.c.part.Words(e.c.page, segment.Title))
		v[sigName] = e.covers(segment.URL, segment.URL.Start()+dirPlace, e.c.part.Words(e.c.page, segment.URL))
		v[sigHeading] = e.heading()
		v[sigSection], e.c.section = e.section()
		v[sigPairs] = e.pairs()
		v[sigNear] = e.near()
		for k := range plan.Clauses {
			idf := plan.Clauses[k].IDF / total
			if i := e.from(k, segment.Body); i < len(e.at[k]) {
				v[sigEarly] += idf / (1 + float64(e.at[k][i].pos-segment.Body.Start())/40)
			}
			best := 0.0
			for _, o := range e.at[k] {
				if best = max(best, o.weight); best >= 1 {
					break // no weight is larger
				}
			}
			v[sigExact] += idf * best
			if e.c.have>>k&1 == 0 && len(e.at[k]) == 0 {
				v[sigMissing] += idf
			}
		}
	}
	url := string(e.c.part.URL(e.c.page))
	linking := e.s.v.linking(e.c.part, e.c.page)
	for k := range plan.Clauses {
		if links := e.s.links[k]; len(links) > 0 && linking > 0 {
			n := float64(links[e.c.part.base+e.c.page])
			v[sigLinks] += plan.Clauses[k].IDF / total * min(1, n/float64(linking)) * n / (n + 1)
		}
	}
	v[sigRank] = math.Log2(1+float64(linking)) / math.Log2(2+float64(plan.Stats.Pages))
	_, path, _ := strings.Cut(url, "://")
	v[sigShallow] = 1 / float64(max(1, strings.Count(strings.TrimSuffix(path, "/"), "/")))
	v[sigList] = max(0, float64(e.c.part.Listing(e.c.page))/255-0.5) * 2
	return v
}

// from is the index of the first position of a clause that is in a part of the page or after it.
func (e *evidence) from(clause int, f segment.Field) int { return placesFrom(e.at[clause], f) }

func placesFrom(at []occurrence, f segment.Field) int {
	i, _ := slices.BinarySearchFunc(at, f.Start(), func(o occurrence, pos uint32) int { return cmp.Compare(o.pos, pos) })
	return i
}

// covers measures how much of the query a short part of the page has, and how much of that part
// belongs to the query.
func (e *evidence) covers(f segment.Field, end uint32, words uint32) float64 {
	if words == 0 {
		return 0
	}
	var taken [256]bool
	has, n := 0.0, uint32(0)
	for k := range e.at {
		best := 0.0
		for _, o := range e.at[k][e.from(k, f):] {
			if o.pos >= end {
				break
			}
			best = max(best, o.weight)
			for p := o.pos - f.Start(); p < o.pos-f.Start()+o.length && p < 256; p++ {
				if !taken[p] {
					taken[p] = true
					n++
				}
			}
		}
		has += best * e.s.plan.Clauses[k].IDF
	}
	has /= e.s.plan.total()
	return has * has * (0.35 + 0.65*min(1, float64(n)/float64(words)))
}

// heading is the share of the query in the best heading.
func (e *evidence) heading() (best float64) {
	end := segment.Body.Start()
	type place struct {
		occurrence
		clause int
	}
	var all []place
	for k := range e.at {
		for _, o := range e.at[k][e.from(k, segment.Heads):] {
			if o.pos >= end {
				break
			}
			all = append(all, place{o, k})
		}
	}
	slices.SortFunc(all, func(a, b place) int { return cmp.Compare(a.pos, b.pos) })
	var has [32]float64
	sum, last := 0.0, uint32(0)
	for _, p := range all {
		if p.pos >= last+headGap {
			clear(has[:])
			sum = 0
		}
		last = p.pos + p.length
		if w := p.weight * e.s.plan.Clauses[p.clause].IDF; w > has[p.clause&31] {
			sum += w - has[p.clause&31]
			has[p.clause&31] = w
		}
		best = max(best, sum)
	}
	best /= e.s.plan.total()
	return best * best
}

// pairs is the share of the query's pairs of neighbours that are neighbours in the page, in the
// same order. Light words between them may be missing.
func (e *evidence) pairs() float64 {
	sum, all := 0.0, 0.0
	last := -1
	for k := range e.s.plan.Clauses {
		c := &e.s.plan.Clauses[k]
		if c.Light {
			continue
		}
		if last >= 0 {
			weight := e.s.plan.Clauses[last].IDF + c.IDF
			all += weight
			sum += weight * e.neighbours(last, k)
		}
		last = k
	}
	if all == 0 {
		return 0
	}
	return sum / all
}

// neighbours measures how closely one clause follows another at the best position: 1 means
// directly.
func (e *evidence) neighbours(a, b int) (best float64) {
	next := e.at[b]
	for _, o := range e.at[a] {
		for len(next) > 0 && next[0].pos < o.pos+o.length {
			next = next[1:]
		}
		if len(next) == 0 {
			break
		}
		if gap := next[0].pos - (o.pos + o.length); gap <= 2 && segment.FieldAt(o.pos) != segment.Around {
			if best = max(best, o.weight*next[0].weight/float64(1+gap)); best >= 1 {
				break
			}
		}
	}
	return best
}

// near measures how much of the query is in the best passage of the body; a shorter passage counts
// more.
func (e *evidence) near() (best float64) {
	heavy := e.s.plan.heavy()
	if heavy < 2 {
		return 0
	}
	all := e.s.body[:0]
	defer func() { e.s.body = all }()
	var n [32]int
	distinct, first := 0, 0
	for p := range e.s.inBody(e.at, mostNear) {
		all = append(all, p)
		if n[p.clause&31]++; n[p.clause&31] == 1 {
			distinct++
		}
		for n[all[first].clause&31] > 1 {
			n[all[first].clause&31]--
			first++
		}
		if distinct > 1 {
			span := float64(p.pos - all[first].pos + 1)
			if best = max(best, float64(distinct)/float64(heavy)*min(1, float64(distinct+2)/(span+2))); best >= 1 {
				break
			}
		}
	}
	return best
}

// mostNear is the maximum number of positions of a clause in the body that near examines.
const mostNear = 400

// bodyPlace is a position of a clause in a page's body.
type bodyPlace struct {
	pos    uint32
	clause int
}

// inBody iterates over the positions in the body of the clauses with weight, in order, and at most
// `most` of each.
func (s *scorer) inBody(at [][]occurrence, most int) iter.Seq[bodyPlace] {
	return func(yield func(bodyPlace) bool) {
		type list struct {
			at     []occurrence
			clause int
		}
		var buffer [32]list
		lists := buffer[:0]
		for k := range at {
			if s.plan.Clauses[k].Light {
				continue
			}
			from, to := placesFrom(at[k], segment.Body), placesFrom(at[k], segment.Around)
			if to = min(to, from+most); from < to {
				lists = append(lists, list{at[k][from:to], k})
			}
		}
		for len(lists) > 0 {
			next := 0
			for i := 1; i < len(lists); i++ {
				if lists[i].at[0].pos < lists[next].at[0].pos {
					next = i
				}
			}
			l := &lists[next]
			if !yield(bodyPlace{l.at[0].pos, l.clause}) {
				return
			}
			if l.at = l.at[1:]; len(l.at) == 0 {
				lists = slices.Delete(lists, next, next+1)
			}
		}
	}
}

// nearWords is the approximate number of words in a snippet.
const nearWords = 30

// nearby is how many of the clauses with weight occur within nearWords of one another somewhere in
// a candidate's body, and the number of the word at which they first do.
func (s *scorer) nearby(c *candidate) (best, at int) {
	heavy := s.plan.heavy()
	all := s.body[:0]
	defer func() { s.body = all }()
	var n [32]int
	distinct, first := 0, 0
	for p := range s.inBody(c.at, math.MaxInt32) {
		all = append(all, p)
		if n[p.clause&31]++; n[p.clause&31] == 1 {
			distinct++
		}
		for ; p.pos-all[first].pos > nearWords; first++ {
			if n[all[first].clause&31]--; n[all[first].clause&31] == 0 {
				distinct--
			}
		}
		if distinct > best {
			best, at = distinct, int(p.pos-segment.Body.Start())
		}
		if best == heavy {
			break
		}
	}
	return best, at
}
