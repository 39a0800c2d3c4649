package rdf

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// checkRead checks what holds of every document: the result is the same however the document
// arrives, each term is valid, and its N-Triples are read as the same triples without a mistake,
// also as Turtle.
func checkRead(t *testing.T, doc []byte, f Format) {
	t.Helper()
	read := func(r io.Reader, f Format) (all []Triple, rep Report) {
		rep, err := Read(r, f, base, func(x Triple) error {
			all = append(all, x)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return all, rep
	}
	all, rep := read(bytes.NewReader(doc), f)
	slow, again := read(iotest.OneByteReader(bytes.NewReader(doc)), f)
	if !slices.Equal(all, slow) || fmt.Sprint(rep) != fmt.Sprint(again) {
		t.Fatalf("byte by byte it is\n%v %v\nand not\n%v %v", slow, again, all, rep)
	}
	var lines []byte
	for _, x := range all {
		if x.Predicate == "" || x.Subject.Kind == Literal || x.Subject.Kind == 0 || x.Object.Kind == 0 {
			t.Fatalf("%v is no triple", x)
		}
		for _, v := range []string{x.Subject.Value, x.Predicate, x.Object.Value, x.Object.Datatype} {
			if !utf8.ValidString(v) {
				t.Fatalf("%q is not UTF-8", v)
			}
		}
		lines = AppendNTriples(lines, x)
	}
	for _, f := range []Format{NTriples, NQuads, Turtle, TriG} {
		same, rep := read(bytes.NewReader(lines), f)
		if rep.Lost > 0 || len(same) != len(all) {
			t.Fatalf("%d triples become %d: %v\n%s", len(all), len(same), rep.Mistakes, lines)
		}
		for i, x := range same {
			for _, term := range []*Term{&x.Subject, &x.Object} {
				if term.Kind == Blank {
					term.Value = strings.TrimPrefix(term.Value, generated+"x")
				}
			}
			if !sameTriple(x, all[i]) {
				t.Fatalf("%v becomes %v", all[i], x)
			}
		}
	}
}

// sameTriple compares triples. An IRI that had to be escaped comes back in another spelling.
func sameTriple(a, b Triple) bool {
	odd := func(s string) bool {
		return strings.ContainsAny(s, "<>\"{}|^`\\ ") || strings.IndexFunc(s, func(c rune) bool { return c <= ' ' || c == utf8.RuneError }) >= 0 || schemeEnd(s) < 0 || strings.Contains(s, "/.")
	}
	iri := func(a, b string) bool { return a == b || odd(b) }
	term := func(a, b Term) bool {
		if a.Kind == IRI && b.Kind == IRI {
			return iri(a.Value, b.Value)
		}
		return a.Kind == b.Kind && a.Value == b.Value && a.Language == b.Language && iri(a.Datatype, b.Datatype)
	}
	return term(a.Subject, b.Subject) && iri(a.Predicate, b.Predicate) && term(a.Object, b.Object)
}

func FuzzTurtle(f *testing.F) {
	for i, c := range turtleCases {
		f.Add([]byte(c.text), byte(Turtle)+byte(i%4))
	}
	f.Add([]byte("e:g { e:s e:p \"x\ny\" . } \"unclosed"), byte(TriG))
	f.Fuzz(func(t *testing.T, doc []byte, format byte) {
		checkRead(t, doc, Turtle+Format(format%4))
	})
}
