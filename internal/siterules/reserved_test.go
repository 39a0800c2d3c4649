package siterules_test

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
	"github.com/curtsy/curtsy/internal/siterules"
	"github.com/curtsy/curtsy/internal/web/search"
)

// A field cannot have the name of a column or a member of exports, or of a filter of the search.
func TestReservedNames(t *testing.T) {
	names := append([]string{"inurl"}, search.ParamNames()...)
	var collect func(of reflect.Type, tag string)
	collect = func(of reflect.Type, tag string) {
		for f := range of.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
			switch {
			case f.Anonymous:
				collect(f.Type, tag)
			case name != "" && name != "-":
				names = append(names, name)
			}
		}
	}
	collect(reflect.TypeFor[export.Page](), "parquet")
	collect(reflect.TypeFor[crawl.PageRow](), "json")
	if len(names) < 60 {
		t.Errorf("only %d names", len(names))
	}
	for _, name := range names {
		if !siterules.Reserved(name) {
			t.Errorf("%s is not reserved", name)
		}
	}
	for _, name := range []string{"version", "chapter", "kind", "author", "breadcrumb"} {
		if siterules.Reserved(name) {
			t.Errorf("%s is reserved", name)
		}
	}
}

// Rules are used by many goroutines at a time. XPath expressions change while they are used.
func TestConcurrent(t *testing.T) {
	const text = "sites:\n  x.example:\n    fields: {a: {xpath: \"count(//p[b])\", type: number}, b: {xpath: //p/b, many: true}}\n"
	r, err := siterules.Parse("sites.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	if r.Hash() != (&crawl.Spec{Sites: text}).SitesHash() {
		t.Error("the hash is not that of the crawl")
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			page := strings.Repeat("<p><b>x</b>", i+1)
			for range 50 {
				out := r.For("https://x.example/").Read(siterules.Input{URL: "https://x.example/", ContentType: "text/html", Body: []byte(page)})
				if got := out.Ruled.Fields[0].Values[0]; got != string(rune('1'+i)) {
					t.Errorf("%d paragraphs, want %d", got[0]-'0', i+1)
					return
				}
			}
		})
	}
	all.Wait()
}
