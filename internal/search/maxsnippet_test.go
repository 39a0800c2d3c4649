package search

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/pages"
)

// snippetOf returns the snippet of the only hit, with its marks in brackets; "-" if there is none.
func (f *fixture) snippetOf(query string) string {
	f.t.Helper()
	hits := f.search(query)
	if len(hits) != 1 {
		f.t.Fatalf("%d hits for %s, want 1", len(hits), query)
	}
	h := hits[0]
	if h.Snippet == nil {
		if len(h.Marks) > 0 {
			f.t.Errorf("marks %v without a snippet", h.Marks)
		}
		return "-"
	}
	s := *h.Snippet
	for i := len(h.Marks) - 1; i >= 0; i-- {
		from, to := h.Marks[i][0], h.Marks[i][1]
		s = s[:from] + "[" + s[from:to] + "]" + s[to:]
	}
	return s
}

// Row 25 of the signals: at most N characters are shown, and they end at the end of a word.
func TestUsage_8_25_MaxSnippet(t *testing.T) {
	f := newFixture(t)
	body := "<p>Far from the harbour a giraffe walks slowly. " + strings.Repeat("Nothing of interest is here. ", 50)
	p := page("https://a.example/", "en", "Animals", body)
	for _, c := range []struct {
		max  int
		want string
	}{
		{0, "240"},
		{1_000, "240"},
		{60, "… the harbour a [giraffe] walks slowly. Nothing of …"},
		{30, "… a [giraffe] walks …"},
		{12, "… [giraffe] …"},
		{11, "… [giraffe] …"},
		{10, "-"}, // the word and its ellipses have eleven characters
		{1, "-"},
	} {
		visits++
		p.Visit.N, p.MaxSnippet = visits, c.max
		if _, err := f.store.Put([]pages.Page{p}); err != nil { // the index does not have to follow
			t.Fatal(err)
		}
		if c.max == 0 || c.max == 1_000 {
			f.follow()
			if n := utf8.RuneCountInString(f.snippetOf("giraffe")); n < 200 || n > snippetBytes+ellipses+2 {
				t.Errorf("at most %d: %d characters", c.max, n)
			}
			continue
		}
		got := f.snippetOf("giraffe")
		if n := utf8.RuneCountInString(strings.NewReplacer("[", "", "]", "").Replace(got)); got != c.want || n > c.max {
			t.Errorf("at most %d: %q of %d, want %q", c.max, got, n, c.want)
		}
	}
}

// A text that is short enough is shown completely, and scripts without spaces are cut between
// characters.
func TestMaxSnippetEnds(t *testing.T) {
	f := newFixture(t)
	p := page("https://a.example/", "en", "x", "<p>a giraffe")
	p.MaxSnippet = len("a giraffe")
	f.add(p)
	if got := f.snippetOf("giraffe"); got != "a [giraffe]" {
		t.Errorf("%q", got)
	}
	q := page("https://b.example/", "ja", "x", "<p>"+strings.Repeat("港の動物園", 30)+"麒麟"+strings.Repeat("港の動物園", 30))
	q.MaxSnippet = 12
	f.add(q)
	if got := f.snippetOf("麒麟"); !strings.Contains(got, "[麒麟]") || utf8.RuneCountInString(got) > 12+2 {
		t.Errorf("%q", got)
	}
}

// Row 26: text with data-nosnippet is found but not shown; the snippet leaves it out.
func TestUsage_8_26_DataNoSnippet(t *testing.T) {
	f := newFixture(t)
	filler := strings.Repeat("<p>Nothing of interest stands in this paragraph. ", 50)
	f.add(
		page("https://a.example/", "en", "One", "<p>Here an okapi meets <span data-nosnippet>a zorilla and</span> the quagga."),
		page("https://b.example/", "en", "Two", "<div data-nosnippet><p>Only the numbat is here."+filler+"</div>"),
		page("https://c.example/", "en", "Three", filler+"<p>Zebra<div data-nosnippet>fish</div> and aard<span data-nosnippet>varks</span> wolf."+filler),
		page("https://d.example/", "en", "Four", "<p>A tapir. "+strings.Repeat("a <span data-nosnippet>b</span> ", 2_000)),
	)
	for query, want := range map[string]string{
		"okapi":   "Here an [okapi] meets … the quagga.",
		"zorilla": "Here an okapi meets … the quagga.",
		"quagga":  "Here an okapi meets … the [quagga].",
		"numbat":  "-",
		"tapir":   "-",
	} {
		if got := f.snippetOf(query); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"wolf", "aardvarks"} {
		got := f.snippetOf(query)
		if strings.Contains(got, "varks") || strings.Contains(got, "fish") {
			t.Errorf("%s: %q", query, got)
		}
		if query == "wolf" && !strings.Contains(got, "Zebra … and aard… [wolf].") {
			t.Errorf("%s: %q", query, got)
		}
	}
}
