package search

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The hits of a query are one list. It begins with the best maxCandidates pages of the first stage,
// in the order of the second stage, and continues with the other pages in the order of the first
// stage. If the answer is sorted by a field, the whole list is in that order. Copies of a page
// become one hit, within what is read of the list at a time.
//
// A cursor leads to any place of the list: within its beginning by how many hits are before, and
// behind it by the last page before. The latter does not change when pages are added elsewhere, and
// costs the same at any depth.

// cursor is a place in the list of hits.
type cursor struct {
	// Query is the query that was answered, if it is not the one that was typed.
	Query  string    `json:"q,omitempty"`
	Offset int       `json:"o,omitempty"`
	After  *Position `json:"a,omitempty"` // nil: in the beginning of the list
}

// Position is a page's place in the order of the first stage, or of a field.
type Position struct {
	First float64  `json:"f"`
	Key   *sortKey `json:"k,omitempty"` // of a plan that sorts by a field
	URL   string   `json:"u,omitempty"` // decides between pages that are equal
}

func readCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	if len(text) > crawl.MaxCursor {
		return c, crawl.ErrCursor
	}
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || json.Unmarshal(b, &c) != nil || c.Offset < 0 || c.Offset > maxCandidates+MaxHits {
		return cursor{}, crawl.ErrCursor
	}
	return c, nil
}

func (c cursor) String() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // each & of an address would take six bytes
	if e.Encode(c) != nil {
		return "" // it has no values that JSON lacks: scores are finite
	}
	return base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// options are what the shards are asked for first.
func (s *searching) options() RankOptions {
	o := RankOptions{N: s.from.Offset + s.r.Limit, Explain: s.r.Explain, After: s.from.After}
	if s.r.PerSite > 0 || s.like != nil { // of these hits some are left out
		o.N = max(o.N, maxCandidates)
	}
	return o
}

// listed is a part of the list of hits.
type listed struct {
	// page are the hits that were asked for, and some that follow, which are shown instead of hits
	// that are gone meanwhile.
	page []crawl.Hit
	hits []crawl.Hit // all that were read
	all  bool        // these are all pages that match
	next *cursor     // nil: there are no further hits
}

// list returns the hits that were asked for.
func (s *searching) list(f *reading) (l listed) {
	if s.from.After != nil || f.p.Sort != nil {
		return s.more(f, f.ranked, s.from, s.r.Limit, nil)
	}
	o, end := s.options(), s.from.Offset+s.r.Limit
	raw, rankings, last := f.merge()
	l.hits = s.arrange(f.p, raw, rankings)
	if len(l.hits) <= end && o.N < maxCandidates && len(raw) < int(min(f.count, maxCandidates)) {
		// So many pages are copies of others that there may be too few.
		o.N = maxCandidates
		f.ranked = s.ask(f.p, o)
		raw, rankings, last = f.merge()
		l.hits = s.arrange(f.p, raw, rankings)
	}
	l.all = int64(len(raw)) >= f.count
	l.page = l.hits[min(s.from.Offset, len(l.hits)):]
	switch {
	case len(l.hits) > end:
		l.next = &cursor{Offset: end}
		return l
	case l.all || s.r.PerSite > 0 || last == nil:
		return l
	}
	// The beginning of the list ends here, or before.
	at := cursor{Offset: max(0, s.from.Offset-len(l.hits)), After: last}
	if len(l.hits) == end {
		// Copies that were left out count as pages, so there may be nothing behind.
		if len(hitsOf(s.ask(f.p, RankOptions{N: 1, After: last}))) > 0 {
			l.next = &at
		}
		return l
	}
	ranked := s.ask(f.p, RankOptions{N: end - len(l.hits), Explain: s.r.Explain, After: last})
	shown := map[string]bool{}
	for _, h := range l.hits {
		shown[h.URL] = true
		for _, u := range h.Also {
			shown[u] = true
		}
	}
	rest := s.more(f, ranked, at, s.r.Limit-len(l.page), shown)
	rest.page = append(l.page, rest.page...)
	return rest
}

