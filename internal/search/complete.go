package search

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/search/analysis"
	"github.com/curtsy/curtsy/internal/search/segment"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Suggestions while somebody types come from the index in one step: the words that begin like the
// last one typed, and the pages that have all words in their titles. A suggested word is in a page
// that may be shown and has the words before it, so that the completed query finds something.

const (
	// MaxSuggested is the maximum number of queries and of pages that are suggested.
	MaxSuggested = 20
	// maxShardWords is how many completions a shard returns: more, because it does not know which
	// are the most frequent in the whole crawl.
	maxShardWords = 128
	// maxTitled is the maximum number of pages whose titles are read from the store. More than one
	// may have the same title.
	maxTitled = 200
	// maxScanned is the maximum number of entries of a shard's word lists that are read for one
	// suggestion: some milliseconds. Two letters begin many words, and the pages of the last of
	// them are then left out.
	maxScanned = 300_000
)

// Suggested is what a shard suggests.
type Suggested struct {
	Words []Completion `json:"words,omitempty"` // that complete the last word
	Pages []Titled     `json:"pages,omitempty"` // best first
}

// Completion is a word that begins like the one typed.
type Completion struct {
	Word  string `json:"word"`
	Pages uint64 `json:"pages"` // number of pages of the shard that have it, at most
}

// Titled is a page whose title has all words.
type Titled struct {
	Title string  `json:"title"`
	URL   string  `json:"url"`
	Score float64 `json:"score"` // greater is better; comparable between shards
}

// compareTitled orders pages, best first.
func compareTitled(a, b Titled) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
}

// Suggest finds completions and pages of a shard. p has the words that are complete, and filters.
// begins are beginnings of the last word: its last part, and the word as a whole if it is a name
// such as os.path.join; none if it is complete. It fails only when the file does or ctx ends.
func (x *Index) Suggest(ctx context.Context, p *Plan, begins []string) (s Suggested, err error) {
	defer x.edge(&err)()
	if x.empty() {
		return s, x.broken
	}
	err = x.view(func(v *view) (err error) {
		c := &completer{x: x, v: v, plan: p, left: maxScanned}
		if !c.groups() {
			return nil
		}
		for _, part := range v.parts {
			if err := ctx.Err(); err != nil {
				return err
			}
			c.part(part, begins)
		}
		s.Words = c.completions(begins)
		s.Pages, err = c.titled()
		return err
	})
	if err != nil {
		return s, fmt.Errorf("search: %w", err)
	}
	return s, nil
}

// completer is the state of one suggestion of a shard.
type completer struct {
	x    *Index
	v    *view
	plan *Plan
	left int // of maxScanned

	words [][]Form          // the words that are complete; a page has a form of each
	parts []*partly         // by part
	found []titledPage      // pages with all words in the title
	count map[string]uint64 // pages by completion
	buf   []uint32
}

// partly is which pages of a part have the complete words.
type partly struct {
	*part
	filter *filter
	// have and titled are how many of the words a page has, anywhere and in its title. They are nil
	// if all words are still incomplete.
	have, titled []uint8
	first        []bool // the title begins with the first word
}

// titledPage is a page with all words in its title.
type titledPage struct {
	part  *part
	page  uint32
	score float64
}

// groups sets the forms of the complete words. It is false if a word is in no page of the shard.
func (c *completer) groups() bool {
	k := analysis.NewQueryKeyer(c.v.languages())
	forms := func(s *Slot) []Form { return mostFrequent(c.v.forms(k, s), maxForms) }
	for i := range c.plan.Clauses {
		any := c.plan.Clauses[i].Any
		if len(any) == 1 {
			for j := range any[0].Slots {
				s := &any[0].Slots[j]
				if !s.Exact && analysis.IsStopWord(s.Word) {
					continue // titles have them or not
				}
				c.words = append(c.words, forms(s))
			}
			continue
		}
		var all []Form
		for j := range any {
			for k := range any[j].Slots {
				all = append(all, forms(&any[j].Slots[k])...)
			}
		}
		c.words = append(c.words, all)
	}
	return len(c.words) < math.MaxUint8 && !slices.ContainsFunc(c.words, func(f []Form) bool { return len(f) == 0 })
}

// part finds pages and words of one part.
func (c *completer) part(p *part, begins []string) {
	f := newFilter(p, &c.plan.Filters, c.x.o.Now())
	f.hiding(c.x.o.HiddenHost, c.x.hidden)
	l := &partly{part: p, filter: f}
	c.parts = append(c.parts, l)
	if len(c.words) > 0 {
		l.have, l.titled, l.first = make([]uint8, p.Len()), make([]uint8, p.Len()), make([]bool, p.Len())
	}
	for n, forms := range c.words {
		for i := range forms {
			if e, ok := p.Word([]byte(forms[i].Word)); ok {
				c.complete(l, &e, uint8(n))
			}
		}
	}
	if len(begins) == 0 {
		for i, n := range l.titled {
			if int(n) == len(c.words) {
				c.add(l, uint32(i), l.first[i])
			}
		}
		return
	}
	c.begin(l, begins)
}

