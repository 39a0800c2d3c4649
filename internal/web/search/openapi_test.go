package search

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/web"
)

// schema is the part of JSON Schema that the document uses for its answers.
type schema struct {
	Ref                  string            `json:"$ref"`
	Type                 any               `json:"type"`
	Format               string            `json:"format"`
	Properties           map[string]schema `json:"properties"`
	AdditionalProperties *schema           `json:"additionalProperties"`
	Items                *schema           `json:"items"`
	Required             []string          `json:"required"`
	MaxLength            int               `json:"maxLength"`
	Maximum              int               `json:"maximum"`
}

type parameter struct {
	Ref    string `json:"$ref"`
	Name   string `json:"name"`
	In     string `json:"in"`
	Schema schema `json:"schema"`
}

// document is the part of OpenAPI that the test reads.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct{ Title, Version string }
	Paths   map[string]map[string]struct {
		Parameters []parameter
		Responses  map[string]json.RawMessage
	}
	Components struct {
		Parameters map[string]parameter
		Schemas    map[string]schema
		Responses  map[string]json.RawMessage
	}
}

func readDocument(t *testing.T) (d document) {
	t.Helper()
	code, _, body := get(t, New(Options{}), "/api/openapi.json")
	if err := json.Unmarshal([]byte(body), &d); err != nil || code != http.StatusOK {
		t.Fatal(code, err)
	}
	return d
}

