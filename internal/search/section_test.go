package search

import (
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
)

// functions is a long page with a section for each function, and a short one that mentions one.
func functions(anchor func(id string) string) []pages.Page {
	var b strings.Builder
	b.WriteString("<h1>Functions</h1><p>This page has all functions.")
	for _, name := range []string{"sumif", "median", "iferror", "vlookup"} {
		b.WriteString(anchor(name) + "<p>" + strings.Repeat("The function takes a range and returns a value. ", 30))
	}
	return []pages.Page{
		page("https://a.example/functions", "en", "Functions", b.String()),
		page("https://a.example/list", "en", "Notes", "<h1>Notes</h1><p>Some people like iferror. "+strings.Repeat("Others do not. ", 60)),
	}
}

// A hit names and links to the section that answers, by whatever id leads there. Its snippet is
// from that section.
func TestHitNamesTheSection(t *testing.T) {
	for _, anchor := range []func(id string) string{
		func(id string) string { return `<h2 id="` + id + `">The ` + id + ` function</h2>` },
		func(id string) string { return `<section id="` + id + `"><h2>The ` + id + ` function</h2>` },
		func(id string) string { return `<h2><a name="` + id + `"></a>The ` + id + ` function</h2>` },
		func(id string) string { return `<h2>The ` + id + ` function<a href="#` + id + `">¶</a></h2>` },
		func(id string) string { return `<a id="` + id + `"></a><h2>The ` + id + ` function</h2>` },
	} {
		f := newFixture(t)
		f.add(functions(anchor)...)
		hits := f.search("iferror function")
		if len(hits) == 0 || hits[0].URL != "https://a.example/functions" || hits[0].Section == nil {
			t.Fatalf("%s: %+v", anchor("x"), hits)
		}
		if got := *hits[0].Section; got != (crawl.Section{Title: "The iferror function", URL: "https://a.example/functions#iferror"}) {
			t.Errorf("%s: %+v", anchor("x"), got)
		}
	}
}

// No section is named if no link can lead to it, if the heading must not be quoted, or if the page
// as a whole is the answer.
func TestNoSection(t *testing.T) {
	for what, anchor := range map[string]func(id string) string{
		"no id": func(id string) string { return `<h2>The ` + id + ` function</h2>` },
		"nosnippet": func(id string) string {
			return `<div data-nosnippet><h2 id="` + id + `">The ` + id + ` function</h2></div>`
		},
	} {
		f := newFixture(t)
		f.add(functions(anchor)...)
		if hits := f.search("iferror function"); len(hits) == 0 || hits[0].Section != nil {
			t.Errorf("%s: %+v", what, hits)
		}
	}
	f := newFixture(t)
	all := functions(func(id string) string { return `<h2 id="` + id + `">The ` + id + ` function</h2>` })
	all[0].MaxSnippet = 50
	f.add(all...)
	if hits := f.search("iferror function"); len(hits) == 0 || hits[0].Section != nil {
		t.Errorf("a page that limits its snippets: %+v", hits)
	}
	if hits := f.search("functions"); len(hits) == 0 || hits[0].Section != nil {
		t.Errorf("the page as a whole: %+v", hits)
	}
}
