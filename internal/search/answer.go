package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

// Shards are all shards of a crawl. If some do not answer, their methods return the results of the
// others, with an error.
type Shards interface {
	Terms(ctx context.Context, p *Plan) ([]Terms, error)
	Similar(ctx context.Context, words []string) ([]Similar, error)
	Rank(ctx context.Context, p *Plan, n int, explain bool) ([]Ranked, error)
	Show(ctx context.Context, p *Plan, urls []string) ([]crawl.Hit, error)
}

const (
	defaultLimit = 10
	// MaxHits limits the sum of Offset and Limit of a request.
	MaxHits = 1000
	// maxFacet is the maximum number of values of a facet in an answer.
	maxFacet = 20
)

// Run answers a request. All decisions are made over all shards: how many pages have a word, how
// far the query is loosened, and the order of the hits. So the answer does not depend on how pages
// are distributed over shards. When shards do not answer, the error says so, and the answer has the
// results of the others. No text of a query causes an error; a query without words and filters
// finds nothing. schema has the fields by which the crawl's pages can be filtered and sorted; an
// error of another r.Sort says what there is.
func Run(ctx context.Context, r crawl.SearchRequest, schema query.Schema, shards Shards) (answer crawl.SearchAnswer, err error) {
	answer = crawl.SearchAnswer{Hits: []crawl.Hit{}}
	if r.Limit <= 0 {
		r.Limit = defaultLimit
	}
	r.Limit = min(r.Limit, MaxHits)
	r.Offset = min(max(r.Offset, 0), MaxHits-r.Limit)
	q := schema.Parse(r.Query)
	p := planOf(q)
	if p.Sort, err = schema.Sort(r.Sort); err != nil {
		return answer, err
	}
	terms, partly := shards.Terms(ctx, p)
	for _, t := range terms {
		answer.Behind += t.Behind
	}
	if len(terms) == 0 || p.empty(q) {
		return answer, partly
	}
	p.Settle(terms)
	respelled, e := p.respell(ctx, q, r.Query, shards, &answer)
	partly = cmp.Or(partly, e)
	n := r.Offset + r.Limit
	ranked, e := shards.Rank(ctx, p, n, r.Explain)
	partly = cmp.Or(partly, e)
	had := whole(ranked)
	if had < fewHits && p.split() {
		before := total(ranked)
		ranked, e = shards.Rank(ctx, p, n, r.Explain)
		partly = cmp.Or(partly, e)
		if total(ranked) > before {
			answer.Loosened = "few pages or none have the parts of a name in sequence; the others have some of the parts"
		}
	}
	if need := p.enough(ranked); need < p.Need {
		answer.Loosened = fmt.Sprintf("few pages or none have all words; these have at least %d of %d", need, p.heavy())
		p.Need = need
		known := true
		for i := range ranked {
			known = ranked[i].relax(need) && known
		}
		if !known {
			ranked, e = shards.Rank(ctx, p, n, r.Explain)
			partly = cmp.Or(partly, e)
		}
	}
	if respelled != "" {
		answer.Loosened = respelled
	}
	answer.Total = total(ranked)
	answer.Facets = addFacets(ranked)
	hits, all := p.put(ranked)
	if all { // no hit is left out: several addresses of one page count once
		answer.Total = int64(len(hits))
	}
	hits = hits[min(r.Offset, len(hits)):]
	answer.Hits, e = show(ctx, shards, p, hits, r.Limit)
	partly = cmp.Or(partly, e)
	if heavy := p.heavy(); answer.Loosened == "" && slices.ContainsFunc(answer.Hits, func(h crawl.Hit) bool { return h.Level < heavy }) {
		answer.Loosened = "in some of these pages one of the words is missing; put a word in quotes to require all words"
	}
	if r.Offset == 0 {
		e = p.suggest(ctx, q, r.Query, had, shards, &answer)
	}
	return answer, cmp.Or(partly, e)
}

