package datatxt

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// The example under the table of formats §5.4.
func TestDatatxt_5_4_Example(t *testing.T) {
	d := one(t, "- path: iris/data.csv\n  rows: 150\n")
	if !slices.Equal(d.URLs, []string{"https://d.example/iris/data.csv"}) || d.Name != "data.csv" || !d.NameImplied ||
		d.Type != "files" || !d.TypeImplied || number(d.Rows) != "150" || d.RowsText != "150" || d.Cols != nil ||
		d.Origin != "https://d.example:443" || d.External || !d.Allowed || d.Line != 1 {
		t.Errorf("%+v", d)
	}
}

// The dataset record of formats §5.4, row by row.
func TestDatatxt_5_4_DatasetRecord(t *testing.T) {
	d := one(t, `- path: [iris/a.csv, iris/b.csv]
  name: iris
  title: Iris
  description: >
    Two
    lines
  license: CC0
  source: R. A. Fisher
  type: table
  rows: "150"
  cols: five
  columns:
    - {name: Species, type: factor, description: which one}
    - name: Length
  keywords: [a, b]
  contact: {name: me, since: 007}
  Rows per day: 1
`)
	if !slices.Equal(d.URLs, []string{"https://d.example/iris/a.csv", "https://d.example/iris/b.csv"}) {
		t.Errorf("URLs = %q", d.URLs)
	}
	if d.Name != "iris" || d.NameImplied || d.Title != "Iris" || d.Description != "Two lines" || d.License != "CC0" ||
		d.Source != "R. A. Fisher" || d.Type != "table" || d.TypeImplied {
		t.Errorf("text = %+v", d)
	}
	if number(d.Rows) != "150" || d.RowsText != "150" || d.Cols != nil || d.ColsText != "five" {
		t.Errorf("rows %s %q, cols %s %q", number(d.Rows), d.RowsText, number(d.Cols), d.ColsText)
	}
	if !slices.Equal(d.Columns, []Column{{"Species", "factor", "which one"}, {"Length", "", ""}}) {
		t.Errorf("columns = %+v", d.Columns)
	}
	var extra []string
	for _, e := range d.Extra {
		extra = append(extra, fmt.Sprintf("%d %s=%s", e.Line, e.Name, e.Value))
	}
	if want := []string{"15 keywords=[a, b]", "16 contact={name: me, since: 007}", "17 Rows per day=1"}; !slices.Equal(extra, want) {
		t.Errorf("extra = %q, want %q", extra, want)
	}
}

func TestDatatxt_5_4_URLs(t *testing.T) {
	for path, want := range map[string]string{
		"iris/data.csv":            "https://d.example/iris/data.csv",
		"/iris/data.csv":           "https://d.example/iris/data.csv",
		"./a/../b.csv":             "https://d.example/b.csv",
		"../../b.csv":              "https://d.example/b.csv",
		"https://x.example/d.csv":  "https://x.example/d.csv",
		"HTTP://X.example/d.csv":   "http://X.example/d.csv",
		"//x.example/d.csv":        "https://x.example/d.csv",
		"my data.csv":              "https://d.example/my%20data.csv",
		"a.csv#row=1":              "https://d.example/a.csv",
		"a.csv?x=a b#f":            "https://d.example/a.csv?x=a%20b",
		"?format=csv":              "https://d.example/data.txt?format=csv",
		"zürich.csv":               "https://d.example/z%C3%BCrich.csv",
		"a%2Fb%3f.csv":             "https://d.example/a%2Fb%3f.csv",
		"100%.csv":                 "https://d.example/100%25.csv",
		"50%of.csv":                "https://d.example/50%25of.csv",
		"a|b.csv":                  "https://d.example/a%7Cb.csv",
		"dir\\\\file.csv":          "https://d.example/dir%5Cfile.csv",
		"2020-01-01T10:00.csv":     "https://d.example/2020-01-01T10:00.csv",
		"x/y:z":                    "https://d.example/x/y:z",
		"ftp://x.example/d.csv":    "",
		"file:///etc/passwd":       "",
		"data:text/plain,x":        "",
		"mailto:a@d.example":       "",
		"javascript:void(0)":       "",
		"s3://bucket/key":          "",
		"http:a.csv":               "",
		"http:///a.csv":            "",
		"https://:443/a.csv":       "",
		"https://x.example:port/a": "",
		"https://[::1/a":           "",
		"#top":                     "",
		" ":                        "",
	} {
		f := parse(t, fmt.Sprintf("- path: \"%s\"\n  title: x\n- path: stands\n", path))
		got := strings.TrimSuffix(strings.TrimSuffix(urls(f), "https://d.example/stands"), " ")
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if len(f.Datasets) == 0 || (want == "") != (f.Skipped == 1) {
			t.Errorf("%s: %d datasets, diagnostics %s", path, len(f.Datasets), reasons(f))
		}
	}
}

