package searchrules

import (
	"fmt"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/rulefile"
)

const sample = `# what our team decided
synonyms:
  all: |
    # in the format of Solr
    car, automobile
    http daemon, httpd => apache, web server
    a\,b => c\=>d
  de: [ "Wagen, Karre" ]
results:
  - query: Install
    pin: [https://docs.example.org/install.html, "HTTPS://docs.example.org:443/setup.html"]
    hide: https://docs.example.org/old/install.html
  - query: install windows
    match: words
    pin: [https://docs.example.org/windows.html]
    boost: [{url: https://docs.example.org/guide/, by: 2.5}]
demote:
  - {site: "docs.example.org/archive", by: 0.5}
weights: {title: 2, freshness: 1}
`

func mustParse(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRulesOfAQuery(t *testing.T) {
	r := mustParse(t, sample)
	const base = "https://docs.example.org/"
	for typed, want := range map[string]string{
		"install": fmt.Sprint([]string{base + "install.html", base + "setup.html"}, []string{base + "old/install.html"}, nil),
		// An entry is about all forms of its words.
		"Installing site:docs.example.org": fmt.Sprint([]string{base + "install.html", base + "setup.html"}, []string{base + "old/install.html"}, nil),
		"install on windows":               fmt.Sprint([]string{base + "windows.html"}, []string(nil), []Factor{{base + "guide/", 2.5}}),
		"windows":                          fmt.Sprint([]string(nil), []string(nil), nil),
		"site:docs.example.org":            fmt.Sprint([]string(nil), []string(nil), nil),
	} {
		c := r.For(query.Parse(typed))
		var boost any
		if len(c.Boost) > 0 {
			boost = c.Boost
		}
		if got := fmt.Sprint(c.Pins, c.Hide, boost); got != want {
			t.Errorf("%q: %s, want %s", typed, got, want)
		}
		if fmt.Sprint(c.Demote, c.Weights) != "[{docs.example.org/archive 0.5}] map[freshness:1 title:2]" {
			t.Errorf("%q: demote %v, weights %v", typed, c.Demote, c.Weights)
		}
	}
	if c := (*Rules)(nil).For(query.Parse("install")); !c.Empty() {
		t.Errorf("no rules say %+v", c)
	}
}

func TestExactQueriesComeBeforeWords(t *testing.T) {
	r := mustParse(t, `results:
  - {query: b, match: words, pin: [https://x.example/1, https://x.example/2], hide: [https://x.example/3]}
  - {query: a b, pin: [https://x.example/3, https://x.example/2]}
`)
	c := r.For(query.Parse("a b"))
	if got := fmt.Sprint(c.Pins); got != "[https://x.example/2 https://x.example/1]" {
		t.Errorf("pins %s: the page that another entry hides must not be pinned, and that of the exact query is first", got)
	}
}

// specWith is a spec with these rules.
func specWith(text string) crawl.Spec {
	return crawl.Spec{SearchSettings: crawl.SearchSettings{SearchRules: text}}
}

func TestOfASpec(t *testing.T) {
	if r, err := Of(&crawl.Spec{}); r != nil || err != nil {
		t.Errorf("without rules: %v, %v", r, err)
	}
	spec := specWith(sample)
	first, err := Of(&spec)
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := Of(&spec); again != first {
		t.Error("the same text was parsed twice")
	}
	if _, err := Of(new(specWith("x"))); err == nil || !strings.HasPrefix(err.Error(), "search rules:1:1: ") {
		t.Errorf("wrong rules: %v", err)
	}
}

// TestMistakes: each mistake has its line and column, and what to type.
func TestMistakes(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", `1:1: the file is empty; write for example "synonyms: |"`},
		{"- a", "1:1: the file is a list; write for example"},
		{"a", "1:1: the file is a text; write for example"},
		{"a: [", "1:1: this is not valid YAML"},
		{"weights: {}\n---\nweights: {}", "2:1: there is a second document in the file; write one set of rules"},
		{"synonym: a", `1:1: unknown key "synonym" of the file; did you mean synonyms?`},
		{"synonyms: |\n  a, b\n  c", `3:11: synonyms: "c" has no synonym; write for example "car, automobile"`},
		{"synonyms: >\n  a, b\n  c, d", `1:11: synonyms: ">" joins the lines to one; use "|"`},
		{"synonyms: {deutsch: 'a, b'}", `1:12: "deutsch" is no language; use a code of two letters such as de, or all`},
		{"synonyms: {de: {a: b}}", `1:16: synonyms: lines such as "car, automobile" are expected here`},
		{"synonyms: ['a => b => c']", `1:12: synonyms: there is a second "=>"; write two lines`},
		{"synonyms: ['=> b']", `1:12: synonyms: there is nothing before "=>"`},
		{"synonyms: ['a =>']", `1:12: synonyms: there is nothing at the end of the line`},
		{"synonyms: ['a,, b']", `1:12: synonyms: there is nothing before a comma`},
		{"synonyms: ['a, ;']", `1:12: synonyms: ";" consists of signs`},
		{"results: {query: a}", `1:10: results: a list is expected here; write for example "- {query: install`},
		{"results: [{pin: [https://x.example/]}]", `1:11: an entry of results has no query with words`},
		{"results: [{query: 'site:x.example', pin: [https://x.example/]}]", `has no query with words`},
		{"results: [{query: a}]", `1:11: the entry for "a" has no rule for its results; use pin, hide or boost`},
		{"results: [{query: a, match: word, pin: []}]", `1:29: match: unknown word "word"; did you mean words?`},
		{"results: [{query: a, pins: [x]}]", `1:22: unknown key "pins" of an entry of results; did you mean pin?`},
		{"results: [{query: a, pin: [x]}]", `1:28: pin: "x" is not a URL`},
		{"results: [{query: a, boost: [{url: https://x.example/, by: 11}]}]", `boost: by "11" is not a number from 0 to 10; use for example 0.5`},
		{"results: [{query: a, boost: [{url: https://x.example/}]}]", "boost needs url and by"},
		{"results: [{query: a, boost: [{url: https://x.example/, by: NaN}]}]", `by "NaN" is not a number`},
		{"results: [{query: a, pin: [https://x.example/], hide: [https://x.example/]}]", `is both pinned and hidden for "a"; leave one out`},
		{"results:\n- {query: install, pin: [https://x.example/]}\n- {query: Installs, pin: [https://x.example/]}", `3:3: "Installs" is about the same queries as the entry in line 2; merge them`},
		{"demote: [{site: 'a b', by: 1}]", `1:17: demote: "a b" is not a site; use for example docs.example.org`},
		{"demote: [{site: x.example, by: 2}]", `demote: by "2" is not a number from 0 to 1`},
		{"weights: {titles: 2}", `1:11: unknown key "titles" of weights; did you mean title?`},
		{"weights: {title: much}", `1:18: title "much" is not a number from 0 to 10`},
		{"weights: &a {title: 1}", "have a meaning in YAML that is not supported here"},
	} {
		_, err := Parse(c.text)
		if err == nil {
			t.Errorf("%q is accepted; want %s", c.text, c.want)
		} else if got := strings.TrimPrefix(err.Error(), "search.yaml:"); !strings.Contains(got, c.want) {
			t.Errorf("%q:\n%s\nwant\n%s", c.text, got, c.want)
		}
	}
}

