package search

import (
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/pkg/canon"
)

func (l local) Suggest(ctx context.Context, p *Plan, begins []string) ([]Suggested, error) {
	return each(l, func(x *Index) ([]Suggested, error) { return single(x.Suggest(ctx, sent(p), begins)) })
}

// suggested is what several indexes suggest together, as text: "query, query | title, title".
func suggested(t testing.TB, typed string, limit int, all ...*Index) string {
	t.Helper()
	a, err := Complete(t.Context(), crawl.SuggestRequest{Typed: typed, Limit: limit}, fieldsOfTests, local(all))
	if err != nil {
		t.Fatalf("%q: %v", typed, err)
	}
	var titles []string
	for _, p := range a.Pages {
		titles = append(titles, p.Title)
	}
	return strings.Join(a.Queries, ", ") + " | " + strings.Join(titles, ", ")
}

// smallManual are pages of a small manual.
func smallManual() []pages.Page {
	return []pages.Page{
		page("https://a.example/vacuum", "en", "VACUUM", "garbage-collect a database; vacuum full locks"),
		page("https://a.example/vacuumdb", "en", "vacuumdb", "a wrapper of vacuum; analyze vacuum"),
		page("https://a.example/routine", "en", "Routine vacuuming of tables", "vacuum and functions"),
		page("https://a.example/functions", "en", "Functions for reading os.path.join", "fullness"),
		page("https://b.example/vacuum", "en", "Vacuum", "another vacuum, full"),
		page("https://b.example/cafe", "fr", "Café au lait", "le café"),
		page("https://b.example/ja", "ja", "データベースの設定", "データベース"),
	}
}

func TestSuggestions(t *testing.T) {
	f := newFixture(t)
	f.add(smallManual()...)
	for typed, want := range map[string]string{
		"vac":                 "vacuum, vacuumdb, vacuuming | VACUUM, vacuumdb, Routine vacuuming of tables",
		"VACU":                "vacuum, vacuumdb, vacuuming | VACUUM, vacuumdb, Routine vacuuming of tables",
		"vacuum":              "vacuumdb, vacuuming | VACUUM, vacuumdb, Routine vacuuming of tables",
		"vacuum f":            "vacuum full, vacuum functions | ",
		"vacuum fu":           "vacuum full, vacuum functions | ",
		"routine ":            " | Routine vacuuming of tables",
		"routine of vacuum t": "routine of vacuum tables | Routine vacuuming of tables",
		"os.path.jo":          "os.path.join | Functions for reading os.path.join",
		"site:b.example vac":  "site:b.example vacuum | Vacuum",
		"lang:fr ca":          "lang:fr cafe, lang:fr café | Café au lait",
		"lang:fr c":           "lang:fr cafe, lang:fr café | ",
		"データ":                 " | データベースの設定",
		"vacuum zebra":        " | ",
		"zebra vac":           " | ",
		"site:b":              " | ", "-vac": " | ", `"vac`: " | ", `a "b vac`: " | ", "": " | ", "->>": " | ", "title:vac": " | ",
	} {
		if got := suggested(t, typed, 10, f.Index); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
	}
	if got := suggested(t, "vac", 1, f.Index); got != "vacuum | VACUUM" {
		t.Errorf("one of each: %s", got)
	}
}

// Suggestions are the same on one shard and on several.
func TestSuggestionsOfShards(t *testing.T) {
	one, two, three := newFixture(t), newFixture(t), newFixture(t)
	for i := range 60 {
		p := page(fmt.Sprintf("https://h%d.example/%d", i%5, i), "en", fmt.Sprintf("Chapter %d about chains", i), strings.Repeat("chance change charm ", i%4)+fmt.Sprint("chart", i%7))
		one.add(p)
		if i%5 < 2 {
			two.add(p)
		} else {
			three.add(p)
		}
	}
	for _, typed := range []string{"ch", "chapter 1", "about cha", "chapter ch"} {
		want, got := suggested(t, typed, 20, one.Index), suggested(t, typed, 20, two.Index, three.Index)
		if got != want || len(got) < 10 {
			t.Errorf("%q: of two shards %s\nof one %s", typed, got, want)
		}
	}
}

