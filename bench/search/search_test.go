package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The wanted pages are files of the installed packages, and neither half of the queries is small.
func TestQueries(t *testing.T) {
	total, seen := 0, map[string]bool{}
	for _, m := range slices.Concat(manuals, unseen) {
		qs, err := load(m)
		if err != nil {
			t.Fatal(err)
		}
		aside := 0
		for _, q := range qs {
			if q.aside() {
				aside++
			}
			if seen[m.name+q.text] {
				t.Errorf("%s: %q stands twice", m.name, q.text)
			}
			seen[m.name+q.text] = true
		}
		total += len(qs)
		if least := len(qs) * 2 / 5; aside < least || len(qs)-aside < least {
			t.Errorf("%s: %d of %d queries are set aside, want about a half", m.name, aside, len(qs))
		}
		t.Run(m.name, func(t *testing.T) {
			if _, err := os.Stat(m.dir); err != nil {
				t.Skipf("%s is not installed", m.pkg)
			}
			for _, q := range qs {
				for _, w := range q.wanted {
					if _, err := os.Stat(filepath.Join(m.dir, w)); err != nil || !strings.HasPrefix(w, "/") {
						t.Errorf("%q wants %s, which is no page: %v", q.text, w, err)
					}
				}
			}
		})
	}
	if total < 160 {
		t.Errorf("%d queries, want 160 at least", total)
	}
}

