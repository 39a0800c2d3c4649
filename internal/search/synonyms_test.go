package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/searchrules"
	"github.com/curtsy/curtsy/pkg/canon"
)

// askBy asks several indexes together by search rules.
func askBy(t testing.TB, rules string, r crawl.SearchRequest, all ...*Index) crawl.SearchAnswer {
	t.Helper()
	parsed, err := searchrules.Parse(rules)
	if err != nil {
		t.Fatal(err)
	}
	a, err := Run(t.Context(), r, fieldsOfTests, parsed, local(all))
	if err != nil {
		t.Fatalf("search %q: %v", r.Query, err)
	}
	return a
}

// paths are the paths of the hits of an answer.
func paths(a crawl.SearchAnswer) string {
	var all []string
	for _, h := range a.Hits {
		all = append(all, canon.URL(h.URL).Path())
	}
	return strings.Join(all, " ")
}

const synonymRules = `synonyms:
  all: |
    http daemon, httpd => apache, web server
    car, automobile, motor vehicle
    oom => out of memory
    to be => existence
    C++ => cpp
    kite => unheard
  de: [ "Wagen, Karre" ]
`

func synonymPages(t *testing.T) *fixture {
	f := newFixture(t)
	f.add(
		page("https://docs.example/apache", "en", "Apache", "<p>How to restart Apache after a change of its configuration."),
		page("https://docs.example/daemon", "en", "The HTTP daemon", "<p>The http daemon, and how to restart it."),
		page("https://docs.example/servers", "en", "Web servers", "<p>A list of web servers."),
		page("https://docs.example/car", "en", "Car", "<p>The car has four wheels."),
		page("https://docs.example/automobile", "en", "Automobile", "<p>An automobile with wheels."),
		page("https://docs.example/motor", "en", "Vehicles", "<p>Each motor vehicle has a tax. There are motors."),
		page("https://docs.example/memory", "en", "Errors", "<p>The process is out of memory."),
		page("https://docs.example/exist", "en", "Existence", "<p>Existence of files."),
		page("https://docs.example/cpp", "en", "cpp", "<p>The cpp manual."),
		page("https://docs.example/karre", "de", "Karre", "<p>Die Karre steht im Hof, und die Karre ist alt."),
		page("https://docs.example/kite", "en", "Kite", "<p>A kite flies."),
	)
	return f
}

func TestSynonyms(t *testing.T) {
	f := synonymPages(t)
	for typed, want := range map[string]string{
		"httpd":               "/apache /servers",
		"restart httpd":       "/apache /servers /daemon",
		"http daemon":         "/daemon /apache /servers", // what was typed is first
		"apache":              "/apache",                  // one-way
		"cars":                "/car /automobile /motor",
		"motor vehicle":       "/motor /car /automobile",
		"vehicle tax":         "/motor",
		"oom":                 "/memory",
		"c++":                 "/cpp",
		"to be":               "/exist /daemon /apache",
		`"car"`:               "/car",
		"title:car":           "/car",
		"automobi*":           "/automobile",
		"wheels -car":         "/automobile", // what is excluded is not expanded
		"kite OR oom":         "/memory /kite",
		"httpd lang:de":       "",
		"wagen":               "/karre",
		"wagen lang:de":       "/karre",
		"wagen -lang:fr":      "/karre",
		"site:docs.example x": "",
	} {
		got := paths(askBy(t, synonymRules, crawl.SearchRequest{Query: typed}, f.Index))
		if typed == "kite OR oom" {
			got = strings.Join(slices.Sorted(strings.FieldsSeq(got)), " ")
			want = strings.Join(slices.Sorted(strings.FieldsSeq(want)), " ")
		}
		first, _, _ := strings.Cut(want, " ")
		words := slices.Sorted(strings.FieldsSeq(want))
		if !slices.Equal(slices.Sorted(strings.FieldsSeq(got)), words) || !strings.HasPrefix(got, first) {
			t.Errorf("%q finds %s, want %s", typed, got, want)
		}
	}
	if got := paths(askBy(t, synonymRules, crawl.SearchRequest{Query: "wagen", Languages: []string{"en"}, Verbatim: true}, f.Index)); got != "" {
		t.Errorf("an English reader finds %s for a word with synonyms in German only", got)
	}
	if got := paths(askBy(t, "weights: {}", crawl.SearchRequest{Query: "oom", Verbatim: true}, f.Index)); got != "" {
		t.Errorf("without synonyms oom finds %s", got)
	}
}

// The words that were typed are better than synonyms, however rare these are, and a page with a
// synonym of two words lacks none of them.
func TestSynonymsWeighLess(t *testing.T) {
	f := synonymPages(t)
	a := askBy(t, synonymRules, crawl.SearchRequest{Query: "http daemon", Explain: true}, f.Index)
	for _, h := range a.Hits {
		for _, s := range h.Signals {
			if s.Name == "missing" && s.Value != 0 || s.Name == "words" && s.Value > 1 {
				t.Errorf("%s: signal %s is %v", h.URL, s.Name, s.Value)
			}
		}
	}
	if len(a.Hits) != 3 || a.Loosened != "" {
		t.Errorf("%d hits, %q", len(a.Hits), a.Loosened)
	}
	if h := a.Hits[1]; h.Snippet == nil || len(h.Marks) == 0 {
		t.Errorf("the synonym is not marked: %+v", h)
	}
	p := planOf(query.Parse("car httpd"), nil)
	rules, err := searchrules.Parse("synonyms: |\n" + strings.Repeat(" car, "+strings.Join(manyWords(90), ", ")+"\n", 1))
	if err != nil {
		t.Fatal(err)
	}
	p.tune(query.Parse("car httpd"), nil, rules)
	if n := len(p.Clauses[0].Any); n != 1+maxSynonyms {
		t.Errorf("a clause has %d matches, want %d", n, 1+maxSynonyms)
	}
}

// manyWords are n different words.
func manyWords(n int) (words []string) {
	for i := range n {
		words = append(words, "w"+strings.Repeat("x", i/26)+string(rune('a'+i%26)))
	}
	return words
}

// An answer with synonyms is the same on any number of shards.
func TestSynonymsOnShards(t *testing.T) {
	whole := synonymPages(t)
	a, b := newFixture(t), newFixture(t)
	a.add(page("https://docs.example/apache", "en", "Apache", "<p>How to restart Apache after a change of its configuration."))
	b.add(
		page("https://docs.example/daemon", "en", "The HTTP daemon", "<p>The http daemon, and how to restart it."),
		page("https://docs.example/servers", "en", "Web servers", "<p>A list of web servers."),
	)
	one := paths(askBy(t, synonymRules, crawl.SearchRequest{Query: "http daemon"}, whole.Index))
	if two := paths(askBy(t, synonymRules, crawl.SearchRequest{Query: "http daemon"}, a.Index, b.Index)); one != two {
		t.Errorf("one shard: %s; two: %s", one, two)
	}
}
