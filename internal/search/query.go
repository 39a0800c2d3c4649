package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

const (
	defaultLimit = 10
	maxLimit     = 1000
	// candidates is how many times the wanted number of hits is fetched, to be weighed by their
	// titles. When too few are left because many are the same page, more are fetched,
	// maxCandidates at most.
	candidates    = 4
	maxCandidates = 4096
)

// found is a hit before it is completed.
type found struct {
	url   canon.URL
	lang  string
	score float64
	page  pages.Page
}

// Search returns the best hits for a query, greatest score first, at most limit (0: ten; never more
// than a thousand). No query is an error; one without words finds nothing. It fails only when the
// file does or ctx ends.
func (x *Index) Search(ctx context.Context, query string, limit int) (answer crawl.SearchAnswer, err error) {
	defer x.edge(&err)()
	answer = crawl.SearchAnswer{Hits: []crawl.Hit{}, Behind: x.Behind()}
	if x.broken != nil {
		return answer, x.broken
	}
	if limit <= 0 {
		limit = defaultLimit
	}
	limit = min(limit, maxLimit)
	if x.r == nil {
		return answer, nil
	}
	a := querying.Get().(*analyzer)
	defer querying.Put(a)
	p := parse(query)
	langs := *x.langs.Load()
	if p.lang != "" {
		langs = []string{p.lang}
	}
	groups := make([][]variant, len(p.clauses))
	for i, c := range p.clauses {
		groups[i] = a.variants(c, langs)
	}
	for n := limit*candidates + 16; ; n *= 4 {
		hits, err := x.found(ctx, a, p, groups, n)
		if err != nil {
			return answer, fmt.Errorf("search %q: %w", query, err)
		}
		if answer.Hits, err = x.best(a, hits, limit, p.clauses, groups); err != nil {
			return answer, fmt.Errorf("search %q: %w", query, err)
		}
		if len(answer.Hits) == limit || len(hits) < n || n >= maxCandidates {
			return answer, nil
		}
	}
}

// found fetches the n best candidates and weighs them, best first.
func (x *Index) found(ctx context.Context, a *analyzer, p parsed, groups [][]variant, n int) (hits []found, err error) {
	// All words; else any of them; else words that begin like them: an inexact answer
	// is better than none.
	for _, attempt := range []string{match(groups, p.clauses, " AND "), match(groups, p.clauses, " OR "),
		match(loosen(groups, p.clauses), p.clauses, " OR ")} {
		if attempt == "" {
			return nil, nil
		}
		if hits, err = x.candidates(ctx, attempt, p, n); err != nil {
			return nil, err
		}
		if len(hits) > 0 {
			break
		}
	}
	x.weigh(a, hits, p, groups)
	return hits, nil
}

// best makes hits of candidates, at most limit: one for each page, whatever addresses it has.
func (x *Index) best(a *analyzer, all []found, limit int, clauses []clause, groups [][]variant) ([]crawl.Hit, error) {
	now := x.o.Now()
	hits := make([]crawl.Hit, 0, len(all))
	langs := make(map[string]string, len(all))
	for i := range all {
		p := &all[i].page
		if p.URL == "" || p.Expired(now) || x.hides(p.URL) {
			continue
		}
		h := crawl.Hit{URL: string(p.URL), Title: p.Title, Score: all[i].score, Canonical: string(p.Canonical), AliasOf: string(p.AliasOf), Depth: p.Depth,
			HeldSince: p.Since}
		if x.hides(p.AliasOf) {
			h.AliasOf = ""
		}
		if p.SHA256 != [32]byte{} {
			h.SHA256 = hex.EncodeToString(p.SHA256[:])
		}
		if x.hides(p.Canonical) {
			h.Canonical = ""
		}
		for _, u := range p.Aliases {
			if !x.hides(u) {
				h.Also = append(h.Also, string(u))
			}
		}
		hits = append(hits, h)
		langs[h.URL] = all[i].lang
	}
	shown := []crawl.Hit{}
	for _, h := range collapse(hits) {
		if len(shown) == limit {
			break
		}
		ok, err := x.show(a, &h, langs[h.URL], clauses, groups)
		if err != nil {
			return nil, err
		}
		if ok {
			shown = append(shown, h)
		}
	}
	return shown, nil
}

func (x *Index) hides(u canon.URL) bool { return u != "" && x.o.Hidden != nil && x.o.Hidden(u) }

// loosen turns words into beginnings of words, and words joined by signs into the words by
// themselves. Words in quotes and excluded words stay as they are.
func loosen(groups [][]variant, clauses []clause) [][]variant {
	out := make([][]variant, len(groups))
	for i, vs := range groups {
		out[i] = vs
		if clauses[i].not || clauses[i].phrase {
			continue
		}
		out[i] = slices.Clone(vs)
		for _, v := range vs {
			for _, t := range v.terms {
				if len(t) >= 3 {
					out[i] = append(out[i], variant{[]string{t}, true})
				}
			}
		}
	}
	return out
}