func TestRank(t *testing.T) {
	q := query{manual: manuals[1], text: "join paths", wanted: []string{"/library/os.path.html", "/a b.html"}}
	other, wanted := hit{urls: []string{"http://python.manual.test/library/os.html"}}, hit{urls: []string{"http://python.manual.test/library/os.path.html"}}
	ten := []hit{other, other, other, other, other, other, other, other, other, other}
	for i, c := range []struct {
		hits []hit
		want int
	}{
		{nil, 0},
		{[]hit{other, wanted, wanted}, 2},
		{append(ten[:9:9], wanted), 10},
		{append(ten, wanted), 0},
		{[]hit{{urls: []string{"http://postgresql.manual.test/library/os.path.html"}}}, 0},
		{[]hit{{urls: []string{"http://python.manual.test/x/library/os.path.html"}}}, 0},
		{[]hit{{urls: []string{"http://python.manual.test/copy.html", "http://python.manual.test/a%20b.html"}}}, 1},
	} {
		if got, _ := q.rank(c.hits, (&bench{}).one); got != c.want {
			t.Errorf("case %d: rank %d, want %d", i, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	tab := table{engines: []string{"a", "b"}}
	one, two := query{manual: manual{name: "one"}}, query{manual: manual{name: "two"}}
	for _, rank := range []int{1, 2, 6, 0} {
		tab.add(one, 0, rank, false, 0)
		tab.add(one, 1, 1, false, 2e6)
	}
	tab.add(two, 0, 1, false, 0)
	tab.add(two, 1, 5, false, 2e6)
	two.class = glossary
	tab.add(two, 0, 10, false, 0)
	tab.add(two, 1, 2, false, 0)
	var b bytes.Buffer
	tab.print(&b)
	want := `
| manual | queries | a: MRR | first | in five | b: MRR | first | in five |
|---|---:|---:|---:|---:|---:|---:|---:|
| one | 4 | 0.417 | 25 % | 50 % | 1.000 | 100 % | 100 % |
| two | 1 | 1.000 | 100 % | 100 % | 0.200 | 0 % | 100 % |
| **in all** | 5 | 0.533 | 40 % | 60 % | 0.840 | 80 % | 100 % |
| class: glossary | 1 | 0.100 | 0 % | 0 % | 0.500 | 0 % | 100 % |

CPU a query, as information: a 0.0 ms; b 2.0 ms;

`
	if b.String() != want {
		t.Errorf("table:\n%s\nwant:\n%s", b.String(), want)
	}
}

// Queries that are set aside are never listed, whatever flags are set.
func TestAsideIsNotListed(t *testing.T) {
	s, tab := settings{verbose: true, misses: true}, table{engines: []string{"none"}}
	for _, text := range []string{"pinsel", "lasso", "vacuum", "csv", "argparse", "memcpy"} {
		q := query{manual: manuals[0], text: text, wanted: []string{"/x.html"}}
		var b bytes.Buffer
		if err := s.ask(t.Context(), &b, &tab, []engine{unwanted{}}, q, false); err != nil {
			t.Fatal(err)
		}
		if listed := b.Len() > 0; listed == q.aside() {
			t.Errorf("%q: set aside %v, listed %v", text, q.aside(), listed)
		}
	}
}

// unwanted is an engine that finds a page that is never wanted.
type unwanted struct{}

func (unwanted) ask(context.Context, query, bool) ([]hit, error) {
	return []hit{{urls: []string{"http://postgresql.manual.test/y.html"}}}, nil
}

// A page is found by any word, and the title counts more than the text.
func TestBaseline(t *testing.T) {
	e, err := newBaseline(t.Context(), &bench{pages: []page{
		{"http://python.manual.test/text.html", "Other", "sorting, and how sorting is done"},
		{"http://python.manual.test/title.html", "Sorting", "something else, as long as the other"},
		{"http://postgresql.manual.test/other.html", "Sorting", "of another manual"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	q := query{manual: manuals[1], text: "how do I sort unheardof"}
	hits, err := e.ask(t.Context(), q, false)
	if err != nil || len(hits) != 2 || hits[0].urls[0] != "http://python.manual.test/title.html" {
		t.Errorf("hits %v, %v; want the page with the word in its title first, of two", hits, err)
	}
	if hits, err = e.ask(t.Context(), q, true); err != nil || len(hits) != 3 {
		t.Errorf("hits %v, %v; want all three", hits, err)
	}
}

// Files of queries may have classes, and name the section of a page that answers.
func TestClasses(t *testing.T) {
	classes := map[string]int{}
	for _, m := range unseen {
		qs, err := load(m)
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range qs {
			classes[q.class]++
			if len(q.anchors) > 0 && strings.Contains(q.wanted[0], "#") {
				t.Errorf("%q wants %q, want a path without a section", q.text, q.wanted[0])
			}
		}
	}
	for _, class := range []string{"words", "question", "other", "misspelt", "sign", "section", "language", "glossary"} {
		if classes[class] < 25 {
			t.Errorf("class %s: %d queries, want 25 at least", class, classes[class])
		}
	}
	if len(classes) != 8 {
		t.Errorf("classes %v, want eight", classes)
	}
}

// Ours is asked within the manual, in the reader's language if that is wanted, and its hits have
// all their addresses and the section.
func TestServed(t *testing.T) {
	var got *http.Request
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got = r; r.FormValue("q") == "bad" {
			http.Error(w, "no such query", http.StatusBadRequest)
			return
		}
		io.WriteString(w, `{"hits": [{"url": "http://a/1", "also": ["http://a/2"], "section": {"url": "http://a/1#x"}}, {"url": "http://a/3"}]}`)
	}))
	defer web.Close()
	q := query{manual: manuals[0], text: "a & b", wanted: []string{"/fr/a.html"}}
	for _, reader := range []bool{false, true} {
		hits, err := served{base: web.URL, reader: reader}.ask(t.Context(), q, !reader)
		if err != nil || len(hits) != 2 || !slices.Equal(hits[0].urls, []string{"http://a/1", "http://a/2"}) || hits[0].section != "http://a/1#x" || hits[1].section != "" {
			t.Errorf("hits %v, %v", hits, err)
		}
		words, lang := "a & b", ""
		if reader {
			words, lang = "a & b site:postgresql.manual.test", "fr"
		}
		if got.FormValue("q") != words || got.Header.Get("Accept-Language") != lang {
			t.Errorf("asked %q in %q, want %q in %q", got.FormValue("q"), got.Header.Get("Accept-Language"), words, lang)
		}
	}
	q.text = "bad"
	if _, err := (served{base: web.URL}).ask(t.Context(), q, true); err == nil || !strings.Contains(err.Error(), "no such query") {
		t.Errorf("error %v, want the server's", err)
	}
}

// The reader's language is that of the wanted page.
func TestReader(t *testing.T) {
	for path, want := range map[string]string{
		"/fr/howto/auth.html": "fr", "/pt-br/index.html": "pt", "/en-US/text/a.html": "en", "/gnucash-help-de/a.html": "de", "/library/csv.html": "en", "/mod/x.html": "en",
	} {
		if got := (query{wanted: []string{path}}).reader(); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if got := (query{manual: manual{name: "gimp-de"}, wanted: []string{"/a.html"}}).reader(); got != "de" {
		t.Errorf("gimp-de: %s, want de", got)
	}
}

// A hit names the section that answers if page and id are those of the query.
func TestNamedSection(t *testing.T) {
	q := query{manual: manuals[1], wanted: []string{"/a.html", "/b.html"}, anchors: []string{"/b.html#x"}}
	const host = "http://python.manual.test"
	for section, want := range map[string]bool{"": false, "#x": false, host + "/b.html": false, host + "/a.html#x": false, host + "/b.html#x": true} {
		rank, named := q.rank([]hit{{urls: []string{host + "/b.html"}, section: section}}, (&bench{}).one)
		if rank != 1 || named != want {
			t.Errorf("section %q: rank %d, named %v; want 1, %v", section, rank, named, want)
		}
	}
}

// Pages of one host with the same text are one page: any of them is wanted, and an answer has one.
func TestTwins(t *testing.T) {
	const host = "http://python.manual.test"
	b := bench{pages: []page{
		{host + "/en.html", "Sorting", "how to sort"},
		{host + "/de.html", "Sorting", "how to sort"},
		{host + "/other.html", "Sorting", "something else"},
		{"http://git.manual.test/en.html", "Sorting", "how to sort"},
	}}
	b.twins()
	var hits []hit
	for _, u := range []string{host + "/other.html", host + "/de.html", host + "/en.html", "http://git.manual.test/en.html"} {
		hits = append(hits, hit{urls: []string{u}})
	}
	got := b.distinct(hits)
	if len(got) != 3 || got[1].urls[0] != host+"/de.html" {
		t.Errorf("distinct hits %v, want three without the second copy", got)
	}
	q := query{manual: manuals[1], wanted: []string{"/en.html"}}
	if rank, _ := q.rank(got, b.one); rank != 2 {
		t.Errorf("rank %d, want 2: the copy is as good", rank)
	}
}

// A manual in parts serves its parts only, each file under its name, from a start page that is
// never a hit.
func TestSite(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"en/index.html", "en/a.html", "de/index.html", "fr/index.html"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("<title>"+name+"</title>"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, every := range []bool{false, true} {
		site, err := manual{dir: dir, parts: "en de", every: every}.site()
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(site)
		defer web.Close()
		for path, want := range map[string]int{"/": 200, "/en/index.html": 200, "/de/index.html": 200, "/en/a.html": 200, "/en/": 404, "/fr/index.html": 404, "/x": 404} {
			resp, err := http.Get(web.URL + path)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s: %s, want %d", path, resp.Status, want)
			}
			if kind := resp.Header.Get("Content-Type"); want == 200 && path != "/" && kind != "text/html" {
				t.Errorf("%s is %q, want text/html without a charset", path, kind)
			}
			if path == "/" && (!strings.Contains(string(body), "noindex") || strings.Contains(string(body), "/en/a.html") != every) {
				t.Errorf("every page: %v, start page:\n%s", every, body)
			}
		}
	}
}

// A corpus' synonyms are about thirty lines in Solr's format.
func TestSynonyms(t *testing.T) {
	files, err := filepath.Glob("synonyms/*.txt")
	if err != nil || len(files) != 3 {
		t.Fatalf("%d files, %v; want three", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			n++
			from, to, oneWay := strings.Cut(line, "=>")
			if oneWay && (strings.TrimSpace(from) == "" || strings.TrimSpace(to) == "" || strings.Contains(to, "=>")) || !oneWay && !strings.Contains(line, ",") {
				t.Errorf("%s: %q is neither a, b nor a => b", name, line)
			}
		}
		if n < 25 || n > 40 {
			t.Errorf("%s has %d lines, want about thirty", name, n)
		}
	}
}