// TestLimits: each limit is accepted, and one more is refused.
func TestLimits(t *testing.T) {
	repeat := func(n int, do func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(do(i))
		}
		return b.String()
	}
	urls := func(n int) string {
		return "[" + repeat(n, func(i int) string { return fmt.Sprintf("https://x.example/%d, ", i) }) + "]"
	}
	boost := func(n int) string {
		return "[" + repeat(n, func(i int) string { return fmt.Sprintf("{url: https://x.example/%d, by: 1}, ", i) }) + "]"
	}
	terms := func(n int, what string) string {
		return strings.TrimSuffix(repeat(n, func(i int) string { return fmt.Sprintf("%s%d, ", what, i) }), ", ")
	}
	for name, c := range map[string]struct {
		limit int
		text  func(n int) string
		want  string
	}{
		"file": {MaxFile, func(n int) string { return "weights: {}" + strings.Repeat("#", n-11) }, "at most 262144 are allowed"},
		"lines": {MaxLines, func(n int) string {
			return "synonyms: |\n" + repeat(n, func(i int) string { return fmt.Sprintf(" a,b%d\n", i) })
		}, "more than 10000 lines of synonyms"},
		"line":  {MaxLine, func(n int) string { return "synonyms: |\n a, " + strings.Repeat("b", n-3) + "\n" }, "the line has 4097 bytes; at most 4096"},
		"terms": {MaxTerms, func(n int) string { return "synonyms: |\n " + terms(n, "a") + "\n" }, "more than 100 words and phrases"},
		"sides": {MaxTerms, func(n int) string { return "synonyms: |\n " + terms(n-50, "a") + " => " + terms(50, "b") + "\n" }, "more than 100 words and phrases"},
		"words": {MaxWords, func(n int) string { return "synonyms: |\n " + strings.Repeat("a ", n) + " => b\n" }, "has 9 words; at most 8"},
		"results": {MaxResults, func(n int) string {
			return "results:\n" + repeat(n, func(i int) string { return fmt.Sprintf("- {query: a%d, pin: https://x.example/}\n", i) })
		}, "results has 1001 entries"},
		"pins":   {MaxPins, func(n int) string { return "results: [{query: a, pin: " + urls(n) + "}]" }, "pin has 21 entries"},
		"hidden": {MaxHidden, func(n int) string { return "results: [{query: a, hide: " + urls(n) + "}]" }, "hide has 101 entries"},
		"boosts": {MaxBoosts, func(n int) string { return "results: [{query: a, boost: " + boost(n) + "}]" }, "boost has 51 entries"},
		"demote": {MaxDemotions, func(n int) string {
			return "demote:\n" + repeat(n, func(i int) string { return fmt.Sprintf("- {site: x.example/%d, by: 1}\n", i) })
		}, "demote has 201 entries"},
		"text": {rulefile.MaxText, func(n int) string {
			return "results: [{query: " + strings.Repeat("a", n) + ", pin: https://x.example/}]"
		}, "query has 1025 bytes"},
	} {
		if name == "text" { // words of more than 64 bytes are no words
			c.text = func(n int) string {
				return "results: [{query: a" + strings.Repeat(" b", (n-1)/2) + strings.Repeat("c", (n-1)%2) + ", pin: https://x.example/}]"
			}
		}
		if _, err := Parse(c.text(c.limit)); err != nil && name != "line" {
			t.Errorf("%s: at the limit: %v", name, err)
		} else if name == "line" && strings.Contains(err.Error(), "bytes") {
			t.Errorf("%s: at the limit: %v", name, err)
		}
		if _, err := Parse(c.text(c.limit + 1)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: past the limit: %v, want %s", name, err, c.want)
		}
	}
	line := "car, automobile\n"
	file := line + strings.Repeat("#", MaxSynonymsFile-len(line))
	if _, err := ParseSynonyms("s.txt", file); err != nil {
		t.Errorf("a file of synonyms at the limit: %v", err)
	}
	if _, err := ParseSynonyms("s.txt", file+"#"); err == nil || !strings.Contains(err.Error(), "s.txt:1:1: the file has 1048577 bytes") {
		t.Errorf("a file of synonyms past the limit: %v", err)
	}
}