// The document is OpenAPI 3.1, and has exactly the existing routes and parameters.
func TestOpenAPIRoutes(t *testing.T) {
	d := readDocument(t)
	if !strings.HasPrefix(d.OpenAPI, "3.1.") || d.Info.Version == "" || d.Info.Title == "" {
		t.Errorf("%s, %+v", d.OpenAPI, d.Info)
	}
	want := []string{pagesPath + "{url}"}
	for _, r := range New(Options{}).routes() {
		if strings.HasPrefix(r.path, "/api/") && r.path != "/api/" {
			want = append(want, r.path)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(d.Paths)); !slices.Equal(got, want) {
		t.Errorf("documented %q, served %q", got, want)
	}
	search := slices.Sorted(slices.Values(knownParams))
	for path, want := range map[string][]string{
		"/api/v1/search": search, "/api/search": search, "/api/v1/pages": {"content", "url"}, pagesPath + "{url}": {"content", "url"}, "/api/openapi.json": nil,
		suggestPath: {"format", "limit", "q"}, similarPath: slices.Sorted(slices.Values(similarParams)),
	} {
		var got []string
		for _, p := range d.Paths[path]["get"].Parameters {
			if p.Ref != "" {
				p = d.Components.Parameters[strings.TrimPrefix(p.Ref, "#/components/parameters/")]
			}
			got = append(got, p.Name)
			if p.Schema.Type == nil {
				t.Errorf("%s: parameter %q has no type", path, p.Name)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || len(d.Paths[path]) != 1 {
			t.Errorf("%s: parameters %q, want %q", path, got, want)
		}
	}
	params := d.Components.Parameters
	for name, want := range map[string]int{"q": maxQuery, "site": maxFilter, "lang": maxFilter, "type": maxFilter, "cursor": crawl.MaxCursor, "like": maxURL, "languages": maxLanguageList} {
		bound := params[name].Schema
		if repeats(name) {
			bound = *bound.Items
		}
		if bound.MaxLength != want {
			t.Errorf("%s: at most %d bytes, want %d", name, bound.MaxLength, want)
		}
	}
	if params["per"].Schema.Maximum != maxPer || params["page"].Schema.Maximum != maxNumber || params["per_site"].Schema.Maximum != maxPer {
		t.Errorf("per %+v, page %+v", params["per"], params["page"])
	}
	for _, status := range []string{"200", "400", "503"} {
		if d.Paths["/api/v1/search"]["get"].Responses[status] == nil {
			t.Errorf("search: no response %s", status)
		}
	}
	raw := string(openAPIDocument)
	for piece := range strings.SplitSeq(raw, `"$ref": "#/components/`) {
		ref, _, _ := strings.Cut(piece, `"`)
		kind, name, ok := strings.Cut(ref, "/")
		switch {
		case !ok: // what is before the first
		case kind == "schemas" && d.Components.Schemas[name].Type == nil, kind == "parameters" && params[name].Name == "",
			kind == "responses" && d.Components.Responses[name] == nil:
			t.Errorf("%s is not there", ref)
		}
	}
}

// The schemas have the fields of the Go types, with their types. Fields that are always present are
// required.
func TestOpenAPIFields(t *testing.T) {
	d := readDocument(t)
	c := checker{t, d.Components.Schemas, map[string]bool{}}
	c.object("Answer", reflect.TypeFor[Answer]())
	c.object("Suggestions", reflect.TypeFor[Suggestions]())
	c.object("PageRecord", reflect.TypeFor[crawl.PageRecord]())
	c.object("Problem", reflect.TypeFor[web.Details]())
	for name := range d.Components.Schemas {
		if !c.seen[name] {
			t.Errorf("the schema %s is no type's", name)
		}
	}
	if len(c.seen) < 7 {
		t.Errorf("only %v compared", c.seen)
	}
}

type checker struct {
	t       *testing.T
	schemas map[string]schema
	seen    map[string]bool
}

func (c checker) object(name string, typ reflect.Type) {
	if c.seen[name] {
		return
	}
	c.seen[name] = true
	s := c.schemas[name]
	fields := map[string]bool{}
	var required []string
	for f := range jsonFields(typ) {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[tag] = true
		if !strings.Contains(options, "omit") {
			required = append(required, tag)
		}
		p, ok := s.Properties[tag]
		if !ok {
			c.t.Errorf("%s.%s is not in the document", name, tag)
			continue
		}
		c.value(name+"."+tag, p, f.Type)
	}
	for p := range s.Properties {
		if !fields[p] {
			c.t.Errorf("%s.%s is in the document only", name, p)
		}
	}
	slices.Sort(required)
	if got := slices.Sorted(slices.Values(s.Required)); !slices.Equal(got, required) {
		c.t.Errorf("%s requires %q, want %q", name, got, required)
	}
}

// value compares a property with a Go type.
func (c checker) value(name string, s schema, typ reflect.Type) {
	kind := ""
	if typ == reflect.TypeFor[crawl.Fields]() { // it has a form of its own
		if s.Type != "object" {
			c.t.Errorf("%s is %v, want an object", name, s.Type)
		}
		return
	}
	switch typ.Kind() {
	case reflect.Pointer:
		if types, ok := s.Type.([]any); ok && len(types) == 2 && types[1] == "null" {
			s.Type = types[0]
		}
		c.value(name, s, typ.Elem())
		return
	case reflect.String:
		kind = "string"
	case reflect.Bool:
		kind = "boolean"
	case reflect.Int, reflect.Int64:
		kind = "integer"
	case reflect.Float64:
		kind = "number"
	case reflect.Slice, reflect.Array:
		kind = "array"
		if s.Items == nil {
			c.t.Errorf("%s: an array of what?", name)
			return
		}
		c.value(name+"[]", *s.Items, typ.Elem())
	case reflect.Map:
		kind = "object"
		if s.AdditionalProperties == nil {
			c.t.Errorf("%s: an object of what?", name)
			return
		}
		c.value(name+"{}", *s.AdditionalProperties, typ.Elem())
	case reflect.Struct:
		if typ.Name() == "Time" || typ.Name() == "Date" {
			kind = "string"
			if s.Format != map[string]string{"Time": "date-time", "Date": "date"}[typ.Name()] {
				c.t.Errorf("%s: format %q of a %s", name, s.Format, typ.Name())
			}
			break
		}
		ref := strings.TrimPrefix(s.Ref, "#/components/schemas/")
		if ref != typ.Name() {
			c.t.Errorf("%s is %q, want %s", name, ref, typ.Name())
		}
		c.object(typ.Name(), typ)
		return
	}
	if s.Type != kind {
		c.t.Errorf("%s is %v, want %s", name, s.Type, kind)
	}
}

// jsonFields are the fields that are written, those of embedded structs too.
func jsonFields(typ reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for _, f := range reflect.VisibleFields(typ) {
			if !f.Anonymous && f.IsExported() && f.Tag.Get("json") != "-" && !yield(f) {
				return
			}
		}
	}
}
