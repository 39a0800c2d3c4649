package search

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/searchrules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Pages that are similar to a page are found by its words. The shard that stores the page returns
// its most frequent words (Words). The best of them, by how often they are in the page and how rare
// they are in the whole crawl, become the clauses of an ordinary plan. The page and other forms of
// it are left out of the answer.

const (
	// maxPageWords is the maximum number of words of a page that Words returns.
	maxPageWords = 64
	// maxLikeClauses is how many of them a plan has.
	maxLikeClauses = 16
	// titleCounts and headingCounts are how often a word of the title, and of a heading, counts in
	// addition to where it is in the text.
	titleCounts, headingCounts = 5, 2
	// maxWordBytes is the length above which a word of a page is not used: it is no word of a
	// language, and plans with such words would be large.
	maxWordBytes = 64
)

// PageWords describe a stored page by its words.
type PageWords struct {
	URL  string `json:"url"`
	Lang string `json:"lang,omitempty"` // ISO 639-1, as declared or detected
	// Words are the most frequent words of the title, the headings and the main text, without those
	// with little meaning; the most frequent is first.
	Words []WordCount `json:"words"`

	// The fields below are for recognising copies of the page among the hits.

	Title     string `json:"title,omitempty"`
	SHA256    string `json:"sha256,omitempty"` // hex, of the page's body
	Canonical string `json:"canonical,omitempty"`
	AliasOf   string `json:"alias_of,omitempty"`
	Text      uint64 `json:"text,omitempty"` // see Ranking
	Sim       uint64 `json:"sim,omitempty"`  // see Ranking
}

// WordCount is a word of a page.
type WordCount struct {
	Word  string `json:"word"`            // lower-cased
	Count int    `json:"count"`           // how often; a word of the title counts more
	Whole bool   `json:"whole,omitempty"` // it is a name that consists of words
}

// Words describes the page with a canonical URL. There is no row if this shard does not store the
// page, or the page must not be found.
func (x *Index) Words(_ context.Context, url string) (rows []PageWords, err error) {
	defer x.edge(&err)()
	if x.empty() {
		return nil, x.broken
	}
	p, ok, err := x.store.Get(canon.URL(url))
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	if !ok || p.Expired(x.o.Now()) || p.Directives&crawl.NoIndex != 0 || p.IsMeta() || x.hidden(url) {
		return nil, nil
	}
	w := PageWords{URL: url, Title: p.Title, Canonical: string(p.Canonical), AliasOf: string(p.AliasOf)}
	if p.SHA256 != [32]byte{} {
		w.SHA256 = hex.EncodeToString(p.SHA256[:])
	}
	r := snippers.Get().(*snipper)
	r.content = x.o.Content
	if x.o.Read(&p, func() { w.Words, w.Lang = r.pageWords(&p) }) != nil {
		return nil, nil // such a page is not indexed either
	}
	r.free()
	err = x.view(func(v *view) error {
		if part, i, ok := v.find(url); ok {
			f := part.Facts(i)
			w.Text, w.Sim = f.Text, f.Sim
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("search: %w", err)
	}
	return []PageWords{w}, nil
}

// pageWords counts the words of a page, and returns the most frequent ones and the page's language.
func (r *snipper) pageWords(p *pages.Page) (words []WordCount, lang string) {
	page, err := p.Readable(r.body, r.content)
	if err != nil {
		return nil, ""
	}
	if p.Encoding != crawl.EncodingNone {
		r.body = page.Body
	}
	t := r.extract.Read(p.URL, page.ContentType, page.Charset, page.Body)
	counts, left := map[string]*WordCount{}, maxTokens
	count := func(text []byte, n int) {
		r.tokens.Tokens(text, func(token analysis.Token) bool {
			if c := counts[string(token.Word)]; c != nil {
				c.Count += n
			} else if telling(token.Word) {
				word := string(token.Word)
				counts[word] = &WordCount{Word: word, Count: n, Whole: token.Whole}
			}
			left--
			return left > 0
		})
	}
	title, _ := titleOf(p, &t)
	count(title, titleCounts)
	for _, s := range t.Spans {
		if s.Kind == pagetext.Heading {
			count(t.Body[s.From:s.To], headingCounts)
		}
	}
	eachPart(&t, false, func(from, to int) { count(t.Body[from:to], 1) })
	for c := range maps.Values(counts) {
		words = append(words, *c)
	}
	slices.SortFunc(words, func(a, b WordCount) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Word, b.Word))
	})
	return words[:min(len(words), maxPageWords)], analysis.Language(cmp.Or(p.Lang, t.Lang), t.Body)
}

// telling reports whether a word says something about a page that has it.
func telling(word []byte) bool {
	return len(word) <= maxWordBytes && utf8.RuneCount(word) > 1 && !analysis.IsStopWord(string(word))
}

