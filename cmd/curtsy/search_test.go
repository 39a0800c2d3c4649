package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/curtsy/curtsy/internal/crawl"
)

// What belongs to a query is told from flags by how it begins.
func TestWordsLast(t *testing.T) {
	var a app
	cmd := a.searchCommand()
	cmd.InitDefaultHelpFlag()
	for typed, want := range map[string]string{
		"vacuum -full":                     "-- vacuum -full",
		"-full vacuum":                     "-- -full vacuum",
		"--limit 3 vacuum -full --json":    "--limit 3 --json -- vacuum -full",
		"vacuum --limit=3 -full":           "--limit=3 -- vacuum -full",
		"--json vacuum":                    "--json -- vacuum",
		"vacuum --dir -x -full":            "--dir -x -- vacuum -full",
		"a - b":                            "-- a - b",
		"a -- --limit -h":                  "-- a --limit -h",
		"-h":                               "-h --",
		"a -hx --help":                     "--help -- a -hx",
		"a --limti 3":                      "--limti -- a 3",
		"a --limit":                        "--limit",
		"a −full":                          "-- a −full",
		"":                                 "--",
		"site:example.org -lang:de -\"a b": "-- site:example.org -lang:de -\"a b",
	} {
		if got := strings.Join(wordsLast(cmd.Flags(), strings.Fields(typed)), " "); got != want {
			t.Errorf("%s: %s, want %s", typed, got, want)
		}
	}
}

// What is typed wrong is told before anything is asked.
func TestSearchTypedWrong(t *testing.T) {
	for typed, says := range map[string]string{
		"":                             "a search needs words",
		"-a -b":                        "only excludes words",
		"--limti 3 x":                  "did you mean --limit",
		"--limit 0 x":                  "use 1 to 1000",
		"--limit 1001 x":               "use 1 to 1000",
		"--limit":                      "--limit needs a value",
		"--page -1 x":                  "--page 2",
		"--offset -1 x":                "--offset cannot be negative",
		"--page 2 --offset 3 x":        "use one of them",
		"--page 101 x":                 "first 1000 hits",
		"--page 9223372036854775807 x": "first 1000 hits",
		"--offset 991 x":               "first 1000 hits",
		"--json --facets x":            "--facets",
	} {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append([]string{"search"}, strings.Fields(typed)...), nil, &out, &errs)
		if code != exitUsage || !strings.Contains(errs.String(), says) {
			t.Errorf("search %s: exit code %d\n%s", typed, code, &errs)
		}
	}
	for _, typed := range []string{"--page 100 x", "--offset 990 x", "-Wall", "site:example.org", "x --limit 1000 -full"} {
		var out, errs bytes.Buffer
		code := runs(t, t.Context(), append([]string{"search", "--dir", t.TempDir()}, strings.Fields(typed)...), nil, &out, &errs)
		if code != exitFailed || !strings.Contains(errs.String(), "curtsy crawl --dir") {
			t.Errorf("search %s: exit code %d\n%s", typed, code, &errs)
		}
	}
}

func TestSearchHelp(t *testing.T) {
	out := curtsy(t, 0, "search", "--help")
	for _, says := range []string{"site:example.org", "title:word", "curtsy search -- ", "everything after --"} {
		if !strings.Contains(out, says) {
			t.Errorf("the help does not say %s:\n%s", says, out)
		}
	}
}

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
				Signals: []crawl.Signal{{Name: "words", Value: 3.25, Weight: 2, Points: 6.5}, {Name: "title", Value: 1, Weight: 1, Points: 1}},
			},
			{URL: "https://a.example/2", Score: 1},
		},
		Total: 1234, Loosened: "No page has all words: shown are pages with some\x1b[31m.", Suggestion: "vacuum\u202e freeze", Behind: 2,
		Facets: map[string][]crawl.FacetValue{
			"year": {{Value: "2024", Count: 1}}, "site": {{Value: "docs.example.org", Count: 1200}, {Value: "example.org", Count: 34}},
			"zone": {{Value: "\x1b[1mx", Count: 5}}, "type": {{Value: "application/pdf", Count: 3}}, "lang": nil,
		},
	}
}