func TestDatatxt_5_4_RelativeToTheFinalURL(t *testing.T) {
	f, err := Parse([]byte("- path: a.csv\n- path: /b.csv\n"), mustURL("http://www.d.example:8080/sets/data.txt?x=1#f"), bot)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := urls(f), "http://www.d.example:8080/sets/a.csv http://www.d.example:8080/b.csv"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f.Datasets[0].Origin != "http://www.d.example:8080" {
		t.Errorf("origin %s", f.Datasets[0].Origin)
	}
	f, err = Parse([]byte("- path: a.csv\n"), mustURL("http://[2001:DB8::1]/data.txt"), bot)
	if err != nil || f.Datasets[0].Origin != "http://[2001:db8::1]:80" || f.Datasets[0].External {
		t.Errorf("%+v, %v", f, err)
	}
	f, err = Parse([]byte("- path: a.csv\n- path: https://x.example/b.csv\n"), nil, bot)
	if err != nil || len(f.Datasets) != 0 || len(f.Diagnostics) != 2 {
		t.Errorf("without a base: %v, %v", f, err)
	}
}

func TestDatatxt_5_4_External(t *testing.T) {
	for path, want := range map[string]bool{
		"a.csv": false, "https://D.EXAMPLE/a.csv": false, "http://d.example:81/a.csv": false,
		"https://www.d.example/a.csv": true, "https://x.example/a.csv": true, "[a.csv, https://x.example/a.csv]": true,
	} {
		if d := one(t, "- path: "+path); d.External != want || !d.Allowed {
			t.Errorf("%s: External = %v", path, d.External)
		}
	}
}

func TestDatatxt_5_4_DefaultName(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.csv": "b.csv", "a/b/": "b", "a/b//": "b", "/": "", "https://x.example": "", "my%20data.csv": "my data.csv",
		"z%FC.csv": "z%FC.csv", "a.csv?x=/y": "a.csv", "a%2Fb": "a/b",
	} {
		if d := one(t, "- path: "+path); d.Name != want || !d.NameImplied {
			t.Errorf("%s: name %q, want %q", path, d.Name, want)
		}
	}
}

func TestDatatxt_5_4_WithoutPath(t *testing.T) {
	f := parse(t, "- title: x\n- path:\n- path: ~\n- path: null\n- path: ''\n- path: []\n- path: {a: b}\n- path: [[a]]\n- just text\n- [a]\n-\n- path: stands\n")
	if got := urls(f); got != "https://d.example/stands" {
		t.Errorf("datasets: %s", got)
	}
	if f.Skipped != 11 {
		t.Errorf("%d oddities, want 11: %s", f.Skipped, reasons(f))
	}
}

func TestDatatxt_5_4_PinsManifest(t *testing.T) {
	for body, want := range map[string]string{
		"- file: a.csv":                   "https://d.example/a.csv",
		"file: [a.csv, b.csv]\ntype: csv": "https://d.example/a.csv+https://d.example/b.csv",
		"- file: a.csv\n  path: b.csv":    "https://d.example/b.csv",
		"- file: a.csv\n  path:":          "https://d.example/a.csv",
	} {
		if got := urls(parse(t, body)); got != want {
			t.Errorf("%q: %s, want %s", body, got, want)
		}
	}
}

func TestDatatxt_5_4_Counts(t *testing.T) {
	for text, want := range map[string]string{
		"150": "150", "\"150\"": "150", "'150'": "150", "0": "0", "007": "7", "9223372036854775807": "9223372036854775807",
		"9223372036854775808": "absent", "-1": "absent", "+1": "absent", "1.5": "absent", "1e3": "absent", "1_000": "absent",
		"\"1,000\"": "absent", "0x10": "absent", "many": "absent", "~": "absent", "[1]": "absent",
	} {
		d := one(t, "- path: a\n  rows: "+text+"\n  cols: "+text)
		if number(d.Rows) != want || number(d.Cols) != want {
			t.Errorf("%s: rows %s, cols %s, want %s", text, number(d.Rows), number(d.Cols), want)
		}
		if raw := strings.Trim(text, `"'`); raw != "~" && raw != "[1]" && (d.RowsText != raw || d.ColsText != raw) {
			t.Errorf("%s: raw text %q, %q", text, d.RowsText, d.ColsText)
		}
	}
}

func TestDatatxt_5_4_Columns(t *testing.T) {
	for text, want := range map[string][]Column{
		"[{name: a, type: int, description: x}, {name: b}]": {{"a", "int", "x"}, {"b", "", ""}},
		"{a: int, b: text}":        {{"a", "int", ""}, {"b", "text", ""}},
		"{a: ~, b: }":              {{"a", "", ""}, {"b", "", ""}},
		"[{type: int}, {name: b}]": {{"b", "", ""}},
		"[]":                       nil,
		"~":                        nil,
		"a and b":                  nil,
	} {
		if d := one(t, "- path: a\n  columns: "+text); !slices.Equal(d.Columns, want) {
			t.Errorf("%s: %+v, want %+v", text, d.Columns, want)
		}
	}
}

