package look

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/cmd/curtsy/internal/app"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
)

// screen is a terminal.
type screen struct{ bytes.Buffer }

func (*screen) Terminal() bool { return true }

func madeUp() crawl.SearchAnswer {
	snippet := "to \x1b[2Jfreeze \u202eold rows,\nvacuum "
	at := func(w string) [2]int { i := strings.Index(snippet, w); return [2]int{i, i + len(w)} }
	return crawl.SearchAnswer{
		Hits: []crawl.Hit{
			{
				URL: "https://a.example/1", Title: "Vacu\x07um", Snippet: &snippet, Marks: [][2]int{at("freeze"), at("vacuum")}, Score: 7.5,
				Date: crawl.Date{Time: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)}, Also: []string{"https://b.example/1"},
				Section:      &crawl.Section{Title: "Free\x1bzing", URL: "https://a.example/1#freeze"},
				Translations: []crawl.Translation{{Lang: "de", URL: "https://a.example/de/1"}, {Lang: "fr", URL: "https://a.example/fr/1\x1b"}},
				Signals:      []crawl.Signal{{Name: "words", Value: 3.25, Weight: 2, Points: 6.5}, {Name: "title", Value: 1, Weight: 1, Points: 1}},
			},
			{URL: "https://a.example/2", Score: 1, Description: "What it\x1b is", Fields: crawl.Fields{
				{Name: "kind", Many: true, Values: []string{"a\x1b[2J", "b"}}, {Name: "released", Values: []string{"2024-05-01T00:00:00Z"}},
			}},
		},
		Total: 1234, Next: "c", Loosened: "No page has all words: shown are pages with some\x1b[31m.", Suggestion: "vacuum\u202e freeze", Corrected: "vacuum\x1b", Behind: 2,
		Facets: map[string][]crawl.FacetValue{
			"year": {{Value: "2024", Count: 1}}, "site": {{Value: "docs.example.org", Count: 1200}, {Value: "example.org", Count: 34}},
			"zone": {{Value: "\x1b[1mx", Count: 5}}, "kind": {{Value: "SQL command", Count: 2}}, "type": {{Value: "application/pdf", Count: 3}}, "lang": nil,
		},
	}
}

func TestPrintAnswer(t *testing.T) {
	var out, errs bytes.Buffer
	a := &commands{&app.App{Stdout: &out, Stderr: &errs}}
	ans := madeUp()
	o := asking{limit: 2, offset: 10, facets: true}
	a.printReading(ans)
	a.printAnswer(ans, o, query.Schema{"kind": crawl.FieldKeyword})
	wantOut := `11. Vacuum
   https://a.example/1
   section Freezing: https://a.example/1#freeze
   2024-05-01 · to [2Jfreeze old rows, vacuum
   also at https://b.example/1
   also in de https://a.example/de/1, fr https://a.example/fr/1
  SIGNAL  VALUE  WEIGHT  POINTS
  words   3.250  2.000   6.500
  title   1.000  1.000   1.000
  score                  7.500
12. (no title)
   https://a.example/2
   What it is
   kind: a[2J; b | released: 2024-05-01
NARROW BY                           PAGES
site:docs.example.org               1,200
site:example.org                    34
type:application/pdf                3
after:2024-01-01 before:2025-01-01  1
kind:"SQL command"                  2
zone [1mx                           5
`
	if out.String() != wantOut {
		t.Errorf("standard output is\n%s, want\n%s", &out, wantOut)
	}
	wantErrs := "No page has all words: shown are pages with some[31m.\nshowing results for vacuum; --verbatim searches as typed\ndid you mean: vacuum freeze\nthe index is 2 pages behind the crawl\n" +
		"11 to 12 of about 1,234 pages; the next: --page 7\n"
	if errs.String() != wantErrs {
		t.Errorf("standard error is\n%s, want\n%s", &errs, wantErrs)
	}
}

