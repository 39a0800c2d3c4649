package search

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/internal/web"
)

var someFields = query.Schema{
	"version": crawl.FieldNumber, "kind": crawl.FieldKeyword, "breadcrumb": crawl.FieldText, "released": crawl.FieldDate, "per": crawl.FieldNumber,
}

// TestFieldParameters: fields are filters in the query and as parameters, and orders.
func TestFieldParameters(t *testing.T) {
	for path, want := range map[string]crawl.SearchRequest{
		"?q=a+version:16":                          {Query: "a version:16", Limit: 10},
		"?q=a&version=16":                          {Query: "a version:16", Limit: 10},
		"?q=a+version:15&version=%3E%3D16":         {Query: "a version:>=16", Limit: 10},
		"?kind=Function+reference&per=7":           {Query: `kind:"function reference"`, Limit: 7},
		"?q=-version:16":                           {Query: "-version:16", Limit: 10},
		"?q=a&version=15&version=&version=16":      {Query: "a version:15 version:16", Limit: 10},
		"?q=a&kind=a+b&kind=c&sort=-date":          {Query: `a kind:"a b" kind:c`, Limit: 10, Sort: "-date"},
		"?q=a&sort=-version":                       {Query: "a", Limit: 10, Sort: "-version"},
		"?q=a&released=2023..2024-05&sort=version": {Query: "a released:2023..2024-05", Limit: 10, Sort: "version"},
	} {
		for _, at := range []string{"/api/v1/search", "/search"} {
			f := answers(crawl.SearchAnswer{}, nil)
			f.fields = someFields
			if code, _, body := get(t, New(Options{Crawl: f}), at+path); code != 200 || len(f.asked) != 1 || !reflect.DeepEqual(f.asked[0], want) {
				t.Errorf("%s%s: %d, asked %+v, want %+v: %s", at, path, code, f.asked, want, body)
			}
		}
	}
	for query, c := range map[string]struct{ parameter, says string }{
		"q=a&version=new":     {"version", "16, >=15 or 14..16"},
		"q=a&released=soon":   {"released", "2024-05-31"},
		"q=a&sort=size":       {"sort", "date, kind, per, released, version, or -date"},
		"q=a&sort=breadcrumb": {"sort", "kind, per, released, version"},
		"q=a&chapter=1":       {"chapter", "breadcrumb, kind, released, version"},
	} {
		f := answers(crawl.SearchAnswer{}, nil)
		f.fields = someFields
		code, p := getJSON[web.Details](t, New(Options{Crawl: f}), "/api/v1/search?"+query)
		if code != 400 || p.Parameter != c.parameter || !strings.Contains(p.Detail, c.says) || len(f.asked) > 0 {
			t.Errorf("%s: %d %+v", query, code, p)
		}
	}
	if code, p := getJSON[web.Details](t, New(Options{Crawl: answers(crawl.SearchAnswer{}, nil)}), "/api/v1/search?q=a&sort=version"); code != 400 || !strings.Contains(p.Detail, "use date") {
		t.Errorf("without fields: %d %+v", code, p)
	}
}

// TestFieldsOnThePage: fields are facets, orders, chips and labelled values.
func TestFieldsOnThePage(t *testing.T) {
	var many crawl.Fields
	for i := range maxFields + 1 {
		many = append(many, crawl.Field{Name: fmt.Sprintf("doc_f%d", i), Values: []string{"<b>", "2", "3", "4", "2024-05-01T00:00:00Z", "6"}})
	}
	f := answers(crawl.SearchAnswer{Hits: []crawl.Hit{{URL: "https://a.example/", Title: "A", Fields: many, Description: "What it is <about>"}}, Total: 9,
		Facets: map[string][]crawl.FacetValue{
			"version": {{Value: "16", Count: 5}, {Value: "15", Count: 4}},
			"kind":    {{Value: "Function reference", Count: 5}, {Value: "Page", Count: 4}},
		}}, nil)
	f.fields = someFields
	d, _ := see(t, New(Options{Crawl: f}), "/search?q=quiet+version:16&sort=-version")
	to := func(q string) string { return "/search?q=" + url.QueryEscape(q) + "&sort=-version" }
	got := links(d.Find("aside"))
	for text, want := range map[string]string{
		"Remove 16 5 pages": to("quiet"), "15 4 pages": to("quiet version:15"), "Function reference 5 pages": to(`quiet version:16 kind:"function reference"`),
		"best first": "/search?q=quiet+version%3A16", "version, lowest first": "/search?q=quiet+version%3A16&sort=version", "released, newest first": "/search?q=quiet+version%3A16&sort=-released",
	} {
		if got[text] != want {
			t.Errorf("%q leads to %q, want %q (of %q)", text, got[text], want, got)
		}
	}
	if chip := links(d.Find(".chips"))["Remove version: 16"]; chip != to("quiet") {
		t.Errorf("the chip leads to %q", chip)
	}
	// A filter is shown with the letters that pages have.
	d2, _ := see(t, New(Options{Crawl: f}), "/search?q=version:16+kind:%22function+reference%22+-kind:other")
	chips := links(d2.Find(".chips"))
	if chips["Remove kind: Function reference"] == "" || chips["Remove not kind: other"] == "" {
		t.Errorf("the filters are shown as %q", chips)
	}
	none := answers(crawl.SearchAnswer{}, nil)
	none.fields = someFields
	for q, want := range map[string]string{"version:16": "Remove a filter", "quiet version:16": "Use fewer words"} {
		d, _ := see(t, New(Options{Crawl: none}), "/search?q="+url.QueryEscape(q))
		if text := d.Find(".advice").Text(); !strings.Contains(text, want) || d.Find("aside").Length() > 0 {
			t.Errorf("nothing found of %s: %q, %q", q, text, d.Find("aside").Text())
		}
	}
	if n := d.Find(".fields dt").Length(); n != maxFields {
		t.Errorf("%d fields are shown", n)
	}
	if name, value := d.Find(".fields dt").First().Text(), d.Find(".fields dd").First().Text(); name != "doc f0" || value != "<b>, 2, 3, 4, 2024-05-01, …" {
		t.Errorf("%q: %q", name, value)
	}
	if about := d.Find(".snippet").Text(); about != "What it is <about>" {
		t.Errorf("%q", about)
	}
	if sort, _ := d.Find("input[name=sort]").Attr("value"); sort != "-version" {
		t.Errorf("the form forgets the order: %q", sort)
	}
}

// FuzzFieldParams: the address of a search by fields leads to the same search.
func FuzzFieldParams(f *testing.F) {
	f.Add("q=two+words&version=16&kind=a%20b&sort=-version&released=2024..")
	f.Fuzz(func(t *testing.T, raw string) {
		p, bad := parse(raw, true, someFields)
		if bad != nil {
			return
		}
		_, query, _ := strings.Cut(p.link("/search"), "?")
		again, bad := parse(query, true, someFields)
		if bad != nil || again != p {
			t.Errorf("%q is %+v, and its link %q is %+v, %v", raw, p, query, again, bad)
		}
	})
}
