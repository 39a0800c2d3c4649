package datatxt

import (
	"bytes"
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// Properties of any body: no panic, and either a known error or a file within its limits with
// complete datasets.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		fict, "- path: iris/data.csv\n  rows: 150\n", "path: a\ncolumns: {a: b}\n", "[{path: [a, b]}, {file: c}]",
		"User-agent: *\nLicense: x\nAllow: /d/\nPath: p q%zz\nTitle: y\nDisallow: /\n", "- &a path: x\n- *a", "\xff\xfe-\x00", "---\n- !h!t a: |\n   b\u2028\n...\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		file, err := Parse(body, root, bot)
		if err != nil {
			var e *Error
			if file != nil || !errors.As(err, &e) || e.Line < 0 || e.Line > 1+strings.Count(decode(body), "\n")+strings.Count(decode(body), "\r") {
				t.Fatalf("%v, %v", file, err)
			}
			return
		}
		if len(file.Datasets) > MaxEntries || len(file.Diagnostics) > maxDiagnostics || file.Skipped < len(file.Diagnostics) {
			t.Fatalf("%d datasets, %d diagnostics of %d", len(file.Datasets), len(file.Diagnostics), file.Skipped)
		}
		names := map[string]bool{}
		for _, d := range file.Datasets {
			checkDataset(t, d)
			key := strings.Join(d.URLs, " ") + " " + d.Name
			if names[key] {
				t.Fatalf("%s twice", key)
			}
			names[key] = true
		}
		for _, c := range file.Nested(0) {
			if !strings.HasPrefix(c.URL, "https://d.example/") || !strings.HasSuffix(c.URL, "/data.txt") {
				t.Fatalf("candidate %q", c.URL)
			}
		}
		for _, own := range []string{"/data.txt", "/robots.txt"} {
			if ok, _ := file.Allowed(own); !ok {
				t.Fatalf("%s is closed", own)
			}
		}
		insertBadLine(t, file, body)
	})
}

// insertBadLine inserts a meaningless line into a file of records, and expects everything else to
// stay the same.
func insertBadLine(t *testing.T, before *File, body []byte) {
	ends := bytes.Count(body, []byte("\n"))
	if before.Form != Records || ends == 0 || len(body) > 10_000 || bytes.HasPrefix(body, []byte("\xff\xfe")) || bytes.HasPrefix(body, []byte("\xfe\xff")) {
		return // nowhere to insert a line, or not bytes
	}
	pos := 0
	for range len(body)*31%ends + 1 {
		pos += bytes.IndexByte(body[pos:], '\n') + 1
	}
	line := countLines(string(body[:pos]))
	after, err := Parse([]byte(string(body[:pos])+"this line means nothing\n"+string(body[pos:])), root, bot)
	if err != nil || after.Form != Records || after.Skipped != before.Skipped+1 || len(after.Datasets) != len(before.Datasets) {
		t.Fatalf("a bad line after line %d: %+v, %v, before %+v", line, after, err, before)
	}
	shifted := func(n int) int {
		if n > line {
			return n + 1
		}
		return n
	}
	for i, d := range before.Datasets {
		d.Line = shifted(d.Line)
		d.Extra = slices.Clone(d.Extra)
		for k := range d.Extra {
			d.Extra[k].Line = shifted(d.Extra[k].Line)
		}
		if !reflect.DeepEqual(after.Datasets[i], d) {
			t.Errorf("a bad line after line %d: %+v, want %+v", line, after.Datasets[i], d)
		}
	}
	for _, path := range []string{"/", "/a", "/d/x", "/org/", "/p"} {
		ok1, n1 := before.Allowed(path)
		ok2, n2 := after.Allowed(path)
		if ok1 != ok2 || shifted(n1) != n2 {
			t.Errorf("a bad line after line %d: %s is %v by line %d, was %v by %d", line, path, ok2, n2, ok1, n1)
		}
	}
}

func checkDataset(t *testing.T, d Dataset) {
	t.Helper()
	if len(d.URLs) == 0 || d.Type == "" || d.Line < 1 || d.Origin != "https://d.example:443" {
		t.Fatalf("%+v", d)
	}
	for _, text := range d.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.ContainsAny(text, "# \t\n\r") {
			t.Fatalf("URL %q: %v", text, err)
		}
	}
	for _, s := range []string{d.Name, d.Title, d.Description, d.License, d.Type, d.Source, d.RowsText, d.ColsText} {
		if !utf8.ValidString(s) {
			t.Fatalf("text %q", s)
		}
	}
	if d.Rows != nil && *d.Rows < 0 || d.Cols != nil && *d.Cols < 0 {
		t.Fatalf("rows %s, cols %s", number(d.Rows), number(d.Cols))
	}
}

// Matching is compared with the definition, and normalising must not change the result.
func FuzzPath(f *testing.F) {
	for _, s := range [][2]string{{"/tmp/", "/tmp"}, {"/a%2fb", "/a/b"}, {"/%7ejoe", "/~joe"}, {"/%ff", "/\xff/"}, {"/%", "/%25"}, {"x?y", "/x"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, rulePath, path string) {
		if rulePath == "" || !strings.HasPrefix(path, "/") || strings.ContainsAny(rulePath+path, "#") || strings.Contains(path, "?") {
			return
		}
		r := newRules([]rule{{path: normalPath(rulePath), line: 1}})
		_, line := r.match(normalPath(path))
		if want := matches(rulePath, path); (line == 1) != want {
			t.Errorf("rule %q, path %q: match = %v, want %v", rulePath, path, line == 1, want)
		}
	})
}

// Characters that are hidden from the YAML reader come back unchanged.
func FuzzShield(f *testing.F) {
	f.Add("a\x00\u0085\u2028\uFEFF\uF8FF\uE000\uF8FF")
	f.Fuzz(func(t *testing.T, s string) {
		s = valid(s)
		shielded := shield(s)
		if got := unshield(shielded); got != s {
			t.Errorf("%q comes back as %q", s, got)
		}
		for _, r := range shielded {
			if d, ok := disguise(r); ok && r != shieldMark {
				t.Errorf("%q lets %q through as %q", s, r, d)
			}
		}
	})
}
