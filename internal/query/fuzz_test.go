package query

import (
	"reflect"
	"testing"
	"unicode/utf8"
)

// checkRoundTrip holds a query to its limits, and to its canonical spelling.
func checkRoundTrip(t *testing.T, typed string) {
	t.Helper()
	q := Parse(typed)
	s := q.String()
	if len(s) > MaxBytes || q.terms() > MaxTerms {
		t.Fatalf("Parse(%q) is beyond the limits: %d bytes, %d terms", typed, len(s), q.terms())
	}
	if !utf8.ValidString(s) {
		t.Fatalf("Parse(%q).String() = %q is not valid UTF-8", typed, s)
	}
	q.Cut = false
	if again := Parse(s); !reflect.DeepEqual(again, q) {
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
		`„a“ «b» −c 24" lang:de-AT -type:text/html inurl:"A (b)"`, "(foo(bar) AND baz())*", "site:a.example/*#f*", "\x00\xff\u202e-\u00ad-a",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkRoundTrip(t, s) })
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
		q.Cut = false
		if again := Parse(q.String()); !reflect.DeepEqual(again, q) {
			t.Fatalf("%q %s %q is\n %+v, and of its spelling %q\n %+v", s, name, value, q, q.String(), again)
		}
	})
}
