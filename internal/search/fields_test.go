package search

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/query"
	"github.com/curtsy/curtsy/pkg/canon"
)

var fieldsOfTests = query.Schema{
	"version": crawl.FieldNumber, "kind": crawl.FieldKeyword, "breadcrumb": crawl.FieldText, "released": crawl.FieldDate, "deprecated": crawl.FieldBoolean,
}

// ruled makes a page with fields: name=value, the same name several times for several values.
func ruled(url, title, body string, fields ...string) pages.Page {
	p := page(url, "en", title, body)
	p.Ruled = &crawl.Ruled{Rules: 1}
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		if all := p.Ruled.Fields; len(all) > 0 && all[len(all)-1].Name == name {
			all[len(all)-1].Values = append(all[len(all)-1].Values, value)
			continue
		}
		p.Ruled.Fields = append(p.Ruled.Fields, crawl.Field{Name: name, Type: fieldsOfTests[name], Values: []string{value}})
	}
	return p
}

func versions(f *fixture) {
	f.add(
		ruled("https://d.example/16/vacuum", "VACUUM", "<p>garbage collect a database", "deprecated=false", "kind=Command", "released=2023-09-14T00:00:00Z", "version=16"),
		ruled("https://d.example/15/vacuum", "VACUUM", "<p>garbage collect a database of old", "deprecated=true", "kind=Command", "released=2022-10-13T00:00:00Z", "version=15"),
		ruled("https://d.example/15/abs", "abs", "<p>absolute value, database function", "breadcrumb=Functions and Operators", "kind=Function reference", "kind=Numbers", "version=15"),
		page("https://d.example/about", "en", "About", "<p>about this database"),
	)
}

func TestFieldFilters(t *testing.T) {
	f := newFixture(t)
	versions(f)
	for q, want := range map[string]string{
		"database version:16":                    "/16/vacuum",
		"database -version:16":                   "/15/abs /15/vacuum /about",
		"database version:>=15":                  "/15/abs /15/vacuum /16/vacuum",
		"database version:15..15.5":              "/15/abs /15/vacuum",
		"version:16 version:15":                  "/15/abs /15/vacuum /16/vacuum",
		"version:15 kind:command":                "/15/vacuum",
		`database kind:"FUNCTION reference"`:     "/15/abs",
		"database kind:numbers -kind:command":    "/15/abs",
		"database kind:function":                 "",
		"database released:2023":                 "/16/vacuum",
		"database released:<2023":                "/15/vacuum",
		"database deprecated:true":               "/15/vacuum",
		"database -deprecated:yes":               "/15/abs /16/vacuum /about",
		"database breadcrumb:operators":          "/15/abs",
		`database breadcrumb:"functions and"`:    "/15/abs",
		`database breadcrumb:"and functions"`:    "",
		"operators":                              "/15/abs", // a text counts as words of the page
		"Command":                                "",        // and a keyword does not
		"-version:16":                            "/15/abs /15/vacuum /about",
		"database version:16 site:other.example": "",
	} {
		got := f.urls(q)
		slices.Sort(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s finds %q, want %q", q, s, want)
		}
	}
}

// TestFieldsOverMerges: filters hold when segments are merged and the index is built again.
func TestFieldsOverMerges(t *testing.T) {
	f := newFixture(t)
	for i := range 3 * mergeAt {
		f.add(ruled(fmt.Sprintf("https://d.example/%d", i), "Some title", fmt.Sprintf("<p>database number%d", i), fmt.Sprintf("version=%d", i)))
	}
	check := func() {
		t.Helper()
		if got := f.urls("database version:7"); !slices.Equal(got, []string{"/7"}) {
			t.Errorf("found %q", got)
		}
	}
	check()
	f.add(ruled("https://d.example/7", "Some title", "<p>database number7", "version=70"), ruled("https://d.example/8", "Some title", "<p>database number8 now", "version=7"))
	if got := f.urls("database version:7"); !slices.Equal(got, []string{"/8"}) {
		t.Errorf("after a change: %q", got)
	}
}

