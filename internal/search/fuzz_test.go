package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/pagetext"
	"github.com/curtsy/curtsy/internal/query"
)

// Whatever is typed, there is an answer without an error, excluded pages are not in it, and marks
// are within snippets.
func FuzzQuery(f *testing.F) {
	for _, q := range []string{`"a" AND (b OR c*) NOT d`, `title:^x {a b}:c`, `NEAR(a b, 3)`, `a" OR 1=1 --`, `-"`, `"""`, `*`, `a*b*`, "\x00",
		"\xff\xfe", `site: lang:`, "日本 日", strings.Repeat(`"a `, 50), "e\u0301 \u0301", "ﷺ1 ㈀", "run-text", "zbera", "site:a.example", "before:2030 x",
		"<b>zebra</b>"} {
		f.Add(q)
	}
	x := newFixture(f)
	x.add(page("https://a.example/1", "en", "Some title", "<p>a b c d running text about zebras 日本語"),
		page("https://a.example/2", "de", "Ein Titel", "<p>Häuser und Straßen, zebra"))
	f.Fuzz(func(t *testing.T, q string) {
		for _, h := range ask(t, crawl.SearchRequest{Query: q}, x.Index).Hits {
			last := 0
			for _, m := range h.Marks {
				if m[0] < last || m[1] <= m[0] || m[1] > len(*h.Snippet) || !utf8.ValidString((*h.Snippet)[m[0]:m[1]]) {
					t.Fatalf("%q: marks %v in %q", q, h.Marks, *h.Snippet)
				}
				last = m[1]
			}
		}
		p := query.Parse(q)
		p.Not = append(p.Not, query.Atom{Text: "zebra"}, query.Atom{Text: "zebras"})
		if len(p.Not) > query.MaxTerms {
			return
		}
		plan := planOf(p, nil)
		terms, err := local{x.Index}.Terms(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		plan.Settle(terms)
		if r, err := x.Rank(t.Context(), plan, RankOptions{N: 3, Explain: true}); err != nil || len(r.Hits) > 0 {
			t.Fatalf("%q: found what was excluded: %+v, %v", q, r.Hits, err)
		}
	})
}

// A snippet is short, valid UTF-8, one line, and part of the text.
func FuzzSnippet(f *testing.F) {
	f.Add("some text with a needle in it", "needle")
	f.Add(strings.Repeat("filler words ", 100)+"needle"+strings.Repeat(" more", 100), "needle more")
	f.Add(strings.Repeat("日本語", 200), "本語")
	f.Fuzz(func(t *testing.T, text, typed string) {
		plan := planOf(query.Parse(typed), nil)
		plan.eachSlot(func(s *Slot) { s.Forms = []Form{{s.Word, 1, 1}} })
		p := pages.Page{}
		p.ContentType, p.Charset, p.Body = "text/plain", "utf-8", []byte(text)
		var r snipper
		s, _, _ := r.snippet(&p, plan)
		if !utf8.ValidString(s) || strings.Contains(s, "\n") || len(s) > 2*snippetBytes+20 {
			t.Fatalf("snippet of %d bytes: %q", len(s), s)
		}
		var x pagetext.Extractor
		whole := strings.ReplaceAll(string(x.Text("text/plain", "utf-8", []byte(text)).Body), "\n", " ")
		if core := strings.TrimSuffix(strings.TrimPrefix(s, "… "), " …"); !strings.Contains(whole, core) {
			t.Fatalf("%q is not in the text", core)
		}
	})
}

// A snippet of a page with max-snippet has no more characters than that, its ellipses included, in
// every script; its marks are within it, and its words are complete.
func FuzzMaxSnippet(f *testing.F) {
	f.Add("some text with a needle in it and more text behind", "needle", uint8(20))
	f.Add(strings.Repeat("filler words ", 100)+"needle"+strings.Repeat(" more", 100), "needle more", uint8(60))
	f.Add(strings.Repeat("日本語", 200), "本語", uint8(9))
	f.Add("e\u0301te\u0301 ete\u0301", "ete", uint8(3))
	f.Add("a … b", "b", uint8(1))
	f.Fuzz(func(t *testing.T, text, typed string, limit uint8) {
		plan := planOf(query.Parse(typed), nil)
		plan.eachSlot(func(s *Slot) { s.Forms = []Form{{s.Word, 1, 1}} })
		p := pages.Page{}
		p.ContentType, p.Charset, p.Body, p.MaxSnippet = "text/plain", "utf-8", []byte(text), int(limit)
		var r snipper
		s, marks, _ := r.snippet(&p, plan)
		if n := utf8.RuneCountInString(s); !utf8.ValidString(s) || limit > 0 && n > int(limit) {
			t.Fatalf("%d characters, at most %d: %q", n, limit, s)
		}
		last := 0
		for _, m := range marks {
			if m[0] < last || m[1] <= m[0] || m[1] > len(s) || !utf8.ValidString(s[m[0]:m[1]]) {
				t.Fatalf("marks %v in %q", marks, s)
			}
			last = m[1]
		}
	})
}
