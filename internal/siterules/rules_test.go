package siterules

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const layered = `sites:
  docs.example.org:
    delay: 2s
    max-pages: 10
    exclude: ["/print/**", "/*.zip", "re:[?&]sort="]
    fields: {kind: {const: host}, home: {const: a}}
    skip: []
  "*.example.org":
    delay: 5s
    hours: 22:00-06:00
    max-depth: 3
    types: html, pdf
    render: auto
    seeds: https://a.example.org/
    fields: {kind: {const: below}, wide: {const: [1, 2], many: true, type: number}}
    skip: [{css: .x}]
  docs.example.org/api/:
    include: /api/v2/**
    max-depth: 1
    render: always
    fields: {kind: {const: api}}
  https://docs.example.org/api/v2/:
    sitemaps: [https://docs.example.org/api/sitemap.xml]
    fields: {kind: {const: v2}}
`

func kinds2(s *Site) string {
	if s == nil {
		return ""
	}
	var all []string
	for _, f := range s.fields {
		all = append(all, f.name+"="+f.from.text)
	}
	return strings.Join(all, " ")
}

func TestForMerges(t *testing.T) {
	r := mustParse(t, layered)
	for url, want := range map[string]string{
		"https://docs.example.org/":          "home=a kind=host wide=1, 2",
		"https://docs.example.org/apiary":    "home=a kind=host wide=1, 2",
		"https://docs.example.org/api":       "home=a kind=api wide=1, 2",
		"https://docs.example.org/api/v1/":   "home=a kind=api wide=1, 2",
		"https://docs.example.org/api/v2/x":  "home=a kind=v2 wide=1, 2",
		"http://docs.example.org/api/v2/x":   "home=a kind=api wide=1, 2",
		"https://a.b.example.org:8080/api/x": "kind=below wide=1, 2",
		"https://example.org/":               "kind=below wide=1, 2",
		"https://anexample.org/":             "",
	} {
		if got := kinds2(r.For(mustURL(t, url))); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
	s := r.For(mustURL(t, "https://docs.example.org/api/v2/x"))
	if s.Delay != 5*time.Second || s.MaxPages != 10 || *s.MaxDepth != 1 || s.Hours != "22:00-06:00" || strings.Join(s.Types, " ") != "html pdf" || s.Render != "always" || len(s.skip) != 0 {
		t.Errorf("merged: %+v", s)
	}
	if s := r.For(mustURL(t, "https://a.b.example.org:8080/api/x")); s.Render != "auto" {
		t.Errorf("render of the pattern: %q", s.Render)
	}
	if s != r.For(mustURL(t, "https://docs.example.org/api/v2/y")) {
		t.Error("the merged rules were made twice")
	}
	if len(r.Seeds()) != 1 || len(r.Sitemaps()) != 1 {
		t.Errorf("seeds %v, sitemaps %v", r.Seeds(), r.Sitemaps())
	}
	if got := fmt.Sprint(r.Schema()); got != "[{home keyword false} {kind keyword false} {wide number true}]" {
		t.Errorf("schema %s", got)
	}
	if got := s.Entry(); got != "sites.yaml:22: https://docs.example.org/api/v2/" {
		t.Errorf("entry %q", got)
	}
}

func TestScope(t *testing.T) {
	r := mustParse(t, layered)
	for url, want := range map[string]string{
		"https://docs.example.org/a":              "true ",
		"https://docs.example.org/print":          "true ",
		"https://docs.example.org/print/a/b?c":    "false sites.yaml:5: exclude /print/**",
		"https://docs.example.org/a.zip?x=1":      "false sites.yaml:5: exclude /*.zip",
		"https://docs.example.org/a/b.zip":        "true ",
		"https://docs.example.org/a?b=1&sort=up":  "false sites.yaml:5: exclude re:[?&]sort=",
		"https://docs.example.org/api/v1/a":       "false sites.yaml:18: no include of docs.example.org/api/ matches",
		"https://docs.example.org/api/v2/a":       "true sites.yaml:18: include /api/v2/**",
		"https://docs.example.org/api/v2/a?sort=": "false sites.yaml:5: exclude re:[?&]sort=",
	} {
		in, why := r.For(mustURL(t, url)).Scope(mustURL(t, url))
		if got := fmt.Sprint(in, " ", why); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
	var none *Rules
	if s := none.For("https://x.example/"); s != nil || none.Hash() != 0 || none.Schema() != nil || none.Seeds() != nil {
		t.Error("nil has rules")
	}
	if in, _ := (*Site)(nil).Scope("https://x.example/"); !in || (*Site)(nil).ReadsPages() || (*Site)(nil).HasContent() {
		t.Error("a nil site has rules")
	}
}

// Looking for a URL costs the same in a small and in a large file.
func TestManyEntries(t *testing.T) {
	var b strings.Builder
	b.WriteString("sites:\n")
	for i := range MaxEntries {
		fmt.Fprintf(&b, "  h%d.a.xyz: {}\n", i)
	}
	r := mustParse(t, b.String())
	if s := r.For(mustURL(t, "https://h9999.a.xyz/")); s == nil {
		t.Error("the last entry is not found")
	}
	allocs := testing.AllocsPerRun(10, func() { r.For("https://h77.a.xyz/a/b/c/d") })
	if allocs > 6 {
		t.Errorf("%v allocations", allocs)
	}
	if _, err := Parse("sites.yaml", b.String()+"  one.more.xyz: {}\n"); err == nil || !strings.Contains(err.Error(), "10001 entries; at most 10000") {
		t.Errorf("one more entry: %.200v", err)
	}
}

// Ports below that of https are ports, too.
func TestPortsOfEntries(t *testing.T) {
	for _, port := range []string{"1", "80", "443", "8080"} {
		r := mustParse(t, "sites:\n  docs.example.org:"+port+":\n    fields: {a: {const: x}}\n")
		if s := r.For(mustURL(t, "http://docs.example.org:"+port+"/")); s == nil || !s.ReadsPages() {
			t.Errorf("port %s: no rules", port)
		}
		if s := r.For(mustURL(t, "http://docs.example.org:81/")); s.ReadsPages() {
			t.Errorf("port %s: rules for port 81", port)
		}
	}
}
