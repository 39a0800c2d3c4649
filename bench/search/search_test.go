package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The wanted pages are files of the installed packages, and neither half of the queries is small.
func TestQueries(t *testing.T) {
	total := 0
	for _, m := range manuals {
		qs, err := load(m)
		if err != nil {
			t.Fatal(err)
		}
		total += len(qs)
		aside := 0
		for _, q := range qs {
			if q.aside() {
				aside++
			}
		}
		if least := len(qs) * 2 / 5; aside < least || len(qs)-aside < least {
			t.Errorf("%s: %d of %d queries are set aside, want about a half", m.name, aside, len(qs))
		}
		t.Run(m.name, func(t *testing.T) {
			if err := installed([]manual{m}); err != nil {
				t.Skip(err)
			}
			for _, q := range qs {
				for _, w := range q.wanted {
					if _, err := os.Stat(filepath.Join(m.dir, filepath.FromSlash(w))); err != nil || !strings.HasPrefix(w, "/") {
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
	q := query{manuals[1], "join paths", []string{"/library/os.path.html", "/a b.html"}}
	for _, c := range []struct {
		hits []hit
		want int
	}{
		{nil, 0},
		{[]hit{{"http://python.manual.test/library/os.html"}, {"http://python.manual.test/library/os.path.html"}}, 2},
		{[]hit{{"http://postgresql.manual.test/library/os.path.html"}}, 0},
		{[]hit{{"http://python.manual.test/x/library/os.path.html"}}, 0},
		{[]hit{{"http://python.manual.test/copy.html", "http://python.manual.test/a%20b.html"}}, 1},
	} {
		if got := q.rank(c.hits); got != c.want {
			t.Errorf("rank(%v) = %d, want %d", c.hits, got, c.want)
		}
	}
}

func TestTable(t *testing.T) {
	tab := table{engines: []string{"a", "b"}}
	for _, rank := range []int{1, 2, 6, 0} {
		tab.add("one", 0, rank, 0)
		tab.add("one", 1, 1, 2e6)
	}
	tab.add("two", 0, 1, 0)
	tab.add("two", 1, 5, 2e6)
	var b bytes.Buffer
	tab.print(&b)
	for _, line := range []string{
		"| one | 4 | 0.417 | 25 % | 50 % | 1.000 | 100 % | 100 % |",
		"| two | 1 | 1.000 | 100 % | 100 % | 0.200 | 0 % | 100 % |",
		"| **in all** | 5 | 0.533 | 40 % | 60 % | 0.840 | 80 % | 100 % |",
		"a 0.0 ms; b 2.0 ms;",
	} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("no line %q in:\n%s", line, b.String())
		}
	}
}

// What is set aside does not show, however much is asked to be listed.
func TestAsideIsNotListed(t *testing.T) {
	s := settings{verbose: true, misses: true}
	for _, text := range []string{"pinsel", "lasso", "vacuum", "csv", "argparse", "memcpy"} {
		q := query{manuals[0], text, []string{"/x.html"}}
		var b bytes.Buffer
		tab := table{engines: []string{"none"}}
		if err := s.ask(context.Background(), &b, &tab, []engine{finds{}}, q, false); err != nil {
			t.Fatal(err)
		}
		if listed := b.Len() > 0; listed == q.aside() {
			t.Errorf("%q: set aside %v, listed %v", text, q.aside(), listed)
		}
	}
}

// finds is an engine that finds a page nobody wants.
type finds struct{}

func (finds) ask(context.Context, query, bool) ([]hit, time.Duration, error) {
	return []hit{{"http://postgresql.manual.test/y.html"}}, 0, nil
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"-half both": "-half", "-shards 0": "-shards", "-manuals nosuch": "-manuals", "more": "unexpected",
	} {
		if _, err := parse(strings.Fields(args), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%s) = %v, want an error that names %s", args, err, want)
		}
	}
}

// A page of the baseline is found by any word, and the title counts more than the text.
func TestBaseline(t *testing.T) {
	b := bench{dir: t.TempDir(), shards: 4}
	pages := `{"url":"http://python.manual.test/text.html","title":"Other","text":"sorting, and how sorting is done"}
{"url":"http://python.manual.test/title.html","title":"Sorting","text":"something else, as long as the other"}
{"url":"http://postgresql.manual.test/other.html","title":"Sorting","text":"of another manual"}
`
	if err := os.WriteFile(b.pages(), []byte(pages), 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := newSQLite(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	hits, _, err := e.ask(t.Context(), query{manual: manuals[1], text: "how do I sort unheardof"}, false)
	if err != nil || len(hits) != 2 || hits[0][0] != "http://python.manual.test/title.html" {
		t.Errorf("hits %v, %v; want the page with the word in its title first, of two", hits, err)
	}
	if hits, _, err = e.ask(t.Context(), query{manual: manuals[1], text: "sort"}, true); err != nil || len(hits) != 3 {
		t.Errorf("hits %v, %v; want all three", hits, err)
	}
}
