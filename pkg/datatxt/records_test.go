package datatxt

import (
	"strings"
	"testing"
)

// The complete path table of formats §5.3, from the text's section 3.2.2.
func TestDatatxt_5_3_PathTable(t *testing.T) {
	for _, c := range []struct {
		record, path string
		match        bool
	}{
		{"/tmp", "/tmp", true},
		{"/tmp", "/tmp.html", true},
		{"/tmp", "/tmp/a.html", true},
		{"/tmp/", "/tmp", false},
		{"/tmp/", "/tmp/", true},
		{"/tmp/", "/tmp/a.html", true},
		{"/a%3cd.html", "/a%3cd.html", true},
		{"/a%3Cd.html", "/a%3cd.html", true},
		{"/a%3cd.html", "/a%3Cd.html", true},
		{"/a%3Cd.html", "/a%3Cd.html", true},
		{"/a%2fb.html", "/a%2fb.html", true},
		{"/a%2fb.html", "/a/b.html", false},
		{"/a/b.html", "/a%2fb.html", false},
		{"/a/b.html", "/a/b.html", true},
		{"/%7ejoe/index.html", "/~joe/index.html", true},
		{"/~joe/index.html", "/%7Ejoe/index.html", true},
	} {
		f := parse(t, "User-agent: *\nDisallow: "+c.record+"\n")
		allowed, line := f.Allowed(c.path)
		if allowed == c.match || (line == 2) != c.match {
			t.Errorf("record path %s, URL path %s: match = %v, want %v", c.record, c.path, !allowed, c.match)
		}
	}
}

// The example of the text's section 4, as printed except for its blank lines.
const fict = `# /robots.txt for http://www.fict.org/
# comments to webmaster@fict.org

User-agent: unhipbot
Disallow: /

User-agent: webcrawler
User-agent: excite
Disallow:

User-agent: *
Disallow: /org/plans.html
Allow: /org/
Allow: /serv
Allow: /~mak
Disallow: /
`

// The complete access matrix of formats §5.3.
func TestDatatxt_5_3_AccessMatrix(t *testing.T) {
	robots := []string{"UnhipBot", "WebCrawler", "Excite", "OtherBot"}
	for path, want := range map[string][4]bool{
		"/":                   {false, true, true, false},
		"/index.html":         {false, true, true, false},
		"/robots.txt":         {true, true, true, true},
		"/server.html":        {false, true, true, true},
		"/services/fast.html": {false, true, true, true},
		"/services/slow.html": {false, true, true, true},
		"/orgo.gif":           {false, true, true, false},
		"/org/about.html":     {false, true, true, true},
		"/org/plans.html":     {false, true, true, false},
		"/%7Ejim/jim.html":    {false, true, true, false},
		"/%7Emak/mak.html":    {false, true, true, true},
		"/data.txt":           {true, true, true, true},
	} {
		for i, token := range robots {
			// Without the blank lines, as in the text that we have, a user-agent line after a rule
			// begins the next record.
			for _, body := range []string{fict, strings.ReplaceAll(fict, "\n\n", "\n")} {
				f, err := Parse([]byte(body), mustURL("http://www.fict.org/data.txt"), token)
				if err != nil {
					t.Fatal(err)
				}
				if got, line := f.Allowed(path); got != want[i] {
					t.Errorf("%s, %s: allowed = %v by line %d, want %v", token, path, got, line, want[i])
				}
			}
		}
	}
}

// The smaller examples of the text's sections 3.2 and 3.2.1.
func TestDatatxt_5_3_SmallExamples(t *testing.T) {
	const record = "User-agent: webcrawler\nUser-agent: infoseek\nAllow: /tmp/ok.html\nDisallow: /tmp\nDisallow: /user/foo\n"
	for _, token := range []string{"WebCrawler", "InfoSeek", "figtree"} {
		f, err := Parse([]byte(record), root, token)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"/tmp/ok.html": true, "/tmp": false, "/tmp/x": false, "/user/foo": false, "/user": true} {
			if got, _ := f.Allowed(path); got != (want || token == "figtree") {
				t.Errorf("%s, %s: allowed = %v", token, path, got)
			}
		}
	}
	f, err := Parse([]byte("User-agent: figtree\nDisallow: /"), root, "FigTree")
	if err != nil {
		t.Fatal(err)
	}
	if allowed, _ := f.Allowed("/x"); allowed {
		t.Error("FigTree is not figtree")
	}
}