// more returns limit hits of the list behind a place, without those that were shown before it.
func (s *searching) more(f *reading, ranked []Ranked, at cursor, limit int, shown map[string]bool) (l listed) {
	raw, rankings := (&reading{p: f.p, ranked: ranked}).inOrder()
	s.simple = at.After != nil
	want := at.Offset + limit
	if s.r.PerSite > 0 && at.After == nil { // most pages may be left out
		l.hits = s.arrange(f.p, raw[:min(len(raw), s.options().N+spare)], rankings)
		l.page, l.all = l.hits[min(at.Offset, len(l.hits)):], int64(len(raw)) >= f.count
		if len(l.hits) > want && want <= maxCandidates+MaxHits {
			l.next = &cursor{Offset: want}
		}
		return l
	}
	cut := raw[:min(len(raw), want+spare)]
	// As many pages as make the hits that are wanted: a page that follows them belongs to the next
	// part of the list, even if it is a copy.
	n := min(len(cut), want)
	var hits []crawl.Hit
	for {
		hits = s.arrange(f.p, slices.Clone(cut[:n]), rankings)
		hits = slices.DeleteFunc(hits, func(h crawl.Hit) bool { return shown[h.URL] })
		if len(hits) >= want || n == len(cut) {
			break
		}
		n = min(len(cut), n+want-len(hits)) // a page makes one hit at most
	}
	l.hits, l.page = hits, hits[min(at.Offset, len(hits)):]
	if at.After == nil && int64(len(raw)) >= f.count {
		l.all, l.hits = true, s.arrange(f.p, slices.Clone(raw), rankings)
	}
	if len(raw) > n {
		l.next = &cursor{After: positionOf(raw[n-1].URL, rankings)}
	}
	return l
}

// hitsOf are the hits of all shards.
func hitsOf(ranked []Ranked) (all []Ranking) {
	for _, r := range ranked {
		all = append(all, r.Hits...)
	}
	return all
}

func positionOf(url string, rankings map[string]*Ranking) *Position {
	r := rankings[url]
	return &Position{First: r.First, Key: r.Key, URL: url}
}

// comparePositions orders pages by the plan's field if it has one, and as in the first stage.
func (p *Plan) comparePositions(a, b *Position) int {
	if p.Sort != nil {
		var x, y sortKey
		if a.Key != nil {
			x = *a.Key
		}
		if b.Key != nil {
			y = *b.Key
		}
		if c := compareKeys(p.Sort, x, y); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(b.First, a.First), cmp.Compare(a.URL, b.URL))
}

// merge makes one list of the pages of all shards, best first. last is the position behind which
// the list continues.
func (f *reading) merge() (hits []crawl.Hit, rankings map[string]*Ranking, last *Position) {
	var first []float64
	for _, r := range f.ranked {
		first = append(first, r.First...)
	}
	// Only the pages that would reach the second stage if there were one shard. Others must not be
	// ranked higher because they had fewer competitors.
	slices.SortFunc(first, func(a, b float64) int { return cmp.Compare(b, a) })
	first = first[:min(len(first), maxCandidates)]
	least := math.Inf(1)
	if len(first) > 0 {
		least = first[len(first)-1]
		last = &Position{First: least}
	}
	hits, rankings = f.hits(least)
	slices.SortFunc(hits, func(a, b crawl.Hit) int {
		return cmp.Or(f.p.comparePinned(&a, &b), cmp.Compare(b.Score, a.Score), cmp.Compare(len(a.URL), len(b.URL)), cmp.Compare(a.URL, b.URL))
	})
	return hits, rankings, last
}

// inOrder makes one list of the hits of all shards, in the order of the first stage or of a field.
func (f *reading) inOrder() (hits []crawl.Hit, rankings map[string]*Ranking) {
	hits, rankings = f.hits(math.Inf(-1))
	slices.SortFunc(hits, func(a, b crawl.Hit) int {
		return f.p.comparePositions(positionOf(a.URL, rankings), positionOf(b.URL, rankings))
	})
	return hits, rankings
}

