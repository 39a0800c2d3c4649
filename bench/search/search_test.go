package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The wanted pages are files of the installed packages, and neither half of the queries is small.
func TestQueries(t *testing.T) {
	total, seen := 0, map[string]bool{}
	for _, m := range manuals {
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
	q := query{manuals[1], "join paths", []string{"/library/os.path.html", "/a b.html"}}
	other, wanted := hit{"http://python.manual.test/library/os.html"}, hit{"http://python.manual.test/library/os.path.html"}
	ten := []hit{other, other, other, other, other, other, other, other, other, other}
	for i, c := range []struct {
		hits []hit
		want int
	}{
		{nil, 0},
		{[]hit{other, wanted, wanted}, 2},
		{append(ten[:9:9], wanted), 10},
		{append(ten, wanted), 0},
		{[]hit{{"http://postgresql.manual.test/library/os.path.html"}}, 0},
		{[]hit{{"http://python.manual.test/x/library/os.path.html"}}, 0},
		{[]hit{{"http://python.manual.test/copy.html", "http://python.manual.test/a%20b.html"}}, 1},
	} {
		if got := q.rank(c.hits); got != c.want {
			t.Errorf("case %d: rank %d, want %d", i, got, c.want)
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
	want := `
| manual | queries | a: MRR | first | in five | b: MRR | first | in five |
|---|---:|---:|---:|---:|---:|---:|---:|
| one | 4 | 0.417 | 25 % | 50 % | 1.000 | 100 % | 100 % |
| two | 1 | 1.000 | 100 % | 100 % | 0.200 | 0 % | 100 % |
| **in all** | 5 | 0.533 | 40 % | 60 % | 0.840 | 80 % | 100 % |

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
		q := query{manuals[0], text, []string{"/x.html"}}
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
	return []hit{{"http://postgresql.manual.test/y.html"}}, nil
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
	if err != nil || len(hits) != 2 || hits[0][0] != "http://python.manual.test/title.html" {
		t.Errorf("hits %v, %v; want the page with the word in its title first, of two", hits, err)
	}
	if hits, err = e.ask(t.Context(), q, true); err != nil || len(hits) != 3 {
		t.Errorf("hits %v, %v; want all three", hits, err)
	}
}
