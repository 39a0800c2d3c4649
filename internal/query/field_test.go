package query

import (
	"reflect"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// fields are the fields of the tests. A field cannot be named like another filter.
var fields = Schema{
	"version": crawl.FieldNumber, "kind": crawl.FieldKeyword, "breadcrumb": crawl.FieldText, "released": crawl.FieldDate,
	"deprecated": crawl.FieldBoolean, "lang": crawl.FieldNumber,
}

func TestFieldFilters(t *testing.T) {
	for typed, want := range map[string]string{
		"vacuum version:16":                             "vacuum version:16",
		"Version:16.0 -version:15":                      "version:16 -version:15",
		"version:>=15 version:<=15 version:>15":         "version:>=15 version:<=15 version:>15",
		"version:14..16 version:..3 version:-2..":       "version:14..16 version:..3 version:-2..",
		"version:16..14 version:.. version:>x version:": "version:16..14 version:.. version:>x version:",
		"version:nan version:0x10 version:1e999":        "version:nan version:0x10 version:1e999",
		"version:1e3":                                   "version:1000",
		`kind:"Function  Reference"`:                    `kind:"function reference"`,
		`kind:Command kind:command -kind:page`:          `kind:command -kind:page`,
		`kind: x kind:"" a`:                             `kind: x kind: a`,
		"deprecated:YES -deprecated:false":              "deprecated:true -deprecated:false",
		"deprecated:maybe":                              "deprecated:maybe",
		"released:2024 released:>2024-5":                "released:2024 released:>2024-05",
		"released:2024-05-01T10:00:00+02:00":            "released:2024-05-01T08:00:00Z",
		"released:2023..2024-05-31":                     "released:2023..2024-05-31",
		"released:soon":                                 "released:soon",
		"breadcrumb:SQL":                                "breadcrumb:sql",
		"chapter:3":                                     "chapter:3",
		"lang:de":                                       "lang:de",
		"-version:15":                                   "-version:15",
	} {
		q := fields.Parse(typed)
		if got := q.String(); got != want {
			t.Errorf("%q is read as %q, want %q", typed, got, want)
		}
		checkRoundTripIn(t, fields, typed)
	}
	if q := Parse("vacuum version:16"); len(q.Filters.Fields) > 0 || len(q.Groups) != 2 {
		t.Errorf("without fields version:16 is not a word: %+v", q)
	}
	if q := fields.Parse("-version:15"); q.Empty() {
		t.Error("a query of a negated filter alone is empty")
	}
}

// TestTyped: a filter that somebody is shown has the letters of the value, and is read as the same.
func TestTyped(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"kind", "SQL command", `kind:"SQL command"`},
		{"kind", "Command", "kind:Command"},
		{"kind", "  A   (b) ", `kind:"A (b)"`},
		{"kind", `The "x" of Y`, `kind:"the x of y"`},
		{"kind", "\u200bX", "kind:X"},
		{"kind", "", ""},
		{"version", "16.0", "version:16"},
		{"released", "2024-05-01T00:00:00Z", "released:2024-05-01T00:00:00Z"},
		{"deprecated", "true", "deprecated:true"},
		{"-kind", "A B", `-kind:"A B"`},
		{"site", "docs.example.org", "site:docs.example.org"},
		{"year", "2024", "after:2024-01-01 before:2025-01-01"},
		{"nothing", "x", ""},
	} {
		if got := fields.Typed(c.name, c.value); got != c.want {
			t.Errorf("%s %q is typed as %q, want %q", c.name, c.value, got, c.want)
		}
	}
}

// TestFieldBounds: which values pass a filter of a number or a date.
func TestFieldBounds(t *testing.T) {
	for _, c := range []struct{ filter, pass, fail string }{
		{"version:16", "16", "15 17 16.0001"},
		{"version:>=15", "15 15.5 99", "14.999999999999998 -15"},
		{"version:>15", "15.000000000000002 16", "15 14"},
		{"version:<15", "14.999999999999998 -3", "15"},
		{"version:<=15", "15 0", "15.000000000000002"},
		{"version:14..16", "14 15.5 16", "13 17"},
		{"released:2024", "2024-01-01T00:00:00Z 2024-12-31T23:59:59Z", "2023-12-31T23:59:59Z 2025-01-01T00:00:00Z"},
		{"released:>2024-05", "2024-06-01T00:00:00Z", "2024-05-31T23:59:59Z"},
		{"released:>=2024-05", "2024-05-01T00:00:00Z", "2024-04-30T23:59:59Z"},
		{"released:<2024-05-02", "2024-05-01T23:59:59Z", "2024-05-02T00:00:00Z"},
		{"released:..2024", "1999-01-01T00:00:00Z 2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z"},
	} {
		f := fields.Parse(c.filter).Filters.Fields
		if len(f) != 1 {
			t.Fatalf("%s is not one filter: %+v", c.filter, f)
		}
		for values, want := range map[string]bool{c.pass: true, c.fail: false} {
			for _, v := range strings.Fields(values) {
				n, ok := FieldNumber(f[0].Type, v)
				if !ok {
					t.Fatalf("%s is not a value of a %v", v, f[0].Type)
				}
				if got := f[0].From <= n && n <= f[0].To; got != want {
					t.Errorf("%s: %s passes: %v", c.filter, v, got)
				}
			}
		}
	}
}

func TestWithFields(t *testing.T) {
	for _, c := range []struct{ typed, name, value, with, without string }{
		{"a", "version", "16", "a version:16", "a"},
		{"a version:15 version:16", "version", "16", "a version:16", "a version:15"},
		{"a", "kind", `Function "Reference"`, `a kind:"function reference"`, "a"},
		{"a kind:x", "-kind", "y", "a kind:x -kind:y", "a kind:x"},
		{"a kind:x", "kind", "", "a kind:x", "a"},
		{"a", "chapter", "1", "a", "a"},
		{"a", "version", "new", "a", "a"},
	} {
		q := fields.Parse(c.typed)
		if got := q.With(c.name, c.value).String(); got != c.with {
			t.Errorf("%q with %s %q: %q, want %q", c.typed, c.name, c.value, got, c.with)
		}
		if got := q.Without(c.name, c.value).String(); got != c.without {
			t.Errorf("%q without %s %q: %q, want %q", c.typed, c.name, c.value, got, c.without)
		}
		if !reflect.DeepEqual(q, fields.Parse(c.typed)) {
			t.Errorf("%q itself was changed", c.typed)
		}
	}
}
