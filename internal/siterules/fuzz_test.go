package siterules

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/rulefile"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Parse never panics, and rules that it accepts can be used.
func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/wrong/*.yaml")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(layered)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := Parse("sites.yaml", text)
		if err != nil {
			if e, ok := err.(*rulefile.Error); !ok || len(e.Mistakes) == 0 || len(e.Mistakes) > 20 || !strings.HasPrefix(e.Mistakes[0], "sites.yaml:") {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, e := range r.entries {
			u, err := canon.Parse("https://" + string(e.host.Name()) + e.path + "/")
			if err != nil {
				continue
			}
			if s := r.For(u); s != nil {
				s.Scope(u)
				s.Read(Input{URL: u, ContentType: "text/html", Body: []byte(sample)})
				s.Content("text/html", "utf-8", []byte(sample))
			}
		}
	})
}

// Read never panics, and its values are within their limits and in their canonical form.
func FuzzRead(f *testing.F) {
	r := mustParse(f, `sites:
  x.example:
    content: {title: {css: h1}, description: {meta: description}}
    fields:
      a: {css: "main p + p, li:nth-child(2n)", many: true}
      b: {xpath: "//a/@href", type: text, many: true}
      c: {xpath: "count(//p[position()=last()])", type: number}
      d: {jsonld: "author.name", many: true}
      e: {css: time, attr: datetime, type: date}
      g: {meta: keywords, matches: '(\w+)', many: true}
    skip: [{css: "div:has(.x)"}, {field: a, equals: b}]
`)
	f.Add([]byte(sample))
	f.Add([]byte("<time datetime=2024-05-06>x</time><p><p>y"))
	f.Fuzz(func(t *testing.T, page []byte) {
		out := r.For("https://x.example/").Read(Input{URL: "https://x.example/", ContentType: "text/html", Charset: "utf-8", Body: page})
		for i, v := range out.Ruled.Fields {
			if i > 0 && out.Ruled.Fields[i-1].Name >= v.Name || len(v.Values) == 0 || len(v.Values) > MaxValues {
				t.Fatalf("%q: %+v", page, out.Ruled.Fields)
			}
			for j, s := range v.Values {
				again, ok, cut := canonical(v.Type, nil, s)
				if !utf8.ValidString(s) || slices.Contains(v.Values[:j], s) || !ok || cut || again != s {
					t.Fatalf("%q: value %q, again %q", page, s, again)
				}
			}
		}
	})
}

func FuzzJSONPath(f *testing.F) {
	for _, s := range []string{"author.name", "@graph[0].name", "Article:author.name", "a[*].b", "a..b", "$.a", "a[", ":", "a:b:c"} {
		f.Add(s, `{"@graph":[{"@type":"Article","author":[{"name":"A"}]}],"a":[[1,{"b":true}]]}`)
	}
	f.Fuzz(func(t *testing.T, path, doc string) {
		j := new(reader).jsonPath(path, scalarNode(path), "jsonld")
		if v, ok := readJSON([]byte(doc)); ok && j != nil {
			c := collector{left: 10_000}
			j.top(v, &c, 0)
		}
	})
}

// A glob without "*" matches exactly the path or URL that it spells, in every spelling that package
// canon knows.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"/docs/**", "/a b", "/é", "/a?b=c", "/*.zip", "**/x", "/%41", "/a|b^c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, glob string) {
		g := new(reader).pattern(glob, scalarNode(glob), "include")
		if g == nil {
			return
		}
		u, err := canon.Parse("https://x.example" + glob)
		if err != nil || strings.ContainsAny(glob, "*%\\\t\n\r") || glob[0] != '/' || strings.Contains(glob, "/.") || strings.Contains(glob, "//") ||
			strings.HasPrefix(glob, expression) || strings.TrimSpace(glob) != glob || strings.HasSuffix(glob, "?") || !utf8.ValidString(glob) {
			return
		}
		if !g.matches(u) {
			t.Fatalf("%q does not match %s: %s", glob, u, g.re)
		}
	})
}