// Scalars are text; empty, ~ and null are absent; tags are never evaluated.
func TestDatatxt_5_4_Scalars(t *testing.T) {
	for text, want := range map[string]string{
		"plain":                        "plain",
		"folded\n    over lines":       "folded over lines",
		"\"quoted: \\u00fc\\n#\"":      "quoted: ü\n#",
		"'it''s'":                      "it's",
		"|\n    a\n    b":              "a\nb",
		">-\n    a\n    b":             "a b",
		"a # comment":                  "a",
		"yes":                          "yes",
		"No":                           "No",
		"2020-01-01":                   "2020-01-01",
		"1.50":                         "1.50",
		"0o7":                          "0o7",
		".inf":                         ".inf",
		"":                             "",
		"~":                            "",
		"null":                         "",
		"''":                           "",
		"'~'":                          "~",
		"\"null\"":                     "null",
		"!expr Sys.time()":             "Sys.time()",
		"!!python/object/apply:os.x y": "y",
		"!!int abc":                    "abc",
		"!!binary aGk=":                "aGk=",
		"!!null x":                     "x",
		"!<tag:x,2000:y> z":            "z",
		"!r!expr x":                    "x", // an undeclared handle
	} {
		if d := one(t, "- path: a\n  title: "+text+"\n"); d.Title != want {
			t.Errorf("%q: %q, want %q", text, d.Title, want)
		}
	}
}

func TestDatatxt_5_4_FirstDocumentOnly(t *testing.T) {
	for _, tail := range []string{"---\n- path: b\n", "--- # x\n\t@broken: [", "...\n\tjunk", "... \n*alias", "---"} {
		if got := urls(parse(t, "---\n- path: a\n"+tail)); got != "https://d.example/a" {
			t.Errorf("%q: %s", tail, got)
		}
	}
}

func TestDatatxt_5_4_Refused(t *testing.T) {
	for _, c := range []struct {
		body string
		want error
		line int
	}{
		{"- &a path: x", ErrAnchor, 1},
		{"- path: x\n- &a\n  path: y", ErrAnchor, 2},
		{"- path: &a x\n- path: *a", ErrAnchor, 1},
		{"- path: x\n- path: *nobody", ErrAnchor, 0},
		{"- path: x\n  title: *important*", ErrAnchor, 2},
		{"- path: x\n- <<: {path: y}", ErrAnchor, 2},
		{"- path: x\n  k: {<<: {a: b}}", ErrAnchor, 2},
		{"- a: &x [1]\n- b: *x", ErrAnchor, 1},
		{"- path: x\n\ttitle: y", ErrSyntax, 2},
		{"-\n\tpath: x", ErrSyntax, 2},
		{"- path: x\n  - y", ErrSyntax, 2},
		{"- path: [x", ErrSyntax, 0},
		{"- path: \"x", ErrSyntax, 0},
		{"- path: a: b", ErrSyntax, 0},
		{"- path: x\nloose", ErrSyntax, 2},
		{"- path: x\n  title: y\n title: z", ErrSyntax, 3},
		{"- path: x\n- {a\n- b", ErrSyntax, 0},
		{"- path: @x", ErrSyntax, 0},
		{"{", ErrSyntax, 0},
		{"# one\n# two\n---\n- path: x\n- !h!t y\n-\n\tz", ErrSyntax, 7},
	} {
		f, err := Parse([]byte(c.body), root, bot)
		var e *Error
		if f != nil || !errors.Is(err, c.want) || !errors.As(err, &e) || c.line != 0 && e.Line != c.line {
			t.Errorf("%q: %v, want %v in line %d", c.body, err, c.want, c.line)
		}
	}
	// In quotes they are text.
	if d := one(t, "- path: a\n  title: '*a'\n  \"<<\": '&b'"); d.Title != "*a" || len(d.Extra) != 1 {
		t.Errorf("%+v", d)
	}
}

func TestDatatxt_5_4_Duplicates(t *testing.T) {
	f := parse(t, `- path: a.csv
  title: first
- path: ./a.csv
  title: same path, same name
- path: a.csv
  name: a.csv
- path: a.csv
  name: other
- path: [a.csv, b.csv]
- path: [a.csv, a.csv]
`)
	var got []string
	for _, d := range f.Datasets {
		got = append(got, fmt.Sprintf("%s %d %s", d.Name, len(d.URLs), d.Title))
	}
	if want := []string{"a.csv 1 first", "other 1 ", "a.csv 2 "}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := "3: repeats the dataset of line 1; 5: repeats the dataset of line 1; 10: repeats the dataset of line 1"; reasons(f) != want {
		t.Errorf("diagnostics: %s", reasons(f))
	}
}

// Lines are counted in the file, whatever precedes the first entry and whatever ends the lines.
func TestDatatxt_5_4_Lines(t *testing.T) {
	for _, eol := range []string{"\n", "\r", "\r\n"} {
		body := strings.Join([]string{"# comment", "%YAML 1.2", "---", "", "- path: a", "  x: !h!t y", "", "- title: no path", "- path: b"}, eol)
		f := parse(t, body)
		if len(f.Datasets) != 2 || f.Datasets[0].Line != 5 || f.Datasets[1].Line != 9 || reasons(f) != "8: an entry has no path" {
			t.Errorf("%q: %+v; %s", eol, f.Datasets, reasons(f))
		}
	}
}