// complete notes which pages have form n of the complete words, after those before it.
func (c *completer) complete(l *partly, e *segment.Entry, n uint8) {
	for post := e.Postings(); c.left > 0 && post.Next(); c.left-- {
		if l.have[post.Page] == n {
			l.have[post.Page]++
		}
		if post.Mask&segment.MaskTitle == 0 || l.titled[post.Page] != n {
			continue
		}
		l.titled[post.Page]++
		if n == 0 {
			l.first[post.Page] = c.leads(&post)
		}
	}
}

// leads reports whether a title begins with the word.
func (c *completer) leads(post *segment.Postings) bool {
	c.buf = post.PlacesUntil(c.buf[:0], segment.Title.Start()+1)
	return len(c.buf) > 0 && c.buf[0] == segment.Title.Start()
}

// minScanned is the least number of letters for which titles are searched: every page has words
// that begin with a certain letter.
const minScanned = 2

// begin finds words that begin as the last one does, and pages that have one in the title.
func (c *completer) begin(l *partly, begins []string) {
	if c.count == nil {
		c.count = map[string]uint64{}
	}
	// By page with all words in its title: whether that begins with the first of them.
	leads := map[uint32]bool{}
	for k, begin := range begins {
		scanned := k == 0 && (utf8.RuneCountInString(begin) >= minScanned || len(c.words) > 0 || aloneUnspaced(begin))
		n := 0
		for word, unread := range l.Beginning([]byte(begin)) {
			e := unread.Entry()
			if k == len(begins)-1 && len(word) > len(begin) {
				c.count[string(word)] += uint64(e.Pages)
			}
			for post := e.Postings(); scanned && c.left > 0 && post.Next(); c.left-- {
				if post.Mask&segment.MaskTitle == 0 || l.titled != nil && int(l.titled[post.Page]) < len(c.words) {
					continue
				}
				if l.first != nil {
					leads[post.Page] = l.first[post.Page]
				} else {
					leads[post.Page] = leads[post.Page] || c.leads(&post)
				}
			}
			if n++; n == maxBegins {
				break
			}
		}
	}
	for page, first := range leads {
		c.add(l, page, first)
	}
}

// add adds a page with all words in its title, if it may be shown. Titles that begin with the words
// are best, then those of few other words, and pages to which many others link.
func (c *completer) add(l *partly, page uint32, first bool) {
	if !l.filter.pass(page) {
		return
	}
	score := float64(len(c.words)+1) / float64(max(len(c.words)+1, int(l.Words(page, segment.Title))))
	if first {
		score++
	}
	score += math.Log2(1+float64(c.v.linking(l.part, page))) / 8
	c.found = append(c.found, titledPage{l.part, page, score})
}

// completions are the most frequent words that some page has which may be shown and has the
// complete words, too.
func (c *completer) completions(begins []string) (all []Completion) {
	if len(begins) == 0 {
		return nil
	}
	if r, _ := utf8.DecodeRuneInString(begins[len(begins)-1]); analysis.Unspaced(r) {
		return nil // the index has pairs of letters and no words
	}
	sorted := make([]Completion, 0, len(c.count))
	for word, n := range c.count {
		sorted = append(sorted, Completion{word, n})
	}
	slices.SortFunc(sorted, compareCompletions)
	left := maxScanned
	for _, w := range sorted {
		if c.shown(w.Word, &left) {
			all = append(all, w)
		}
		if len(all) == maxShardWords || left <= 0 {
			break
		}
	}
	return all
}

func compareCompletions(a, b Completion) int {
	return cmp.Or(cmp.Compare(b.Pages, a.Pages), cmp.Compare(a.Word, b.Word))
}

// shown reports whether a page with the word may be shown and has the complete words.
func (c *completer) shown(word string, left *int) bool {
	for _, l := range c.parts {
		e, ok := l.Word([]byte(word))
		if !ok {
			continue
		}
		for post := e.Postings(); *left > 0 && post.Next(); *left-- {
			if (l.have == nil || int(l.have[post.Page]) == len(c.words)) && l.filter.pass(post.Page) {
				return true
			}
		}
	}
	return false
}

