package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

const (
	vacuum  = "<h2>Routine vacuuming</h2><p>The vacuum process reclaims storage of dead tuples. Autovacuum runs vacuum for each table, and a frozen tuple needs no wraparound protection."
	wrap    = "<p>Transaction wraparound is avoided when autovacuum freezes each old tuple. Vacuum also updates the visibility map of a table and reclaims dead tuples."
	cooking = "<p>Boil the potatoes in salted water until they are soft, and add butter, nutmeg and warm milk before you mash them."
)

// similar are pages of several hosts. One is about vacuuming, and there are others about the same,
// forms of the page itself, and pages about something else.
func similar() []pages.Page {
	hidden := page("https://docs.example/hidden", "en", "Vacuum, hidden", vacuum+" Hidden.")
	hidden.Directives = crawl.NoIndex
	canonical := page("https://docs.example/print", "en", "Print", vacuum+" This is printed.")
	canonical.Canonical = "https://docs.example/en/vacuum"
	all := []pages.Page{
		page("https://docs.example/en/vacuum", "en", "Routine Vacuuming", vacuum),
		page("https://copy.example/stolen", "en", "Routine Vacuuming", vacuum), // the same bytes
		canonical,
		hidden,
		page("https://docs.example/de/vacuum", "de", "Vacuum auf Deutsch", vacuum),
		page("https://docs.example/de/wrap", "de", "Wraparound auf Deutsch", wrap),
		page("https://docs.example/en/wrap", "en", "Wraparound", wrap),
		page("https://blog.example/tuple", "en", "Dead tuples", "<p>A dead tuple stays in its table until vacuum reclaims it."),
		page("https://food.example/mash", "en", "Mashed potatoes", cooking),
	}
	for i := range 12 {
		all = append(all, page(fmt.Sprintf("https://h%d.example/", i), "en", fmt.Sprintf("Number %d", i),
			fmt.Sprintf("<p>The table of number %d has nothing about anything else, and the process ends.", i)))
	}
	return all
}

// TestLike: the pages that share most of a page's rare words are found, the most similar one first.
// The page itself, its copies and translations, and pages that must not be found, are not. The
// answer is the same on any number of shards.
func TestLike(t *testing.T) {
	all := similar()
	shards := map[int][]*Index{1: spread(t, all, 1), 4: spread(t, all, 4)}
	for _, c := range []struct{ url, query, want string }{
		{"https://docs.example/en/vacuum", "", "/wrap /tuple"},
		{"HTTPS://DOCS.example/en/vacuum#part", "", "/wrap /tuple"}, // need not be canonical
		{"https://docs.example/en/vacuum", "site:blog.example", "/tuple"},
		{"https://docs.example/en/vacuum", "-site:blog.example", "/wrap"},
		{"https://docs.example/en/vacuum", "lang:de", "/de/wrap"},
		{"https://docs.example/en/vacuum", "lang:fr", ""},
		{"https://food.example/mash", "", ""},
	} {
		var first string
		for _, n := range []int{1, 4} {
			a := ask(t, crawl.SearchRequest{Like: c.url, Query: c.query, Explain: true}, shards[n]...)
			var got []string
			for _, h := range a.Hits {
				got = append(got, strings.TrimPrefix(strings.SplitN(h.URL, ".example", 2)[1], "/en"))
			}
			if strings.Join(got, " ") != c.want || a.Total != int64(len(got)) || a.Next != "" {
				t.Errorf("%s %s, %d shards: %q, total %d, next %q; want %q", c.url, c.query, n, got, a.Total, a.Next, c.want)
			}
			if n == 1 {
				first = brief(a)
			} else if brief(a) != first {
				t.Errorf("%s %s: %d shards answer otherwise than one:\n%s\n%s", c.url, c.query, n, brief(a), first)
			}
		}
	}
}

// A page that is not stored, or must not be found, is like no page, and neither is a word.
func TestLikeErrors(t *testing.T) {
	shards := local(spread(t, similar(), 4))
	for _, u := range []string{"https://docs.example/hidden", "https://docs.example/none", "https://elsewhere.example/"} {
		_, err := Run(t.Context(), crawl.SearchRequest{Like: u}, fieldsOfTests, nil, shards)
		var none *crawl.NoPageError
		if !errors.As(err, &none) || none.URL != u {
			t.Errorf("%s: %v", u, err)
		}
	}
	for _, q := range []string{"words", "words site:blog.example", "-words"} {
		_, err := Run(t.Context(), crawl.SearchRequest{Like: "https://docs.example/en/vacuum", Query: q}, fieldsOfTests, nil, shards)
		if !errors.Is(err, crawl.ErrLikeWords) {
			t.Errorf("%q: %v", q, err)
		}
	}
	if a, err := Run(t.Context(), crawl.SearchRequest{Like: "no address"}, fieldsOfTests, nil, shards); err == nil {
		t.Errorf("a text that is no URL finds %s", brief(a))
	}
}

// A page has at most maxPageWords words, the most frequent ones, and none that is very long. A plan
// has at most maxLikeClauses of them.
func TestLikeLimits(t *testing.T) {
	f := newFixture(t)
	var words strings.Builder
	for i := range maxPageWords + 1 {
		fmt.Fprintf(&words, " word%cx%c", 'a'+i/26, 'a'+i%26)
	}
	long := strings.Repeat("x", maxWordBytes)
	text := "<p>" + words.String() + strings.Repeat(" "+long, 3) + strings.Repeat(" "+long+"y", 3)
	f.add(page("https://a.example/1", "en", "", text), page("https://a.example/2", "en", "", text+" and more"))
	rows, err := f.Words(t.Context(), "https://a.example/1")
	if err != nil || len(rows) != 1 || len(rows[0].Words) != maxPageWords {
		t.Fatalf("%+v, %v", rows, err)
	}
	if w := rows[0].Words; w[0].Word != long || w[0].Count != 3 || w[1].Count != 1 {
		t.Errorf("the first are %+v", w[:2])
	}
	p := rows[0].plan(fieldsOfTests.Parse(""), nil)
	terms, err := f.Terms(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	p.Settle([]Terms{terms})
	p.choose(rows[0].Words)
	if len(p.Clauses) != maxLikeClauses || p.Need != maxLikeClauses/4 {
		t.Errorf("%d clauses, %d of them required", len(p.Clauses), p.Need)
	}
	if a := ask(t, crawl.SearchRequest{Like: "https://a.example/1"}, f.Index); len(a.Hits) != 1 {
		t.Errorf("found %s", brief(a))
	}
}