// Words of the query are bold on a terminal, and nowhere else.
func TestBold(t *testing.T) {
	show := func(w interface {
		Write([]byte) (int, error)
		String() string
	}) string {
		PrintHits(&app.App{Stdout: w, Stderr: new(bytes.Buffer)}, madeUp(), 0)
		return w.String()
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm")
	if got := show(&screen{}); !strings.Contains(got, "to [2J\x1b[1mfreeze\x1b[0m old rows, \x1b[1mvacuum\x1b[0m\n") || strings.Count(got, "\x1b") != 4 {
		t.Errorf("on a terminal: %q", got)
	}
	if got := show(&bytes.Buffer{}); strings.Contains(got, "\x1b") {
		t.Errorf("in a file: %q", got)
	}
	t.Setenv("NO_COLOR", "1")
	if got := show(&screen{}); strings.Contains(got, "\x1b") {
		t.Errorf("with NO_COLOR: %q", got)
	}
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "dumb")
	if got := show(&screen{}); strings.Contains(got, "\x1b") {
		t.Errorf("on a terminal that knows no bold: %q", got)
	}
}

func TestExtent(t *testing.T) {
	for _, c := range []struct {
		hits, limit, offset int
		total               int64
		atLeast             bool
		sort                string
		want                string
	}{
		{1, 10, 0, 1, false, "", "1 page"},
		{10, 10, 0, 10, false, "", "10 pages"},
		{3, 10, 10, 13, false, "", "11 to 13 of 13 pages"},
		{10, 10, 0, 1234, false, "", "1 to 10 of about 1,234 pages; the next: --page 2"},
		{10, 10, 0, 10, true, "", "1 to 10 of at least 10 pages; the next: --page 2"},
		{10, 10, 5, 100, true, "", "6 to 15 of at least 100 pages; the next: --offset 15"},
		{10, 10, 280, 5000, false, "", "281 to 290 of about 5,000 pages; the next: --page 30"},
		{10, 10, 290, 5000, false, "kind", "291 to 300 of about 5,000 pages; the next: --page 31"},
		{10, 10, 990, 5000, false, "kind", "991 to 1000 of about 5,000 pages; the next: --cursor c"},
		{7, 10, 0, 9, false, "", "1 to 7 of about 9 pages"},
	} {
		next := ""
		if c.atLeast || c.hits == c.limit && c.total > int64(c.offset+c.hits) {
			next = "c"
		}
		got := extent(crawl.SearchAnswer{Hits: make([]crawl.Hit, c.hits), Total: c.total, AtLeast: c.atLeast, Next: next}, asking{limit: c.limit, offset: c.offset, sort: c.sort})
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
	// A cursor leads on where numbers do not.
	for _, c := range []struct {
		hits, offset int
		cursor, next string
		want         string
	}{
		{10, 0, "", "c1", "1 to 10 of about 5,000 pages; the next: --page 2"},
		{10, 990, "", "c1", "991 to 1000 of about 5,000 pages; the next: --cursor c1"},
		{10, 0, "c1", "c2", "10 pages more; the next: --cursor c2"},
		{4, 0, "c2", "", "4 pages more"},
	} {
		ans := crawl.SearchAnswer{Hits: make([]crawl.Hit, c.hits), Total: 5000, Next: c.next}
		if got := extent(ans, asking{limit: 10, offset: c.offset, cursor: c.cursor}); got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestCheckSearch(t *testing.T) {
	long := strings.Repeat("x", crawl.MaxCursor)
	for _, c := range []struct {
		o    asking
		says string // "": it is right
	}{
		{asking{limit: 10, cursor: long, perSite: 1, languages: strings.Split("de,fr,en,es,it,ja,cs,haw", ",")}, ""},
		{asking{limit: 10, cursor: long + "x"}, "copy it again"},
		{asking{limit: 10, cursor: "x", page: 2}, "use --cursor alone"},
		{asking{limit: 10, cursor: "x", offset: 2}, "use --cursor alone"},
		{asking{limit: 10, page: 101}, "go on with --cursor"},
		{asking{limit: 10, perSite: -1}, "--per-site 2"},
		{asking{limit: 10, languages: []string{"german"}}, "--language de,fr"},
		{asking{limit: 10, languages: strings.Split("de,fr,en,es,it,ja,cs,vi,pl", ",")}, "at most 8"},
	} {
		err := c.o.check("words")
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}