// The rules of a query have no more of anything than one entry may have, however many entries are
// about it.
func TestManyEntriesForOneQuery(t *testing.T) {
	var b strings.Builder
	b.WriteString("results:\n")
	for i := range 30 {
		fmt.Fprintf(&b, "- query: a%d\n  match: words\n  pin: [https://x.example/p%d]\n  hide: [", i, i)
		for j := range 10 {
			fmt.Fprintf(&b, "https://x.example/h%d-%d, ", i, j)
		}
		fmt.Fprintf(&b, "]\n  boost: [{url: https://x.example/%d, by: 2}, {url: https://y.example/%d, by: 2}]\n", i, i)
	}
	var typed strings.Builder
	for i := range 30 {
		fmt.Fprintf(&typed, "a%d ", i)
	}
	c := mustParse(t, b.String()).For(query.Parse(typed.String()))
	if len(c.Pins) != MaxPins || len(c.Hide) != MaxHidden || len(c.Boost) != MaxBoosts {
		t.Errorf("%d pins, %d hidden, %d boosts", len(c.Pins), len(c.Hide), len(c.Boost))
	}
}

// Parse never panics, its errors have places, and rules that it accepts can be used.
func FuzzParse(f *testing.F) {
	f.Add(sample, "install windows httpd")
	f.Add("synonyms: [a]", "")
	f.Fuzz(func(t *testing.T, text, typed string) {
		r, err := Parse(text)
		if err != nil {
			if e, ok := err.(*rulefile.Error); !ok || len(e.Mistakes) == 0 || !strings.HasPrefix(e.Mistakes[0], "search.yaml:") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		c := r.For(query.Parse(typed))
		if len(c.Pins) > MaxPins || len(c.Hide) > MaxHidden {
			t.Fatalf("%q, %q: %+v", text, typed, c)
		}
		r.Synonyms().Expand(strings.Fields(typed), nil)
	})
}