func TestPrintAnswer(t *testing.T) {
	var out, errs bytes.Buffer
	a := &app{stdout: &out, stderr: &errs}
	ans := madeUp()
	o := asking{limit: 2, offset: 10, facets: true}
	a.printReading(ans)
	a.printAnswer(ans, o)
	wantOut := `11. Vacuum
   https://a.example/1
   2024-05-01 · to [2Jfreeze old rows, vacuum
   also at https://b.example/1
  SIGNAL  VALUE  WEIGHT  POINTS
  words   3.250  2.000   6.500
  title   1.000  1.000   1.000
  score                  7.500
12. (no title)
   https://a.example/2
NARROW BY                           PAGES
site:docs.example.org               1,200
site:example.org                    34
type:application/pdf                3
after:2024-01-01 before:2025-01-01  1
zone [1mx                           5
`
	if out.String() != wantOut {
		t.Errorf("standard output is\n%s, want\n%s", &out, wantOut)
	}
	wantErrs := "No page has all words: shown are pages with some[31m.\ndid you mean: vacuum freeze\nthe index is 2 pages behind the crawl\n" +
		"11 to 12 of about 1,234 pages; the next: --page 7\n"
	if errs.String() != wantErrs {
		t.Errorf("standard error is\n%s, want\n%s", &errs, wantErrs)
	}
}

// What was asked for stands out on a terminal, and nowhere else.
func TestBold(t *testing.T) {
	show := func(w interface {
		Write([]byte) (int, error)
		String() string
	}) string {
		(&app{stdout: w, stderr: new(bytes.Buffer)}).printHits(madeUp(), 0)
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
		want                string
	}{
		{1, 10, 0, 1, false, "1 page"},
		{10, 10, 0, 10, false, "10 pages"},
		{3, 10, 10, 13, false, "11 to 13 of 13 pages"},
		{10, 10, 0, 1234, false, "1 to 10 of about 1,234 pages; the next: --page 2"},
		{10, 10, 0, 10, true, "1 to 10 of at least 10 pages; the next: --page 2"},
		{10, 10, 5, 100, true, "6 to 15 of at least 100 pages; the next: --offset 15"},
		{10, 10, 990, 5000, false, "991 to 1000 of about 5,000 pages"},
		{7, 10, 0, 9, false, "1 to 7 of about 9 pages"},
	} {
		got := extent(crawl.SearchAnswer{Hits: make([]crawl.Hit, c.hits), Total: c.total, AtLeast: c.atLeast}, asking{limit: c.limit, offset: c.offset})
		if got != c.want {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

func TestCleanMarked(t *testing.T) {
	for _, c := range []struct {
		s     string
		marks [][2]int
		want  string
	}{
		{"a b c", [][2]int{{2, 3}}, "a <b> c"},
		{"a b c", [][2]int{{0, 1}, {4, 5}}, "<a> b <c>"},
		{"a b c", [][2]int{{0, 3}, {2, 5}}, "<a b c>"},
		{"  a ", [][2]int{{0, 4}}, "<a>"},
		{"a\n\tb", [][2]int{{0, 1}, {3, 4}}, "<a>  <b>"},
		{"\x1b[1mä\u200b", [][2]int{{0, 1}, {4, 9}}, "[1m<ä>"},
		{"ab", [][2]int{{-5, 1}, {1, 0}, {7, 9}, {2, 2}}, "<a>b"},
		{"\xff", [][2]int{{0, 1}}, "<\ufffd>"},
		{"", [][2]int{{0, 1}}, ""},
	} {
		if got := cleanMarked(c.s, c.marks, "<", ">"); got != c.want {
			t.Errorf("%q %v: %q, want %q", c.s, c.marks, got, c.want)
		}
	}
}

// Marks change nothing of what is shown, and come in pairs.
func FuzzCleanMarked(f *testing.F) {
	f.Add("a \x1b b\n", 0, 3, 2, 9)
	f.Fuzz(func(t *testing.T, s string, a, b, c, d int) {
		marks := [][2]int{{a, b}, {c, d}}
		if got := cleanMarked(s, marks, "", ""); got != clean(s) {
			t.Fatalf("%q became %q", clean(s), got)
		}
		const on, off = "\x01", "\x02"
		got := cleanMarked(s, marks, on, off)
		if strings.NewReplacer(on, "", off, "").Replace(got) != clean(s) {
			t.Fatalf("%q became %q", clean(s), got)
		}
		inside := false
		for _, r := range got {
			switch {
			case r == '\x01' && !inside, r == '\x02' && inside:
				inside = !inside
			case unicode.IsControl(r):
				t.Fatal(fmt.Sprintf("%q", got))
			}
		}
		if inside {
			t.Fatalf("%q does not end what it began", got)
		}
	})
}
