package search

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/searchrules"
)

// Shards are all shards of a crawl. If some do not answer, their methods return the results of the
// others, with an error.
type Shards interface {
	Terms(ctx context.Context, p *Plan) ([]Terms, error)
	Similar(ctx context.Context, words []string) ([]Similar, error)
	Words(ctx context.Context, url string) ([]PageWords, error)
	Rank(ctx context.Context, p *Plan, o RankOptions) ([]Ranked, error)
	Show(ctx context.Context, p *Plan, urls []string) ([]crawl.Hit, error)
}

const (
	defaultLimit = 10
	// MaxHits limits the sum of Offset and Limit of a request. A Cursor leads further.
	MaxHits = 1000
	// maxFacet is the maximum number of values of a facet in an answer.
	maxFacet = 20
)

// Run answers a request. All decisions are made over all shards: how many pages have a word, how a
// word is spelled, and the order of the hits. So the answer does not depend on how pages are
// distributed over shards. When shards do not answer, the error says so, and the answer has the
// results of the others. No text of a query causes an error; a query without words and filters
// finds nothing. schema has the fields by which the crawl's pages can be filtered and sorted; an
// error of another r.Sort says what there is, and one of another r.Cursor that it is none.
// rules are the search rules of the crawl, or nil.
//
// A page with any word of the query that has weight is found, and its rank decides whether anybody
// sees it. Only a query with a word in quotes or in title: requires all words. One whose answer is
// sorted by something else than the rank requires all, or all but one of three or more.
//
// A request with Like finds pages that are similar to a page. Its errors are crawl.ErrLikeWords for
// a query with words, and a crawl.NoPageError if the page is not stored.
func Run(ctx context.Context, r crawl.SearchRequest, schema query.Schema, rules *searchrules.Rules, shards Shards) (answer crawl.SearchAnswer, err error) {
	answer = crawl.SearchAnswer{Hits: []crawl.Hit{}}
	if r.Limit <= 0 {
		r.Limit = defaultLimit
	}
	r.Limit = min(r.Limit, MaxHits)
	r.Offset = min(max(r.Offset, 0), MaxHits-r.Limit)
	s := &searching{ctx: ctx, shards: shards, r: r, schema: schema, rules: rules}
	if s.from, err = readCursor(r.Cursor); err != nil {
		return answer, err
	}
	if r.Cursor == "" {
		s.from.Offset = r.Offset
	}
	typed := r.Query
	if s.from.Query != "" { // what the answers before were for
		typed, answer.Corrected = s.from.Query, s.from.Query
	}
	q := schema.Parse(typed)
	answer.Notes = q.Notes
	if s.sort, err = order(r.Sort, q, &answer); err != nil {
		return answer, err
	}
	if r.Like != "" {
		f, err := s.similarTo(q)
		if err != nil {
			return answer, err
		}
		answer.Behind = f.behind
		if !f.nothing {
			s.finish(f, &answer)
		}
		return answer, s.partly
	}
	f := s.read(q, typed)
	answer.Behind = f.behind
	if f.nothing {
		return answer, s.partly
	}
	similar := s.spellings(f)
	s.rank(f)
	s.loosen(f)
	answer.Loosened = f.loosened
	if !r.Verbatim && r.Cursor == "" {
		f = s.correct(f, similar, &answer)
	}
	s.finish(f, &answer)
	if heavy := f.p.heavy(); answer.Loosened == "" && slices.ContainsFunc(answer.Hits, func(h crawl.Hit) bool { return h.Level < heavy }) {
		answer.Loosened = "some of these pages do not have all words; put a word in quotes to require all words"
	}
	return answer, s.partly
}

// finish fills in the answer from what the shards ranked.
func (s *searching) finish(f *reading, answer *crawl.SearchAnswer) {
	answer.Total, answer.Facets = f.count, addFacets(f.ranked)
	l := s.list(f)
	if l.all { // no hit is left out: several addresses of one page count once
		answer.Total = int64(len(l.hits))
	}
	if l.next != nil {
		l.next.Query = answer.Corrected
		answer.Next = l.next.String()
	}
	answer.Hits = s.show(f.p, l.page)
}

// searching is the state of a request.
type searching struct {
	ctx    context.Context
	shards Shards
	r      crawl.SearchRequest
	schema query.Schema
	rules  *searchrules.Rules
	sort   *query.Sort
	from   cursor
	simple bool       // the list is read behind its beginning, in the order of the first stage
	tried  int        // other spellings for which the shards were asked
	like   *PageWords // the page to which hits are to be similar; nil: they answer a query
	// partly says which shards did not answer.
	partly error
}

// failed notes an error of a step.
func (s *searching) failed(err error) { s.partly = cmp.Or(s.partly, err) }

// reading is a query as it is read, and what the shards found for it.
type reading struct {
	q       query.Query
	typed   string
	p       *Plan
	nothing bool // the query asks for nothing, or no shard answered
	behind  int64
	// loosened is a sentence about what is read less strictly than it was typed; "": nothing is.
	loosened string
	begun    []string // words that no page has, for which those that begin with them are used

	ranked []Ranked
	count  int64   // pages that match
	pins   int64   // those of them that are pinned and not found by the query
	whole  int64   // pages that have all the clauses with weight
	most   int     // how many of these any page has
	has    []int64 // how many pages have each clause
}

