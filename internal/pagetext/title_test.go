package pagetext

import (
	"strings"
	"testing"
)

// Titles and headings of real pages: manuals in Debian, and the sites that show them.
func TestTrimTitle(t *testing.T) {
	for _, c := range []struct{ title, heads, want string }{
		{"PostgreSQL: Documentation: 15: VACUUM", "VACUUM|Synopsis", "VACUUM"},
		{"PostgreSQL: Documentation: 15: 25.1. Routine Vacuuming", "25.1. Routine Vacuuming #", "25.1. Routine Vacuuming"},
		{"csv — CSV File Reading and Writing — Python 3.11.2 documentation", "csv — CSV File Reading and Writing¶|Module Contents¶",
			"csv — CSV File Reading and Writing"},
		{"Making queries — Django 3.2.25 documentation", "Django 3.2.25 documentation|Making queries¶", "Making queries"},
		{"asgiref.sync — Django 3.2.25 documentation", "Django 3.2.25 documentation|Source code for asgiref.sync", "asgiref.sync"},
		{"Modules: ECMAScript modules | Node.js v18.20.4 Documentation", "Node.js v18.20.4 documentation|Modules: ECMAScript modules#",
			"Modules: ECMAScript modules"},
		{"UDP/datagram sockets | Node.js v18.20.4 Documentation", "UDP/datagram sockets#", "UDP/datagram sockets"},
		{"mod_rewrite - Apache HTTP Server Version 2.4", "Apache Module mod_rewrite|Summary", "mod_rewrite"},
		{"How-To / Tutoriales - Servidor HTTP Apache Versión 2.4", "How-To / Tutoriales", "How-To / Tutoriales"},
		{"mod_auth_basic - Apache HTTP サーバ バージョン 2.4", "Apache モジュール mod_auth_basic", "mod_auth_basic"},
		{"SQLite Syntax: compound-select-stmt", "compound-select-stmt", "compound-select-stmt"},
		{"Chapter 5. Network setup", "Chapter 5. Network setup", "Chapter 5. Network setup"},
		{"git-cherry(1)", "git-cherry(1) Manual Page|NAME", "git-cherry(1)"},
		{"Hints for Debugging SQLite", "Debugging Hints", "Hints for Debugging SQLite"},
		{"Site | The page", "The page", "The page"},
		{"a — b — c", "", "a — b — c"},
		{"a — b — c", "other", "a — b — c"},
		{"std::string — reference", "std::string", "std::string"},
		{"12:30 - news", "12:30", "12:30"},
		{" - ", "x", " - "},
		{"--- — site", "!!!", "--- — site"},
		{"", "x", ""},
		{"one : two", "two", "two"},
	} {
		var heads [][]byte
		for h := range strings.SplitSeq(c.heads, "|") {
			heads = append(heads, []byte(h))
		}
		if from, to := TrimTitle([]byte(c.title), heads...); c.title[from:to] != c.want {
			t.Errorf("%q, %q: %q, want %q", c.title, c.heads, c.title[from:to], c.want)
		}
	}
}

func TestTrimTitleLimits(t *testing.T) {
	heads := make([][]byte, maxHeadings+1)
	for i := range heads {
		heads[i] = []byte("other")
	}
	title := []byte("page - site")
	for i, want := range map[int]string{maxHeadings - 1: "page", maxHeadings: "page - site"} {
		heads[i] = []byte("page")
		if from, to := TrimTitle(title, heads...); string(title[from:to]) != want {
			t.Errorf("heading %d: %q, want %q", i, title[from:to], want)
		}
		heads[i] = []byte("other")
	}
	for n, want := range map[int]string{maxParts: "last", maxParts + 1: "x - last"} {
		title := []byte(strings.Repeat("x - ", n-1) + "last")
		if from, to := TrimTitle(title, []byte(want)); string(title[from:to]) != want {
			t.Errorf("%d parts: %q, want %q", n, title[from:to], want)
		}
	}
}

func TestTopic(t *testing.T) {
	for page, want := range map[string]string{
		`<title>Overview: code — Site</title><h1><a href=/>Site</a></h1><h1>All code</h1>` + prose:  "Overview: code — Site",
		`<title>Site - a - b</title><nav><h3>Site</h3></nav><h1>b</h1>` + prose:                     "b",
		`<title>a - b</title>` + strings.Repeat("<h2>c</h2>", 2*maxHeadings) + `<h2>a</h2>` + prose: "a - b",
		`<title>a - b</title>` + strings.Repeat("<h2>c</h2>", maxHeadings-2) + `<h2>a</h2>` + prose: "a",
		`<h1>a - b</h1>`: "a - b",
		``:               "",
	} {
		var x Extractor
		r := x.Read(somePage, "text/html", "", []byte(page))
		if got := string(r.Topic()); got != want {
			t.Errorf("%s: %q, want %q", page, got, want)
		}
	}
}

func FuzzTrimTitle(f *testing.F) {
	f.Add([]byte("a — b: c | d"), []byte("b"), []byte("c | d"))
	f.Add([]byte("a : b - "), []byte("\xff"), []byte(""))
	f.Fuzz(func(t *testing.T, title, a, b []byte) {
		from, to := TrimTitle(title, a, b)
		if from < 0 || to < from || to > len(title) || from == to && len(title) > 0 {
			t.Fatalf("%q: %d to %d", title, from, to)
		}
	})
}