func TestDatatxt_5_3_WhichRecord(t *testing.T) {
	for _, c := range []struct {
		name, body string
		line       int // of the rule that closes /x, 0 if open
	}{
		{"contains our token", "User-agent: MyExampleBotX/2\nDisallow: /x", 2},
		{"in any case", "User-agent: EXAMPLEBOT\nDisallow: /x", 2},
		{"first of ours only", "User-agent: ExampleBot\nDisallow: /a\n\nUser-agent: ExampleBot\nDisallow: /x", 0},
		{"ours before an earlier star", "User-agent: *\nDisallow: /x\n\nUser-agent: examplebot\nDisallow: /a", 0},
		{"first star", "User-agent: *\nDisallow: /x\n\nUser-agent: *\nAllow: /x", 2},
		{"star only exactly", "User-agent: **\nDisallow: /x\n\nUser-agent: *bot\nDisallow: /x", 0},
		{"a part of our token is not ours", "User-agent: Example\nDisallow: /x", 0},
		{"one of several agents", "User-agent: a\nUser-agent: examplebot\nUser-agent: b\nDisallow: /x", 4},
		{"nobody's", "User-agent: other\nDisallow: /x", 0},
		{"empty agent", "User-agent:\nDisallow: /x", 0},
		{"not merged with star", "User-agent: ExampleBot\nAllow: /y\n\nUser-agent: *\nDisallow: /x", 0},
	} {
		f := parse(t, c.body)
		if allowed, line := f.Allowed("/x"); line != c.line || allowed != (c.line == 0) {
			t.Errorf("%s: allowed = %v by line %d, want line %d", c.name, allowed, line, c.line)
		}
	}
	// Without a token of our own only "*" applies to us.
	f, err := Parse([]byte("User-agent: any\nDisallow: /x\n\nUser-agent: *\nDisallow: /y"), root, "")
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := f.Allowed("/x"); !a {
		t.Error("an empty token matches every agent")
	}
	if a, _ := f.Allowed("/y"); a {
		t.Error("an empty token does not match *")
	}
}

func TestDatatxt_5_3_WhereRecordsEnd(t *testing.T) {
	for _, c := range []struct {
		name, body string
		closed     bool // is /x closed to us
	}{
		{"blank line after a rule", "User-agent: ExampleBot\nDisallow: /a\n\nDisallow: /x", false},
		{"line of blanks after a rule", "User-agent: ExampleBot\nDisallow: /a\n \t \nDisallow: /x", false},
		{"blank line after an extension", "User-agent: ExampleBot\nLicense: CC0\n\nDisallow: /x", false},
		{"blank line before any rule", "User-agent: ExampleBot\n\nDisallow: /x", true},
		{"comment line", "User-agent: ExampleBot\nDisallow: /a\n# comment\n  # another\nDisallow: /x", true},
		{"agent line after a rule", "User-agent: ExampleBot\nDisallow: /a\nUser-agent: other\nDisallow: /x", false},
		{"agent line after an extension", "User-agent: ExampleBot\nLicense: CC0\nUser-agent: other\nDisallow: /x", false},
		{"rule before any agent", "Disallow: /x\nUser-agent: ExampleBot\nDisallow: /a", false},
		{"bad line inside", "User-agent: ExampleBot\nwhat is this\nDisallow: /x", true},
		{"name with a blank", "User-agent: ExampleBot\nthe Disallow: /a\nDisallow: /x", true},
		{"name with a slash", "User-agent: ExampleBot\nhttp://x: /a\nDisallow: /x", true},
		{"no name", "User-agent: ExampleBot\n: /a\nDisallow: /x", true},
		{"name beyond ASCII", "User-agent: ExampleBot\nDisallöw: /a\nDisallow: /x", true},
		{"unknown line inside", "User-agent: ExampleBot\nDisallow: /a\nCrawl-delay: 5\nDisallow: /x", true},
		{"agents without rules are no record", "User-agent: *\nDisallow: /x\n\nUser-agent: ExampleBot\n", true},
		{"continuation lines do not exist", "User-agent: ExampleBot\nDisallow: /a\n /x\nDisallow: /b", false},
		{"CR", "User-agent: ExampleBot\rDisallow: /x\r", true},
		{"CR LF", "User-agent: ExampleBot\r\nDisallow: /x\r\n\r\nDisallow: /y", true},
		{"no line end at the end", "User-agent: ExampleBot\nDisallow: /x", true},
		{"U+0085 and U+2028 end no line", "User-agent: ExampleBot\nTitle: a\u0085b\u2028Disallow: /x", false},
		{"byte order mark", "\uFEFFUser-agent: ExampleBot\nDisallow: /x", true},
		{"blanks around", "User-agent \t: \tExampleBot\t \n \tDisallow\t:\t/x ", true},
		{"comments after values", "User-agent: ExampleBot# us\nDisallow: /x#y", true},
	} {
		f := parse(t, c.body)
		if allowed, _ := f.Allowed("/x"); allowed == c.closed {
			t.Errorf("%s: allowed = %v", c.name, allowed)
		}
	}
}