// read makes a plan of a query, and completes it with what the shards know of its words.
func (s *searching) read(q query.Query, typed string) *reading {
	f := &reading{q: q, typed: typed, p: planOf(q, s.sort)}
	f.p.tune(q, s.r.Languages, s.rules)
	terms, err := s.shards.Terms(s.ctx, f.p)
	s.failed(err)
	for _, t := range terms {
		f.behind += t.Behind
	}
	if f.nothing = len(terms) == 0 || f.p.empty(q); !f.nothing {
		f.p.Settle(terms)
	}
	return f
}

// empty reports whether the query asks for nothing: it has no word that pages could have, and no
// filter.
func (p *Plan) empty(q query.Query) bool {
	q.Groups = nil
	return len(p.Clauses) == 0 && q.Empty()
}

// rank asks the shards for the pages that match.
func (s *searching) rank(f *reading) {
	ranked := s.ask(f.p, s.options())
	f.ranked, f.count, f.pins, f.whole, f.most, f.has = ranked, 0, 0, 0, 0, make([]int64, len(f.p.Clauses))
	for i := range ranked {
		r := &ranked[i]
		f.pins += r.Pins
		f.count, f.whole, f.most = f.count+r.Count, f.whole+r.Whole, max(f.most, r.Most)
		for k := range min(len(f.has), len(r.Has)) {
			f.has[k] += r.Has[k]
		}
	}
}

// fewHits is the number of pages below which the query is read in another way, if it can be.
const fewHits = 3

// loosen asks again if few pages have what the query asks for, and notes what was read less
// strictly than it was typed.
func (s *searching) loosen(f *reading) {
	message := ""
	defer func() { f.loosened = message }()
	if f.whole < fewHits && f.p.split() {
		before := f.count
		s.rank(f)
		if f.count > before {
			message = "few pages or none have the parts of a name in sequence; the others have some of the parts"
		}
	}
	switch {
	case f.count == f.pins && f.most > 0 && f.most < f.p.Need:
		f.p.Need = f.most
		s.rank(f)
		fallthrough
	case f.most > 0 && f.most < f.p.heavy():
		message = "no page has all words; these pages have some of them"
	case message == "" && len(f.begun) > 0:
		message = "no page has " + strings.Join(f.begun, ", ") + " as a word; these pages have words that begin with it"
	}
}

// addFacets adds up the counts of the shards.
func addFacets(ranked []Ranked) map[string][]crawl.FacetValue {
	sums := map[string]Facet{}
	many := map[string]bool{} // fields with too many values
	for _, r := range ranked {
		for name, f := range r.Facets {
			many[name] = many[name] || len(f) == 0
			if sums[name] == nil {
				sums[name] = Facet{}
			}
			for v, n := range f {
				sums[name][v] += n
			}
		}
	}
	out := map[string][]crawl.FacetValue{}
	for name, f := range sums {
		if many[name] || len(f) > fewValues && !slices.Contains(facetNames[:], name) && name != facetYear {
			continue
		}
		for v, n := range f {
			out[name] = append(out[name], crawl.FacetValue{Value: v, Count: n})
		}
		slices.SortFunc(out[name], func(a, b crawl.FacetValue) int {
			return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Value, b.Value))
		})
		out[name] = out[name][:min(len(out[name]), maxFacet)]
	}
	return out
}

// show completes the first hits that may still be shown, at most as many as were asked for. Hits of
// a shard that stops answering meanwhile are left out, and later hits are shown instead.
func (s *searching) show(p *Plan, hits []crawl.Hit) (shown []crawl.Hit) {
	shown = []crawl.Hit{}
	silent := false // no shard answered the last time
	for len(shown) < s.r.Limit && len(hits) > 0 {
		part := hits[:min(len(hits), s.r.Limit-len(shown))]
		hits = hits[len(part):]
		urls := make([]string, len(part))
		p.Near, p.NearAt, p.Section = map[string]int{}, map[string]int{}, map[string]uint32{}
		for i, h := range part {
			urls[i], p.Near[h.URL] = h.URL, h.Near
			if h.NearAt > 0 {
				p.NearAt[h.URL] = h.NearAt
			}
			if h.SectionNth > 0 {
				p.Section[h.URL] = h.SectionNth
			}
		}
		whole, err := s.shards.Show(s.ctx, p, urls)
		s.failed(err)
		byURL := map[string]crawl.Hit{}
		for _, h := range whole {
			byURL[h.URL] = h
		}
		for _, h := range part {
			w, ok := byURL[h.URL]
			if !ok {
				continue // removed since it was indexed
			}
			w.Score, w.Signals, w.Lang, w.Date, w.Level, w.Pinned = h.Score, h.Signals, h.Lang, h.Date, h.Level, h.Pinned
			w.Also = addresses(append(w.Also, h.Also...), h.URL)
			w.Translations = h.Translations
			if w.StoredSince.IsZero() {
				w.StoredSince = h.StoredSince
			}
			shown = append(shown, w)
		}
		if len(whole) == 0 && err != nil {
			// The shards of the first hits do not answer. Others may, unless this happens again.
			if silent {
				break
			}
			silent = true
		}
	}
	return shown
}