func TestFieldFacets(t *testing.T) {
	f := newFixture(t)
	versions(f)
	got := ask(t, crawl.SearchRequest{Query: "database"}, f.Index).Facets
	want := map[string][]crawl.FacetValue{
		"version":    {{Value: "15", Count: 2}, {Value: "16", Count: 1}},
		"kind":       {{Value: "Command", Count: 2}, {Value: "Function reference", Count: 1}, {Value: "Numbers", Count: 1}},
		"deprecated": {{Value: "false", Count: 1}, {Value: "true", Count: 1}},
	}
	for name, values := range want {
		if !reflect.DeepEqual(got[name], values) {
			t.Errorf("%s: %v, want %v", name, got[name], values)
		}
	}
	for _, name := range []string{"breadcrumb", "released"} {
		if got[name] != nil {
			t.Errorf("%s is counted: %v", name, got[name])
		}
	}
}

// TestManyValues: a field with more than fewValues values is not counted, also if no shard has as
// many.
func TestManyValues(t *testing.T) {
	a, b := newFixture(t), newFixture(t)
	add := func(f *fixture, from, to int) {
		var batch []pages.Page
		for i := from; i < to; i++ {
			batch = append(batch, ruled(fmt.Sprintf("https://d.example/%d", i), fmt.Sprint("Title ", i), fmt.Sprintf("<p>database number%d", i), fmt.Sprintf("version=%d", i)))
		}
		f.add(batch...)
	}
	add(a, 0, fewValues-50)
	add(b, fewValues-50, fewValues)
	facets := func() []crawl.FacetValue {
		return ask(t, crawl.SearchRequest{Query: "database"}, a.Index, b.Index).Facets["version"]
	}
	if got := facets(); len(got) != maxFacet {
		t.Errorf("%d values are shown of %d", len(got), fewValues)
	}
	add(b, fewValues, fewValues+1)
	if got := facets(); got != nil {
		t.Errorf("%d values are shown of one too many", len(got))
	}
	add(b, fewValues+1, 2*fewValues)
	if got := facets(); got != nil {
		t.Errorf("%d values are shown where one shard has too many", len(got))
	}
}

// TestSort: the order is that of the field on any number of shards, page after page.
func TestSort(t *testing.T) {
	one, shards := newFixture(t), []*fixture{newFixture(t), newFixture(t), newFixture(t)}
	var batch []pages.Page
	for i := range 120 {
		p := ruled(fmt.Sprintf("https://d%d.example/%d", i%7, i), fmt.Sprint("Title ", i), fmt.Sprintf("<p>database number%d %s", i, strings.Repeat("word ", i%5)),
			fmt.Sprintf("kind=k%03d", (i*37)%100), fmt.Sprintf("released=20%02d-01-01T00:00:00Z", i%20), fmt.Sprintf("version=%d", i%9), fmt.Sprintf("version=%d", i%9+100))
		if i%10 == 0 {
			p.Ruled = nil
		}
		batch = append(batch, p)
		shards[i%7%3].add(p)
	}
	one.add(batch...)
	all := []*Index{shards[0].Index, shards[1].Index, shards[2].Index}
	for _, by := range []string{"version", "-version", "kind", "-kind", "released", "-released"} {
		var paged []string
		whole := ask(t, crawl.SearchRequest{Query: "database", Sort: by, Limit: 120}, one.Index).Hits
		for from := 0; from < 120; from += 17 {
			for _, h := range ask(t, crawl.SearchRequest{Query: "database", Sort: by, Offset: from, Limit: 17}, all...).Hits {
				paged = append(paged, h.URL)
			}
		}
		if len(whole) != 120 || len(paged) != 120 {
			t.Fatalf("%s: %d hits, and %d in pages", by, len(whole), len(paged))
		}
		name, down := strings.CutPrefix(by, "-")
		last := ""
		for i, h := range whole {
			if h.URL != paged[i] {
				t.Fatalf("%s: hit %d is %s on one shard, %s on three", by, i, h.URL, paged[i])
			}
			values := h.Fields.Get(name)
			if (len(values) == 0) != (i >= 108) {
				t.Fatalf("%s: hit %d has %q", by, i, values)
			}
			if len(values) == 0 {
				continue
			}
			value := values[0]
			if down {
				value = values[len(values)-1]
			}
			if i > 0 && value != last && (value < last) != down {
				t.Fatalf("%s: %s after %s", by, value, last)
			}
			last = value
		}
	}
	if _, err := Run(t.Context(), crawl.SearchRequest{Query: "database", Sort: "size"}, fieldsOfTests, nil, local(all)); err == nil || !strings.Contains(err.Error(), "use date, deprecated, kind, released, version") {
		t.Errorf("an unknown field is answered with %v", err)
	}
	if _, err := Run(t.Context(), crawl.SearchRequest{Query: "database", Sort: "version"}, nil, nil, local(all)); err == nil || !strings.Contains(err.Error(), "use date, or -date") {
		t.Errorf("without fields: %v", err)
	}
}