func TestDatatxt_5_3_FirstMatchDecides(t *testing.T) {
	f := parse(t, "User-agent: *\nAllow: /d/a\nDisallow: /d\nAllow: /d/b\nDisallow:\nDisallow: /e?q=1\nDisallow: f\nDisallow: /*.csv$\n")
	for path, want := range map[string]struct {
		allowed bool
		line    int
	}{
		"/d/a.csv": {true, 2}, "/d/b.csv": {false, 3}, "/d": {false, 3}, "/other": {true, 0}, "/": {true, 0}, "": {true, 0},
		"/e": {false, 6}, "/e?other": {false, 6}, "/d/a?x": {true, 2}, // queries are not compared
		"/f": {false, 7}, "f": {false, 7}, // a path without a slash gets one
		"/x.csv": {true, 0}, "/*.csv$": {false, 8}, // no wildcards
		"/data.txt": {true, 0},
	} {
		if allowed, line := f.Allowed(path); allowed != want.allowed || line != want.line {
			t.Errorf("%q: %v by line %d, want %v by %d", path, allowed, line, want.allowed, want.line)
		}
	}
}

func TestDatatxt_5_3_OwnFilesAlwaysAllowed(t *testing.T) {
	f, err := Parse([]byte("User-agent: *\nDisallow: /"), mustURL("https://d.example/sub/data.txt"), bot)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		"/data.txt": true, "/robots.txt": true, "/sub/data.txt": true, "/data%2Etxt": true,
		"/data.txt.gz": false, "/other/data.txt": false, "/": false,
	} {
		if got, _ := f.Allowed(path); got != want {
			t.Errorf("%s: allowed = %v, want %v", path, got, want)
		}
	}
}

