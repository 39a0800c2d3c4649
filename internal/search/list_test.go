package search

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The cursors of answers lead through all pages that match, each once, whatever the number of
// shards is; and the last answer has none.
func TestCursorsLeadThroughAll(t *testing.T) {
	all := manual(1500)
	one, four := spread(t, all, 1), spread(t, all, 4)
	for _, r := range []crawl.SearchRequest{
		{Query: "vacuum index", Limit: 100},
		{Query: "vacuum", Limit: 90, Sort: "-date"},
		{Query: "table", Limit: 100, Languages: []string{"de"}},
		{Query: `"nowhere" table`, Limit: 10}, // no page has all words, so the query is loosened
	} {
		var lists [2][]string
		for i, shards := range [][]*Index{one, four} {
			seen := map[string]bool{}
			total := int64(0)
			for asked := r; ; {
				a := ask(t, asked, shards...)
				total = a.Total
				for _, h := range a.Hits {
					if seen[h.URL] {
						t.Fatalf("%q: %s comes twice", r.Query, h.URL)
					}
					seen[h.URL] = true
					lists[i] = append(lists[i], h.URL)
				}
				if a.Next != "" && len(a.Hits) == 0 {
					t.Fatalf("%q: a cursor led to no hits", r.Query)
				}
				if a.Next == "" {
					break
				}
				asked.Cursor = a.Next
			}
			if int64(len(seen)) > total || int64(len(seen)) < total*9/10 { // copies become one hit
				t.Errorf("%q: %d hits of %d pages", r.Query, len(seen), total)
			}
		}
		if !slices.Equal(lists[0], lists[1]) {
			t.Errorf("%q: four shards list other pages than one", r.Query)
		}
		if len(lists[0]) < 20 {
			t.Errorf("%q: only %d hits", r.Query, len(lists[0]))
		}
	}
}

// Pages of an answer follow one another beyond the pages of the second stage, too.
func TestOffsetsBeyondTheSecondStage(t *testing.T) {
	x := spread(t, manual(900), 2)
	r := crawl.SearchRequest{Query: "vacuum index table", Limit: 50}
	seen := map[string]bool{}
	for r.Offset = 0; r.Offset < 400; r.Offset += 50 {
		a := ask(t, r, x...)
		if len(a.Hits) != 50 {
			t.Fatalf("%d hits from %d on", len(a.Hits), r.Offset)
		}
		for _, h := range a.Hits {
			if seen[h.URL] {
				t.Errorf("%s comes twice, again from %d on", h.URL, r.Offset)
			}
			seen[h.URL] = true
		}
	}
}

// A cursor that is none is an error that says so, also one that is too long.
func TestWrongCursors(t *testing.T) {
	x := spread(t, manual(30), 1)
	for _, c := range []string{"x", "eyJvIjotMX0", "bnVsbA=", strings.Repeat("A", crawl.MaxCursor+1)} {
		if _, err := Run(t.Context(), crawl.SearchRequest{Query: "vacuum", Cursor: c}, nil, nil, local(x)); !errors.Is(err, crawl.ErrCursor) {
			t.Errorf("%.20s: %v", c, err)
		}
	}
}

// Sorted by date, the newest pages are first, or the oldest; pages without a date are last.
func TestSortByDate(t *testing.T) {
	f := newFixture(t)
	for i, date := range []string{"2021-05-06", "", "2024-01-02", "2019-12-31"} {
		f.add(page(fmt.Sprintf("https://a.example/%d", i), "en", fmt.Sprint("Page ", i), `<p>the okapi `+fmt.Sprint("number ", i)+`<meta itemprop="x">`+when(date)))
	}
	for by, want := range map[string]string{"-date": "2 0 3 1", "date": "3 0 2 1"} {
		var got []string
		for _, h := range ask(t, crawl.SearchRequest{Query: "okapi", Sort: by}, f.Index).Hits {
			got = append(got, strings.TrimPrefix(canon.URL(h.URL).Path(), "/"))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", by, s, want)
		}
	}
}

func when(date string) string {
	if date == "" {
		return ""
	}
	return `<time datetime="` + date + `" itemprop="dateModified">` + date + `</time>`
}

// A request can limit the hits of a site.
func TestPerSite(t *testing.T) {
	a := ask(t, crawl.SearchRequest{Query: "vacuum table", Limit: 100, PerSite: 2}, spread(t, manual(400), 3)...)
	n := map[canon.Host]int{}
	for _, h := range a.Hits {
		if n[canon.URL(h.URL).Host()]++; n[canon.URL(h.URL).Host()] > 2 {
			t.Errorf("a third hit of %s", canon.URL(h.URL).Host())
		}
	}
	if len(n) < 10 {
		t.Errorf("hits of %d sites", len(n))
	}
}