// TestSortInTheQuery: an order in the query is followed, unless the request has another one or the
// pages cannot be sorted so; and notes about the query are in the answer.
func TestSortInTheQuery(t *testing.T) {
	f := newFixture(t)
	versions(f)
	for _, c := range []struct{ query, sort, first, note string }{
		{"database sort:version", "", "https://d.example/15/abs", ""},
		{"database sort:-version", "", "https://d.example/16/vacuum", ""},
		{"database sort:-version", "released", "https://d.example/15/vacuum", ""},
		{"database version:16 colour:[1 TO 2]", "", "https://d.example/16/vacuum", "colour is no field"},
	} {
		a := ask(t, crawl.SearchRequest{Query: c.query, Sort: c.sort}, f.Index)
		if len(a.Hits) == 0 || a.Hits[0].URL != c.first {
			t.Errorf("%s %s: %d hits, %+v", c.query, c.sort, len(a.Hits), a.Hits)
		}
		if notes := strings.Join(a.Notes, " "); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
			t.Errorf("%s: the notes are %q", c.query, notes)
		}
	}
}

// TestFieldsAreShown: a hit has the fields and the description of its page, unless the page forbids
// excerpts. It is found by them all the same.
func TestFieldsAreShown(t *testing.T) {
	f := newFixture(t)
	open := ruled("https://d.example/open", "Open", "<p>database one", "kind=Command")
	open.Ruled.Description, open.Ruled.Title = "What it is about", "Ruled title"
	shut := ruled("https://d.example/shut", "Shut", "<p>database two", "kind=Command")
	shut.Ruled.Description, shut.Directives = "secret", crawl.NoSnippet
	f.add(open, shut)
	for _, h := range f.search("database kind:command") {
		switch canon.URL(h.URL).Path() {
		case "/open":
			if h.Description != "What it is about" || len(h.Fields) != 1 || h.Fields[0].Values[0] != "Command" || h.Title != "Ruled title" {
				t.Errorf("%+v", h)
			}
		case "/shut":
			if h.Description != "" || h.Fields != nil {
				t.Errorf("a page with nosnippet shows %+v", h)
			}
		}
	}
	if got := f.urls("kind:command title:ruled"); !slices.Equal(got, []string{"/open"}) {
		t.Errorf("by the title of the rules: %q", got)
	}
}

// TestLongValues: of a long value the beginning is compared, and of too many the first.
func TestLongValues(t *testing.T) {
	f := newFixture(t)
	fits := strings.Repeat("v", maxFieldValue)
	f.add(ruled("https://d.example/a", "A", "<p>database one", "kind="+fits), ruled("https://d.example/b", "B", "<p>database two", "kind="+fits+"x"))
	if got := f.urls("kind:" + fits); len(got) != 2 {
		t.Errorf("%q", got)
	}
	if got := f.urls("kind:" + fits + "x"); len(got) != 0 {
		t.Errorf("%q", got)
	}
}