// Nothing is suggested of pages that may not be shown: neither their titles, nor words that no
// other page has.
func TestSuggestionsOfHiddenPages(t *testing.T) {
	f := newFixture(t)
	f.Close()
	var err error
	f.Index, err = Open(filepath.Join(f.dir, "search-0.db"), f.store, Options{
		Now:    func() time.Time { return f.now },
		Hidden: func(u canon.URL) bool { return u.Host() == "secret.example" || u == "https://half.example/secret" },
		HiddenHost: func(h canon.Host) (all, some bool) {
			return h == "secret.example", h == "secret.example" || h == "half.example"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	noIndex := page("https://open.example/noindex", "en", "Plan of nobody", "planetary")
	noIndex.Directives = crawl.NoIndex
	expired := page("https://open.example/old", "en", "Plan of yesterday", "planchette")
	expired.UnavailableAfter = f.now.Add(-time.Hour)
	f.add(
		page("https://secret.example/a", "en", "Plan of the secret host", "planetarium"),
		page("https://half.example/secret", "en", "Plan that is secret", "plankton"),
		page("https://half.example/open", "en", "Plan in the open", "planning"),
		noIndex, expired,
	)
	if got, want := suggested(t, "plan", 20, f.Index), "planning | Plan in the open"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	// Since it was indexed the page has got a directive: the store decides.
	changed := page("https://half.example/open", "en", "Plan in the open", "planning")
	changed.Directives = crawl.NoIndex
	if _, err := f.store.Put([]pages.Page{changed}); err != nil {
		t.Fatal(err)
	}
	if got := suggested(t, "plan", 20, f.Index); strings.Contains(got, "open") {
		t.Errorf("a page that has become noindex is suggested: %s", got)
	}
}

func TestTyped(t *testing.T) {
	for text, want := range map[string][]string{
		"read-on":     {"read-", "on"},
		"os.path.jo":  {"", "jo", "os.path.jo"},
		"a  b ":       {"a  b "},
		"x\u3000ab":   {"x\u3000", "ab"},
		"C++":         {"", "c", "c++"},
		"foo/ba":      {"foo/", "ba"},
		"version:1 x": {"version:1 ", "x"},
	} {
		_, before, begins := typed(text, fieldsOfTests)
		if got := append([]string{before}, begins...); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzSuggest: whatever is typed, suggestions continue it.
func FuzzSuggest(f *testing.F) {
	x := newFixture(f)
	x.add(smallManual()...)
	for _, typed := range []string{"vac", "vacuum f", "os.path.jo", "データ", "C++", `"a b`, "lang:de -x y", "\xff "} {
		f.Add(typed)
	}
	f.Fuzz(func(t *testing.T, typed string) {
		a, err := Complete(t.Context(), crawl.SuggestRequest{Typed: typed, Limit: 5}, fieldsOfTests, local{x.Index})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range a.Queries {
			blank := strings.LastIndexAny(typed, " \t") + 1
			if !strings.HasPrefix(q, typed[:blank]) {
				t.Errorf("%q is suggested for %q", q, typed)
			}
		}
		if len(a.Queries) > 5 || len(a.Pages) > 5 {
			t.Errorf("%q: %d queries, %d pages", typed, len(a.Queries), len(a.Pages))
		}
	})
}

// BenchmarkSuggest asks for what begins with two letters, in a thousand pages.
func BenchmarkSuggest(b *testing.B) {
	f := newFixture(b)
	var batch []pages.Page
	for i := range 1000 {
		var body strings.Builder
		for k := range 300 {
			fmt.Fprintf(&body, "co%d word%d ", (i*k)%5000, k)
		}
		batch = append(batch, page(fmt.Sprintf("https://a.example/%d", i), "en", fmt.Sprintf("Commands of chapter co%d", i), body.String()))
	}
	f.add(batch...)
	for b.Loop() {
		suggested(b, "co", 8, f.Index)
	}
}