// candidates asks FTS5 for the best n.
func (x *Index) candidates(ctx context.Context, expr string, p parsed, n int) ([]found, error) {
	var where strings.Builder
	args := []any{expr, x.o.Now().UnixMilli()}
	if p.site != "" {
		where.WriteString(" AND (d.host = ? OR substr(d.host, -length(?)) = ?)")
		sub := "." + strings.TrimPrefix(p.site, ".")
		args = append(args, p.site, sub, sub)
	}
	if p.lang != "" {
		where.WriteString(" AND d.lang = ?")
		args = append(args, p.lang)
	}
	if p.ctype != "" {
		where.WriteString(" AND (d.type = ? OR d.type LIKE '%/' || ?)")
		args = append(args, p.ctype, strings.NewReplacer("%", "", "_", "").Replace(p.ctype))
	}
	args = append(args, n)
	rows, err := x.r.QueryContext(ctx, "SELECT d.url, d.lang, f.rank FROM fts f JOIN docs d ON d.id = f.rowid"+
		" WHERE f.fts MATCH ? AND (d.expires = 0 OR d.expires > ?)"+where.String()+" ORDER BY f.rank LIMIT ?", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []found
	for rows.Next() {
		var f found
		var rank float64
		if err := rows.Scan(&f.url, &f.lang, &rank); err != nil {
			return nil, err
		}
		f.score = -rank
		out = append(out, f)
	}
	return out, rows.Err()
}

// weigh sorts hits. A page whose title has all the words ranks higher, the more so the less else
// the title says. A page whose title and path together have them all gets half of that.
func (x *Index) weigh(a *analyzer, hits []found, p parsed, groups [][]variant) {
	for i := range hits {
		h := &hits[i]
		page, ok, err := x.store.Lookup(h.url)
		if !ok || err != nil {
			continue // show drops the page, or meets the error again
		}
		h.page = page
		var title []string
		a.tokens(h.lang, []byte(page.Title), func(t token) bool {
			title = append(title, string(t.term))
			return len(title) < 64
		})
		if covered := inTitle(title, p.clauses, groups); covered > 0 {
			h.score *= 1.5 + 0.5*float64(covered)/float64(len(title))
			continue
		}
		named := slices.Clone(title)
		a.tokens(h.lang, []byte(h.url.Path()), func(t token) bool {
			named = append(named, string(t.term))
			return len(named) < 128
		})
		if covered := inTitle(named, p.clauses, groups); covered > 0 {
			h.score *= 1.25 + 0.25*float64(covered)/float64(len(named))
		}
	}
	slices.SortStableFunc(hits, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(a.url), len(b.url)), cmp.Compare(a.url, b.url))
	})
}

// inTitle returns how many words of the title are asked for; 0 unless all words
// asked for are in it.
func inTitle(title []string, clauses []clause, groups [][]variant) int {
	covered := 0
	for i, vs := range groups {
		if clauses[i].not || len(vs) == 0 {
			continue
		}
		best := 0
		for _, v := range vs {
			if slices.ContainsFunc(windows(title, len(v.terms)), func(w []string) bool { return v.matches(w) }) {
				best = max(best, len(v.terms))
			}
		}
		if best == 0 {
			return 0
		}
		covered += best
	}
	return min(covered, len(title))
}

// windows returns all runs of n neighbouring terms.
func windows(terms []string, n int) (out [][]string) {
	for i := 0; n > 0 && i+n <= len(terms); i++ {
		out = append(out, terms[i:i+n])
	}
	return out
}

func (v variant) matches(w []string) bool {
	for i, t := range v.terms {
		if w[i] != t && !(v.prefix && i == len(v.terms)-1 && strings.HasPrefix(w[i], t)) {
			return false
		}
	}
	return true
}

// show completes a hit with what the store holds now. ok is false when the page is gone or may
// not be shown any more.
func (x *Index) show(a *analyzer, h *crawl.Hit, lang string, clauses []clause, groups [][]variant) (ok bool, err error) {
	// Read again, with its body: the page may have changed since its title was read.
	page, ok, err := x.store.Get(canon.URL(h.URL))
	if !ok || err != nil {
		return false, err
	}
	h.Title = page.Title
	if page.Expired(x.o.Now()) {
		return false, nil
	}
	if page.SnippetAllowed() {
		var s string
		if x.o.Read(&page, func() { s = snippet(a, &page, lang, clauses, groups) }) != nil {
			return false, nil
		}
		if s != "" {
			h.Snippet = &s
		}
	}
	if page.SHA256 == [32]byte{} {
		return true, nil
	}
	twins, err := x.store.ByDigest(page.SHA256, maxAlso+1)
	if err != nil {
		return false, err
	}
	for _, p := range twins {
		if !x.hides(p.URL) && !p.Expired(x.o.Now()) {
			h.Also = append(h.Also, string(p.URL))
		}
	}
	h.Also = addresses(h.Also, h.URL)
	return true, nil
}

// Merge joins the answers of several shards: their hits by score, at most limit (0: ten). Hits that
// are one page become one.
func Merge(answers []crawl.SearchAnswer, limit int) []crawl.Hit {
	if limit <= 0 {
		limit = defaultLimit
	}
	hits := []crawl.Hit{}
	for _, a := range answers {
		hits = append(hits, a.Hits...)
	}
	slices.SortStableFunc(hits, func(a, b crawl.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
	})
	hits = collapse(hits)
	return hits[:min(limit, len(hits))]
}
