package indexer

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/internal/simnet"
)

// unpacks are the files that read pages as their sites sent them, and why. Whatever people or
// search see of a page is read with Page.Readable.
var unpacks = map[string]string{
	"../indexer/claims.go":   "what a page states about datasets",
	"../indexer/datasets.go": "a data.txt",
	"../indexer/export.go":   "the links of a page",
	"../indexer/pageread.go": "its title, and what it states about datasets",
	"../indexer/relink.go":   "the links of a page",
	"../indexer/ruling.go":   "its fields: rules read the page as it is",
	"../indexer/trial.go":    "a trial reads a page in all ways",
}

// Nothing that people or search read of a page passes by the rules about its content.
func TestEveryReaderFollowsContentRules(t *testing.T) {
	found := map[string]bool{}
	for _, pattern := range []string{"../indexer/*.go", "../search/*.go", "../web/*/*.go", "../export/*.go", "../feed/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(b), "Unpack(") && !strings.HasSuffix(file, "_test.go") {
				found[file] = true
			}
		}
	}
	if got, want := slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(unpacks)); !slices.Equal(got, want) {
		t.Errorf("these files unpack pages: %q, want %q", got, want)
	}
}

// Search, snippets, texts, Markdown and chunks have the content that the rules want; the HTML is
// the page itself. When the rules change, search follows.
func TestContentRules(t *testing.T) {
	const u = "https://a.example/"
	banner := "sites: {a.example: {content: {drop: [.banner]}}}"
	main := "sites: {a.example: {content: {main: [main]}}}"
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.spec.Sites = banner
		dir := t.TempDir()
		x, stop := w.start(Options{Dir: dir, Search: true})
		w.hand(page(u, 1, "<div class=banner>cookies</div><aside>sidebar</aside><main><p>words of the text</main>"))
		w.settled(x)
		check := func(when string, words map[string]bool) {
			t.Helper()
			one := asked[Record](w, "page", questions.PageRequest{URL: u})
			if len(one) != 1 || !strings.Contains(one[0].HTML, "cookies") || !strings.Contains(one[0].HTML, "sidebar") {
				t.Errorf("%s: HTML %+v", when, one)
			}
			shown := ""
			for _, format := range []string{"text", "markdown"} {
				for _, rec := range asked[Record](w, "page", questions.PageRequest{URL: u, Format: format}) {
					shown += rec.Text + rec.Markdown + "|"
				}
			}
			for _, c := range asked[crawl.PageChunk](w, "export", crawl.ExportQuery{What: "pages", Format: "chunks"}) {
				shown += c.Text
			}
			for _, hit := range searched(w, "text").Hits {
				shown += "|" + *hit.Snippet
			}
			for word, is := range words {
				if strings.Contains(shown, word) != is {
					t.Errorf("%s: %q is shown: %v in %q", when, word, !is, shown)
				}
				if hits := searched(w, word).Hits; (len(hits) > 0) != is {
					t.Errorf("%s: %q is found: %v", when, word, !is)
				}
			}
		}
		check("without a banner", map[string]bool{"cookies": false, "sidebar": true, "words": true})
		w.spec.Sites = main
		if err := x.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		w.settled(x)
		check("only the main part", map[string]bool{"cookies": false, "sidebar": false, "words": true})
		w.spec.Sites = ""
		if err := x.SetSpec(w.spec); err != nil {
			t.Fatal(err)
		}
		w.settled(x)
		check("without rules", map[string]bool{"cookies": true, "sidebar": true, "words": true})
		stop()
		r, err := OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		r.Follow(&crawl.Spec{Sites: main})
		err = r.Handlers("curtsy").Ask(t.Context(), "page", questions.PageRequest{URL: u, Format: "text"}, func(row any) error {
			if rec := row.(Record); strings.Contains(rec.Text, "sidebar") || !strings.Contains(rec.Text, "words") {
				t.Errorf("stopped: %q", rec.Text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}