func TestDatatxt_5_3_Datasets(t *testing.T) {
	f := parse(t, `User-agent: *
License: CC0           # a default
Source: the office
Disallow: /private
Title: Default title
Allow: /data/a.csv
Title: A
Rows: 10
Publisher: me
Path: b.csv
license: MIT
Name: bee
Disallow: /data
Title: of nothing
Allow: /dir/
Allow: /noext
Allow: /described
Description: an area
Allow: /
Title: of nothing either
Path: /
Path:
Path: https://other.example/x/
Type: table
`)
	type want struct{ urls, name, title, license, typ string }
	wants := []want{
		{"https://d.example/data/a.csv", "a.csv", "A", "CC0", "files"},
		{"https://d.example/b.csv", "bee", "Default title", "MIT", "files"},
		{"https://d.example/dir/", "dir", "Default title", "CC0", "location"},
		{"https://d.example/noext", "noext", "Default title", "CC0", "location"},
		{"https://d.example/described", "described", "Default title", "CC0", "files"},
		{"https://other.example/x/", "x", "Default title", "CC0", "table"},
	}
	if len(f.Datasets) != len(wants) {
		t.Fatalf("%d datasets: %s", len(f.Datasets), urls(f))
	}
	for i, w := range wants {
		d := f.Datasets[i]
		if got := (want{strings.Join(d.URLs, " "), d.Name, d.Title, d.License, d.Type}); got != w {
			t.Errorf("dataset %d = %+v, want %+v", i, got, w)
		}
		if d.Source != "the office" || d.Origin != "https://d.example:443" || d.External != (i == 5) {
			t.Errorf("dataset %d: source %q, origin %q, external %v", i, d.Source, d.Origin, d.External)
		}
	}
	a := f.Datasets[0]
	if number(a.Rows) != "10" || len(a.Extra) != 1 || a.Extra[0].Name != "Publisher" || a.Extra[0].Value.Text != "me" || a.Line != 6 {
		t.Errorf("first dataset = %+v", a)
	}
	if f.Form != Records || f.URL != "https://d.example/data.txt" {
		t.Errorf("form %q, URL %q", f.Form, f.URL)
	}
	if got, want := reasons(f), "14: Title line does not belong to a dataset; 20: Title line does not belong to a dataset"; got != want {
		t.Errorf("diagnostics %q, want %q", got, want)
	}
}

// Path is not an access rule; a rule of the file may close a dataset's file.
func TestDatatxt_5_3_DatasetAllowed(t *testing.T) {
	f := parse(t, "User-agent: *\nDisallow: /closed\nPath: /closed/a.csv\nAllow: /closed/b.csv\nPath: /open.csv\nPath: https://x.example/closed\nPath: http://d.example/closed\n")
	var got []bool
	for _, d := range f.Datasets {
		got = append(got, d.Allowed)
	}
	want := []bool{false, false, true, true, true} // another origin has its own file
	if len(got) != len(want) {
		t.Fatalf("datasets: %s", urls(f))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: Allowed = %v", f.Datasets[i].URLs[0], got[i])
		}
	}
}

// A location that cannot become a URL affects only its dataset, and no rule.
func TestDatatxt_5_3_BadLocations(t *testing.T) {
	f := parse(t, "User-agent: *\nPath: mailto:me@d.example\nTitle: x\nAllow: http:///y\nPath: good\nDisallow: /closed\n")
	if urls(f) != "https://d.example/good" {
		t.Errorf("%s", urls(f))
	}
	if want := `2: Path "mailto:me@d.example": neither http nor https; 4: Allow "http:///y": no host`; reasons(f) != want {
		t.Errorf("%s", reasons(f))
	}
	if allowed, _ := f.Allowed("/closed"); allowed {
		t.Error("a rule is lost")
	}
	// Without a base no path can be resolved, but rules still apply.
	f, err := Parse([]byte("User-agent: *\nAllow: /a\nDisallow: /"), nil, bot)
	if err != nil || len(f.Datasets) != 0 {
		t.Fatalf("%v, %v", f, err)
	}
	if allowed, line := f.Allowed("/b"); allowed || line != 3 {
		t.Errorf("allowed = %v by line %d", allowed, line)
	}
}

// One long default line applies to ten thousand datasets. The file is small, and its result must
// not be large.
func TestDefaultsDoNotMultiply(t *testing.T) {
	var b strings.Builder
	b.WriteString("User-agent: *\nDescription: " + strings.Repeat("x", 100_000))
	for i := range 9_001 {
		b.WriteString("\nPath: f")
		b.WriteString(number(new(int64(i))))
	}
	f := parse(t, b.String())
	total := 0
	for _, d := range f.Datasets {
		total += len(d.Description)
	}
	if len(f.Datasets) != 9_001 || total > maxDefaultBytes {
		t.Errorf("%d datasets, %d bytes of descriptions", len(f.Datasets), total)
	}
	if !strings.Contains(reasons(f), "default lines") {
		t.Errorf("not reported: %s", reasons(f))
	}
}