// similarTo makes and ranks a plan for pages that are similar to the page of the request. It
// returns nil if that page has no words, or no shard answered.
func (s *searching) similarTo(q query.Query) (*reading, error) {
	if len(q.Groups) > 0 {
		return nil, crawl.ErrLikeWords
	}
	u, err := canon.Parse(s.r.Like)
	if err != nil {
		return nil, fmt.Errorf("the URL of a page is needed, for example https://example.org/: %w", err)
	}
	rows, err := s.shards.Words(s.ctx, string(u))
	s.failed(err)
	if len(rows) == 0 {
		return nil, cmp.Or(s.partly, error(&crawl.NoPageError{URL: string(u)}))
	}
	s.like = &rows[0]
	f := &reading{q: q, p: s.like.plan(q, s.sort)}
	f.p.tune(q, s.r.Languages, s.rules)
	f.p.hideToo(s.like.URL)
	terms, err := s.shards.Terms(s.ctx, f.p)
	s.failed(err)
	for _, t := range terms {
		f.behind += t.Behind
	}
	f.p.Settle(terms)
	f.p.choose(s.like.Words)
	if f.nothing = len(f.p.Clauses) == 0; !f.nothing {
		s.rank(f)
	}
	return f, nil
}

// plan has a clause for each word. It has more clauses than may be ranked: see choose.
func (w *PageWords) plan(q query.Query, sort *query.Sort) *Plan {
	p := planOf(q, sort)
	p.Clauses = nil
	if f := &p.Filters; w.Lang != "" && len(f.Langs)+len(f.NotLangs) == 0 {
		f.Langs = []string{w.Lang}
	}
	for _, c := range w.Words[:min(len(w.Words), maxPageWords)] {
		p.Clauses = append(p.Clauses, Clause{Any: []Match{{Slots: []Slot{{Word: c.Word, Exact: c.Whole}}, Weight: 1}}})
	}
	return p
}

// hideToo excludes a page as search rules do.
func (p *Plan) hideToo(url string) {
	rules := searchrules.Curation{}
	if p.Rules != nil {
		rules = *p.Rules
	}
	rules.Hide = append(slices.Clip(rules.Hide), url)
	p.Rules = &rules
}

// choose keeps the best clauses, by how often their words are in the page and how rare they are,
// and weights them by both. If too few are left, it keeps none. words are those of the clauses, in
// the same order.
func (p *Plan) choose(words []WordCount) {
	type weighed struct {
		Clause
		word   string
		often  float64
		points float64
	}
	var all []weighed
	for i, c := range p.Clauses {
		known := uint64(0)
		for _, f := range c.Any[0].Slots[0].Forms {
			known += f.Pages
		}
		if known < 2 {
			continue // no other page has it
		}
		often := 1 + math.Log(float64(words[i].Count))
		// IDF is a root: see rarity.
		all = append(all, weighed{c, words[i].Word, often, often * c.IDF * c.IDF})
	}
	slices.SortFunc(all, func(a, b weighed) int {
		return cmp.Or(cmp.Compare(b.points, a.points), cmp.Compare(a.word, b.word))
	})
	p.Clauses = nil
	forms := map[string]bool{}
	most := 0.0
	for _, w := range all {
		if len(p.Clauses) == maxLikeClauses {
			break
		}
		if forms[w.word] {
			continue // another form of a word that is in the plan
		}
		m := &w.Any[0]
		for _, f := range m.Slots[0].Forms {
			forms[f.Word] = true
		}
		most = max(most, w.often)
		w.IDF, m.IDF = w.IDF*w.often, m.IDF*w.often
		p.Clauses = append(p.Clauses, w.Clause)
	}
	for i := range p.Clauses {
		c := &p.Clauses[i]
		c.IDF /= most
		c.Any[0].IDF /= most
	}
	// One word in common makes no page similar, if the page has several. So a page whose words no
	// other page has is similar to none.
	if p.Need = (min(len(words), maxLikeClauses) + 3) / 4; len(p.Clauses) < p.Need {
		p.Clauses = nil
	}
}

// isForm reports whether a hit is the page, a copy of it or a translation.
func (w *PageWords) isForm(h *Ranking) bool {
	named := func(u string, by ...string) bool { return u != "" && slices.Contains(by, u) }
	here := sameHost(h.URL, w.URL)
	switch {
	case h.SHA256 != "" && h.SHA256 == w.SHA256,
		named(w.URL, h.URL, h.Canonical, h.AliasOf),
		named(h.URL, w.Canonical, w.AliasOf),
		here && named(h.Canonical, w.Canonical),
		here && h.Title == w.Title && (w.Text != 0 && h.Text == w.Text || w.Title != "" && alike(h.Sim, w.Sim)):
		return true
	}
	place, ok := placeOf(w.URL, w.Lang)
	other, too := placeOf(h.URL, h.Lang)
	return ok && too && place == other
}

// ask asks the shards for the pages that match, without forms of the page to which they are to be
// similar.
func (s *searching) ask(p *Plan, o RankOptions) []Ranked {
	ranked, err := s.shards.Rank(s.ctx, p, o)
	s.failed(err)
	if s.like == nil {
		return ranked
	}
	for i := range ranked {
		r := &ranked[i]
		before := len(r.Hits)
		r.Hits = slices.DeleteFunc(r.Hits, func(h Ranking) bool { return s.like.isForm(&h) })
		r.Count -= int64(before - len(r.Hits))
	}
	return ranked
}