// hits are those of all shards with a score of the first stage that is not below least, and those
// that are pinned.
func (f *reading) hits(least float64) (hits []crawl.Hit, rankings map[string]*Ranking) {
	rankings = map[string]*Ranking{}
	for i := range f.ranked {
		for j := range f.ranked[i].Hits {
			h := &f.ranked[i].Hits[j]
			if h.First < least && !h.Pinned {
				continue
			}
			rankings[h.URL] = h
			h.Hit.Text, h.Hit.Sim, h.Hit.Near, h.Hit.NearAt, h.Hit.Level = h.Text, h.Sim, h.Near, h.NearAt, h.Level
			h.Hit.SectionNth = h.Section
			hits = append(hits, h.Hit)
		}
	}
	return hits, rankings
}

// arrange makes hits of pages: copies and translations of a page become one, and a site has no more
// hits than the request permits. Pages and hits are best first.
func (s *searching) arrange(p *Plan, raw []crawl.Hit, rankings map[string]*Ranking) []crawl.Hit {
	hits := collapse(raw)
	hits = s.translated(hits)
	if p.Sort != nil {
		// The hit that is shown for several may have another key than the first of them.
		slices.SortStableFunc(hits, func(a, b crawl.Hit) int {
			return p.comparePositions(positionOf(a.URL, rankings), positionOf(b.URL, rankings))
		})
	}
	if s.r.PerSite > 0 {
		n := map[canon.Host]int{}
		hits = slices.DeleteFunc(hits, func(h crawl.Hit) bool {
			host := site(&h)
			n[host]++
			return n[host] > s.r.PerSite
		})
	}
	return hits
}

// An answer that is sorted by a field has the pages with the lowest values first, or those with the
// highest. Pages with equal values follow one another as in the first stage, and pages without the
// field are last. All of this is the same on any number of shards, so that pages of the answer
// follow one another without gaps.

// sortKey is what a page is sorted by.
type sortKey struct {
	Has    bool    `json:"has,omitempty"` // the page has the field
	Number float64 `json:"number,omitempty"`
	Text   string  `json:"text,omitempty"` // of types without an order of numbers
}

// compareKeys orders two pages.
func compareKeys(s *query.Sort, a, b sortKey) int {
	if a.Has != b.Has {
		if a.Has {
			return -1
		}
		return 1
	}
	c := cmp.Or(cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
	if s.Down {
		return -c
	}
	return c
}

// sorter makes the keys of the pages of one part after another.
type sorter struct {
	by   *query.Sort
	p    *part
	name uint32
	some bool
	buf  []uint32
}

// key is the key of page i of a part. If it has several values, the one that comes first counts.
func (s *sorter) key(p *part, i uint32) (key sortKey) {
	if s.by.Name == "" {
		d := p.Date(i)
		return sortKey{Has: d != 0, Number: float64(d)}
	}
	if p != s.p {
		s.p = p
		s.name, s.some = nameIn(p, s.by.Name)
	}
	if !s.some {
		return key
	}
	s.buf = p.PagesProperties(s.buf[:0], i)
	for _, n := range s.buf {
		if p.NameOfProperty(n) != s.name {
			continue
		}
		text := p.TextOfProperty(n)
		k := sortKey{Has: true}
		if s.by.Type == crawl.FieldNumber || s.by.Type == crawl.FieldDate {
			k.Number, k.Has = query.FieldNumber(s.by.Type, text)
		} else {
			k.Text = query.Fold(text)
		}
		if compareKeys(s.by, k, key) < 0 {
			key = k
		}
	}
	return key
}

// order is the order of an answer: the one that the request asks for, otherwise that of sort: in
// the query. One of the query that is not possible is noted in the answer, and is no error.
func order(requested string, q query.Query, answer *crawl.SearchAnswer) (*query.Sort, error) {
	if requested != "" {
		return q.Schema().Sort(requested)
	}
	by, err := q.Schema().Sort(q.Sort)
	if err != nil {
		answer.Notes = append(slices.Clip(answer.Notes), err.Error())
	}
	return by, nil
}