// titled are the best pages, each title once, with titles from the store, which decides what may be
// shown.
func (c *completer) titled() (all []Titled, err error) {
	slices.SortFunc(c.found, func(a, b titledPage) int {
		u, v := a.part.URL(a.page), b.part.URL(b.page)
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(len(u), len(v)), bytes.Compare(u, v))
	})
	titles := map[string]bool{}
	now := c.x.o.Now()
	for _, f := range c.found[:min(len(c.found), maxTitled)] {
		u := string(f.part.URL(f.page))
		p, ok, err := c.x.store.Lookup(canon.URL(u))
		if err != nil {
			return nil, err
		}
		if !ok || p.Expired(now) || p.Directives&crawl.NoIndex != 0 || c.x.hidden(u) || p.Title == "" || titles[analysis.Lower(p.Title)] {
			continue
		}
		titles[analysis.Lower(p.Title)] = true
		if all = append(all, Titled{p.Title, u, f.score}); len(all) == MaxSuggested {
			break
		}
	}
	return all, nil
}

// Completers are all shards of a crawl, as suggestions ask them. If some do not answer, Suggest
// returns the results of the others, with an error.
type Completers interface {
	Suggest(ctx context.Context, p *Plan, begins []string) ([]Suggested, error)
}

// mergeSuggested adds up what the shards suggest. before is the text before the completed word.
func mergeSuggested(all []Suggested, before string, limit int) (a crawl.SuggestAnswer) {
	a = crawl.SuggestAnswer{Queries: []string{}, Pages: []crawl.SuggestedPage{}}
	sums := map[string]uint64{}
	var pages []Titled
	for _, s := range all {
		for _, w := range s.Words {
			sums[w.Word] += w.Pages
		}
		pages = append(pages, s.Pages...)
	}
	words := slices.SortedFunc(maps.Keys(sums), func(v, w string) int {
		return compareCompletions(Completion{v, sums[v]}, Completion{w, sums[w]})
	})
	for _, w := range words[:min(len(words), limit)] {
		a.Queries = append(a.Queries, before+w)
	}
	slices.SortFunc(pages, compareTitled)
	titles := map[string]bool{}
	for _, p := range pages {
		if low := analysis.Lower(p.Title); len(a.Pages) < limit && !titles[low] {
			titles[low] = true
			a.Pages = append(a.Pages, crawl.SuggestedPage{Title: p.Title, URL: p.URL})
		}
	}
	return a
}

// Complete answers what somebody may be about to type. The answer does not depend on how pages are
// distributed over shards. When shards do not answer, the error says so, and the answer has the
// results of the others. schema has the fields by which the typed query may filter.
func Complete(ctx context.Context, r crawl.SuggestRequest, schema query.Schema, shards Completers) (crawl.SuggestAnswer, error) {
	p, before, begins := typed(r.Typed, schema)
	if p == nil {
		return mergeSuggested(nil, "", 0), nil
	}
	all, err := shards.Suggest(ctx, p, begins)
	return mergeSuggested(all, before, min(max(r.Limit, 1), MaxSuggested)), err
}

// typed divides what was typed into the plan of the complete words, the text before the word that
// is incomplete, and the beginnings of that: see Index.Suggest. p is nil if nothing can be
// suggested: the incomplete word is a filter, excluded, or in quotes.
func typed(text string, schema query.Schema) (p *Plan, before string, begins []string) {
	blank := strings.LastIndexFunc(text, unicode.IsSpace)
	_, size := utf8.DecodeRuneInString(text[max(blank, 0):])
	if blank >= 0 {
		blank += size
	}
	before, last := text[:max(blank, 0)], text[max(blank, 0):]
	name, _, filters := strings.Cut(last, ":")
	if strings.Count(before, `"`)%2 == 1 || strings.ContainsAny(last, `"-`) && (last[0] == '-' || strings.Contains(last, `"`)) || filters && schema.Filters(name) {
		return nil, "", nil
	}
	q := schema.Parse(before)
	var parts []Slot
	var whole string
	at := 0
	var z analysis.Tokenizer
	z.Tokens([]byte(last), func(t analysis.Token) bool {
		if t.Whole {
			whole = string(t.Word)
			return true
		}
		parts = append(parts, Slot{Word: string(t.Word), Exact: true})
		at = t.Start
		return len(parts) < maxSlots
	})
	switch {
	case len(parts) > 0:
		begins = []string{parts[len(parts)-1].Word}
		if whole != "" && strings.HasPrefix(analysis.Lower(last), whole) {
			begins, at = append(begins, whole), 0
		}
		parts = parts[:len(parts)-1]
	case last != "" || q.Empty():
		return nil, "", nil
	}
	p = planOf(q, nil)
	for _, s := range parts {
		p.Clauses = append(p.Clauses, Clause{Any: []Match{{Slots: []Slot{s}, Weight: 1}}})
	}
	return p, before + last[:at], begins
}
