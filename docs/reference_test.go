package docs_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/query"
)

// TestSearchSyntax: the page about the query language has every operator that its help has.
func TestSearchSyntax(t *testing.T) {
	page := read(t, "reference/search-syntax.md")
	operators := regexp.MustCompile(`\b[a-z]+:|\bOR\b|\w+\*`).FindAllString(query.Help, -1)
	if len(operators) < 8 {
		t.Errorf("only %q found", operators)
	}
	for _, o := range operators {
		if !strings.Contains(page, o) {
			t.Errorf("%s is not described", o)
		}
	}
}

// TestHTTPAPI: the page about the HTTP API has every path and parameter of its description.
func TestHTTPAPI(t *testing.T) {
	var api struct {
		Paths      map[string]any
		Components struct{ Parameters map[string]any }
	}
	if err := json.Unmarshal([]byte(read(t, "../internal/web/search/openapi.json")), &api); err != nil {
		t.Fatal(err)
	}
	if len(api.Paths) < 3 || len(api.Components.Parameters) < 8 {
		t.Fatalf("%d paths, %d parameters", len(api.Paths), len(api.Components.Parameters))
	}
	page := read(t, "reference/http-api.md")
	for path := range api.Paths {
		if path, _, _ = strings.Cut(path, "/{"); !strings.Contains(page, "`"+path) {
			t.Errorf("the path %s is not described", path)
		}
	}
	for name := range api.Components.Parameters {
		if !regexp.MustCompile("`" + name + "[`=]").MatchString(page) {
			t.Errorf("the parameter %s is not described", name)
		}
	}
}
