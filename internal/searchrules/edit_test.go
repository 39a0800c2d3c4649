package searchrules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/query"
)

// TestEdit: pages are pinned and hidden one after another, comments stay, and what is cleared
// leaves no trace.
func TestEdit(t *testing.T) {
	text := "# ours\nweights: {title: 2} # strong\n"
	for _, c := range []struct {
		query, url string
		way        Way
		want       string // pins and hidden pages of "install"
	}{
		{"install", "https://x.example/a", Pin, "[https://x.example/a] []"},
		{"Installs", "https://x.example/b", Pin, "[https://x.example/a https://x.example/b] []"},
		{"install", "https://x.example/b", Pin, "[https://x.example/a https://x.example/b] []"},
		{"install", "HTTPS://x.example:443/a", Hide, "[https://x.example/b] [https://x.example/a]"},
		{"other", "https://x.example/c", Hide, "[https://x.example/b] [https://x.example/a]"},
		{"install", "https://x.example/b", Clear, "[] [https://x.example/a]"},
		{"install", "https://x.example/a", Clear, "[] []"},
		{"other", "https://x.example/c", Clear, "[] []"},
	} {
		next, err := Edit(text, c.query, c.url, c.way)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		text = next
		of := mustParse(t, text).For(query.Parse("install"))
		if got := fmt.Sprint(of.Pins, of.Hide); got != c.want {
			t.Errorf("after %s %s: %s, want %s\n%s", c.way, c.url, got, c.want, text)
		}
	}
	if text != "# ours\nweights: {title: 2} # strong\n" {
		t.Errorf("at the end:\n%s", text)
	}
	for _, start := range []string{"", "{}", "# nothing\n", "results:\n"} {
		if text, err := Edit(start, "a: b", "https://x.example/", Pin); err != nil || !strings.Contains(text, "https://x.example/") {
			t.Errorf("from %q: %q, %v", start, text, err)
		}
	}
	if text, err := Edit("results: [{query: a, pin: https://x.example/1}]", "a", "https://x.example/2", Pin); err != nil || len(mustParse(t, text).For(query.Parse("a")).Pins) != 2 {
		t.Errorf("one URL without a list: %q, %v", text, err)
	}
}

func TestEditRefuses(t *testing.T) {
	full := "results:\n  - query: a\n    pin:\n" + strings.Repeat("      - https://x.example/%d\n", MaxPins)
	var urls []any
	for i := range MaxPins {
		urls = append(urls, i)
	}
	full = fmt.Sprintf(full, urls...)
	for _, c := range []struct{ text, query, url, want string }{
		{"", "site:x.example", "https://x.example/", "the query has no words"},
		{"", "a", "x", "not an absolute"},
		{"[", "a", "https://x.example/", "yaml"},
		{"- a", "a", "https://x.example/", "correct them first"},
		{full, "a", "https://x.example/more", "pin has 21 entries; at most 20 are allowed"},
	} {
		if text, err := Edit(c.text, c.query, c.url, Pin); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %q, %v, want %s", c.query, text, err, c.want)
		}
	}
}

// What Edit makes of rules that are right is right, and says of other queries what was said before.
func FuzzEdit(f *testing.F) {
	f.Add(sample, "install", "https://x.example/", true)
	f.Fuzz(func(t *testing.T, text, typed, url string, pin bool) {
		before, err := Parse(text)
		if err != nil {
			return
		}
		way := Hide
		if pin {
			way = Pin
		}
		next, err := Edit(text, typed, url, way)
		if err != nil {
			return
		}
		after := mustParse(t, next)
		q := query.Parse("another query of ours")
		if a, b := fmt.Sprint(before.For(q)), fmt.Sprint(after.For(q)); a != b && len(wordsOfQuery(query.Parse(typed))) != len(wordsOfQuery(q)) {
			t.Fatalf("%q says %s, then %s", text, a, b)
		}
	})
}