// However many copies of a page there are, cursors lead to all other pages.
func TestCopiesHideNoOtherPage(t *testing.T) {
	f := newFixture(t)
	var all []pages.Page
	for i := range 2000 {
		all = append(all, page(fmt.Sprintf("https://a.example/copy/%d", i), "en", "Login", "<p>login"))
	}
	for i := range 30 {
		all = append(all, page(fmt.Sprintf("https://a.example/other/%d", i), "en", fmt.Sprint("Help ", i), fmt.Sprintf("<p>how to %s login, case %d", strings.Repeat("prepare a ", 20+i), i)))
	}
	f.add(all...)
	seen := map[string]bool{}
	r := crawl.SearchRequest{Query: "login", Limit: 10}
	for range 100 {
		a := ask(t, r, f.Index)
		for _, h := range a.Hits {
			seen[h.URL] = true
		}
		if a.Next == "" {
			break
		}
		r.Cursor = a.Next
	}
	for i := range 30 {
		if u := fmt.Sprintf("https://a.example/other/%d", i); !seen[u] {
			t.Errorf("%s is in no part of the list", u)
		}
	}
}

// counting counts how often shards are asked.
type counting struct {
	local
	n *int
}

func (c counting) Rank(ctx context.Context, p *Plan, o RankOptions) ([]Ranked, error) {
	*c.n++
	return c.local.Rank(ctx, p, o)
}

// However many words of a query are spelled wrong, and whether they are parts of names, the number
// of requests to shards has a limit.
func TestRequestsOfOneQueryAreLimited(t *testing.T) {
	x := spread(t, manual(60), 1)
	for _, q := range []string{
		strings.Repeat("vacuun tabel indxe querry plannerr lokc transactoin ", 4),
		"vacuun-tabel-indxe-querry-plannerr-lokc-transactoin-colum-curser-triger vacuum",
	} {
		n := 0
		if _, err := Run(t.Context(), crawl.SearchRequest{Query: q}, nil, nil, counting{x, &n}); err != nil {
			t.Fatal(err)
		}
		if most := 3*maxTriedInAll + 8; n == 0 || n > most {
			t.Errorf("%.40s: the shards were asked %d times, at most %d", q, n, most)
		}
	}
}

// The parts of an answer are for one query: a correction of the first holds for all.
func TestCursorsKeepTheCorrection(t *testing.T) {
	r := crawl.SearchRequest{Query: "vacum", Limit: 5}
	x := spread(t, manual(900), 2)
	first := ask(t, r, x...)
	if first.Corrected != "vacuum" || first.Next == "" {
		t.Fatalf("%+v", first)
	}
	r.Cursor = first.Next
	if second := ask(t, r, x...); second.Corrected != "vacuum" || len(second.Hits) != 5 || second.Hits[0].URL == first.Hits[0].URL || second.Total != first.Total {
		t.Errorf("%s: %s", second.Corrected, brief(second))
	}
}

// A cursor behind the longest address has space.
func TestLongestCursor(t *testing.T) {
	c := cursor{Query: strings.Repeat("&", 2048), After: &Position{URL: "https://a.example/?" + strings.Repeat("&", 2048), Key: &sortKey{Text: strings.Repeat("&", maxFieldValue)}}}
	if text := c.String(); len(text) > crawl.MaxCursor {
		t.Errorf("it has %d bytes", len(text))
	} else if back, err := readCursor(text); err != nil || back.After.URL != c.After.URL {
		t.Errorf("%v, %+v", err, back)
	}
}

// Sorted, too, a limit of hits of a site leaves no site out.
func TestPerSiteSorted(t *testing.T) {
	r := crawl.SearchRequest{Query: "vacuum", Limit: 7, PerSite: 1, Sort: "-date"}
	x := spread(t, manual(400), 2)
	hosts := map[canon.Host]bool{}
	for range 10 {
		a := ask(t, r, x...)
		for _, h := range a.Hits {
			if host := canon.URL(h.URL).Host(); hosts[host] {
				t.Errorf("%s comes twice", host)
			} else {
				hosts[host] = true
			}
		}
		if r.Cursor = a.Next; a.Next == "" {
			break
		}
	}
	if len(hosts) != 23 {
		t.Errorf("hits of %d sites", len(hosts))
	}
}
