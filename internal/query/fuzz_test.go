package query

import (
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
)

// checkRoundTrip holds a query to its limits, and to its canonical spelling.
func checkRoundTrip(t *testing.T, typed string) {
	t.Helper()
	checkRoundTripIn(t, nil, typed)
}

func checkRoundTripIn(t *testing.T, schema Schema, typed string) {
	t.Helper()
	q := schema.Parse(typed)
	s := q.String()
	if len(s) > MaxBytes || q.terms() > MaxTerms {
		t.Fatalf("Parse(%q) is beyond the limits: %d bytes, %d terms", typed, len(s), q.terms())
	}
	if !utf8.ValidString(s) {
		t.Fatalf("Parse(%q).String() = %q is not valid UTF-8", typed, s)
	}
	q.Cut, q.Notes = false, nil
	again := schema.Parse(s)
	again.Notes = nil
	if !reflect.DeepEqual(again, q) {
		t.Fatalf("Parse(%q) =\n %+v, and of its spelling %q\n %+v", typed, q, s, again)
	}
	for _, g := range q.Groups {
		if len(g.Any) == 0 {
			t.Fatalf("Parse(%q) has a group without alternatives", typed)
		}
		for _, a := range g.Any {
			checkAtom(t, a)
		}
	}
	for _, a := range q.Not {
		checkAtom(t, a)
	}
}

func checkAtom(t *testing.T, a Atom) {
	t.Helper()
	if a.Text == "" || a.Phrase && a.Prefix {
		t.Fatalf("an atom is %+v", a)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`vacuum -full "event loop" OR title:a* site:https://münchen.example/(x) -(b | ->>) after:2024-05`, "-Wall", `title:"x`, "OR a OR",
		`„a“ «b» −c 24" lang:de-AT -type:text/html inurl:"A (b)"`, "(foo(bar) AND baz())*", "site:a.example/*#f*",
		`a NOT (b NOT c) NOT`, `NOT gate`, `+a +"b" "c"+d va*um~1 word^2 "x y"~5`, `allintitle: a "b c" intitle:d ext:pdf sort:-date`, "\x00\xff\u202e-\u00ad-a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkRoundTrip(t, s) })
}

// FuzzFields: filters by fields keep the limits and the canonical spelling like all others, and
// With and Without stay within them.
func FuzzFields(f *testing.F) {
	f.Add(`version:>=15 -version:1e3 version:14..16.50`, "version", "<-2")
	f.Add(`kind:"a (b" KIND:C d -kind:„x“ deprecated:yes`, "kind", "x\"y")
	f.Add(`version:[14 TO *] released:{2020 TO 2021} sort:kind-desc NOT version:16`, "version", "[1 TO 2]")
	f.Add(`released:2024 released:..2024-5 released:>2024-05-01T10:00:00+02:00`, "released", "2023")
	f.Fuzz(func(t *testing.T, s, name, value string) {
		checkRoundTripIn(t, fields, s)
		q := fields.Parse(s)
		checkRoundTripIn(t, fields, q.With(name, value).String())
		checkRoundTripIn(t, fields, q.Without(name, value).String())
		for _, field := range q.Filters.Fields {
			if n, ok := FieldNumber(field.Type, value); ok && field.From > field.To {
				t.Fatalf("%+v is empty for %v", field, n)
			}
			if Fold(field.Text) != field.Text && field.Type <= crawl.FieldKeyword {
				t.Fatalf("%q is folded to %q", field.Text, Fold(field.Text))
			}
		}
	})
}

// FuzzWith: what is made by narrowing is a query like any other.
func FuzzWith(f *testing.F) {
	f.Add("a -b", "site", "example.org/x", true)
	f.Add("-b lang:de", "lang", "de", false)
	f.Add("a", "-inurl", "x\" (y", true)
	f.Fuzz(func(t *testing.T, s, name, value string, with bool) {
		q := Parse(s)
		if with {
			q = q.With(name, value)
		} else {
			q = q.Without(name, value)
		}
		if len(q.String()) > MaxBytes || q.terms() > MaxTerms {
			t.Fatalf("%q %s %q is beyond the limits", s, name, value)
		}
		q.Cut, q.Notes = false, nil
		again := Parse(q.String())
		again.Notes = nil
		if !reflect.DeepEqual(again, q) {
			t.Fatalf("%q %s %q is\n %+v, and of its spelling %q\n %+v", s, name, value, q, q.String(), again)
		}
	})
}