// empty reports whether the query asks for nothing: it has no word that pages could have, and no
// filter.
func (p *Plan) empty(q query.Query) bool {
	q.Groups = nil
	return len(p.Clauses) == 0 && q.Empty()
}

func total(all []Ranked) (n int64) {
	for _, r := range all {
		n += r.Count
	}
	return n
}

// whole is how many pages have all words.
func whole(all []Ranked) (n int64) {
	for _, r := range all {
		n += r.Whole
	}
	return n
}

// fewHits is the number of pages below which the query is loosened, if it can be.
const fewHits = 3

// enough is how many of the clauses with weight pages must have: as many as planned, or the maximum
// that any page has if none has as many. If few pages have three or more, one less is enough.
func (p *Plan) enough(ranked []Ranked) int {
	most, all := 0, total(ranked)
	for _, r := range ranked {
		most = max(most, mostOf(r.Hits))
	}
	switch {
	case all == 0 && most > 0:
		return most
	case all < fewHits && p.Need >= 3:
		return p.Need - 1
	}
	return p.Need
}

// put merges the results of the shards into one list, best first, each page once. all reports
// whether these are all pages that match.
func (p *Plan) put(ranked []Ranked) (hits []crawl.Hit, all bool) {
	var first []float64
	var found []Ranking
	count := int64(0)
	for _, r := range ranked {
		first = append(first, r.First...)
		found = append(found, r.Hits...)
		count += r.Count
	}
	// Only the hits that would reach the second stage if there were one shard. Others must not be
	// ranked higher because they had fewer competitors.
	slices.SortFunc(first, func(a, b float64) int { return cmp.Compare(b, a) })
	least := 0.0
	if len(first) > maxCandidates && p.Sort == nil {
		least = first[maxCandidates-1]
	}
	rankings := make(map[string]*Ranking, len(found))
	for i := range found {
		if h := &found[i]; h.First >= least && h.Level >= p.Need {
			rankings[h.URL] = h
			h.Hit.Text, h.Hit.Sim, h.Hit.Near, h.Hit.NearAt, h.Hit.Level = h.Text, h.Sim, h.Near, h.NearAt, h.Level
			hits = append(hits, h.Hit)
		}
	}
	all = int64(len(hits)) >= count
	if p.Sort != nil {
		p.sortHits(hits, rankings)
		// The hit that is shown for several may have another key than the first of them.
		hits = collapse(hits)
		p.sortHits(hits, rankings)
		return hits, all
	}
	slices.SortFunc(hits, func(a, b crawl.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
	})
	return collapse(hits), all
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

// show completes the first hits that may still be shown, at most limit. Hits of a shard that stops
// answering meanwhile are left out, and later hits are shown instead.
func show(ctx context.Context, shards Shards, p *Plan, hits []crawl.Hit, limit int) (shown []crawl.Hit, partly error) {
	shown = []crawl.Hit{}
	silent := false // no shard answered the last time
	for len(shown) < limit && len(hits) > 0 {
		part := hits[:min(len(hits), limit-len(shown))]
		hits = hits[len(part):]
		urls := make([]string, len(part))
		p.Near, p.NearAt = map[string]int{}, map[string]int{}
		for i, h := range part {
			urls[i], p.Near[h.URL] = h.URL, h.Near
			if h.NearAt > 0 {
				p.NearAt[h.URL] = h.NearAt
			}
		}
		whole, err := shards.Show(ctx, p, urls)
		partly = cmp.Or(partly, err)
		byURL := map[string]crawl.Hit{}
		for _, h := range whole {
			byURL[h.URL] = h
		}
		for _, h := range part {
			w, ok := byURL[h.URL]
			if !ok {
				continue // removed since it was indexed
			}
			w.Score, w.Signals, w.Lang, w.Date, w.Level = h.Score, h.Signals, h.Lang, h.Date, h.Level
			w.Also = addresses(append(w.Also, h.Also...), h.URL)
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
	return shown, partly
}
