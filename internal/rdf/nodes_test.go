package rdf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// nodesOf returns a document as JSON-LD, from memory and from a temporary file.
func nodesOf(t testing.TB, text string, f Format) string {
	t.Helper()
	var got []string
	for _, space := range []func(int64) error{nil, func(int64) error { return nil }} {
		n := JSONLD(iotest.OneByteReader(strings.NewReader(text)), f, base, Options{Space: space})
		out, err := io.ReadAll(n)
		n.Close()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if !json.Valid(out) {
			t.Fatalf("%q: no JSON: %s", text, out)
		}
		got = append(got, strings.TrimSpace(string(out)))
	}
	if got[0] != got[1] {
		t.Fatalf("in memory it is %s\nand in a file %s", got[0], got[1])
	}
	return strings.ReplaceAll(got[0], ",\n", "\n")
}

func TestJSONLD(t *testing.T) {
	const p = "@prefix e: <http://e.example/> . @prefix d: <http://www.w3.org/ns/dcat#> .\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "[]"},
		{"names of a vocabulary", `e:s a d:Dataset ; dct:title "x" ; <http://schema.org/name> "y" ; <https://schema.org/url> e:o ; e:p e:o .`,
			`[{"@id":"http://e.example/s","dct:title":[{"@value":"x"}],"http://e.example/p":[{"@id":"http://e.example/o"}],"@type":["dcat:Dataset"],"schema:name":[{"@value":"y"}],"schema:url":[{"@id":"http://e.example/o"}]}]`},
		{"a subject in two places", `e:s e:p "x" . e:t e:p "y" . e:s e:q "z" ; e:p "w" .`,
			`[{"@id":"http://e.example/s","http://e.example/p":[{"@value":"x"},{"@value":"w"}],"http://e.example/q":[{"@value":"z"}]}` + "\n" +
				`{"@id":"http://e.example/t","http://e.example/p":[{"@value":"y"}]}]`},
		{"the same twice", `e:s e:p "x" , "x" . e:s e:p "x" .`, `[{"@id":"http://e.example/s","http://e.example/p":[{"@value":"x"}]}]`},
		{"nested nodes", `e:s d:distribution [ d:byteSize 5 ] .`, `[{"@id":"_:genid1","dcat:byteSize":[{"@type":"xsd:integer","@value":"5"}]}` + "\n" + `{"@id":"http://e.example/s","dcat:distribution":[{"@id":"_:genid1"}]}]`},
		{"English first", `e:s e:p "a"@de , "b" , "c"@en-gb , "d"@fr , "e"@en .`,
			`[{"@id":"http://e.example/s","http://e.example/p":[{"@language":"en-gb","@value":"c"},{"@language":"en","@value":"e"},{"@language":"de","@value":"a"},{"@value":"b"},{"@language":"fr","@value":"d"}]}]`},
		{"a list", `e:s e:p ("a" e:b ("c") ()) .`,
			`[{"@id":"http://e.example/s","http://e.example/p":[{"@list":[{"@value":"a"},{"@id":"http://e.example/b"},{"@list":[{"@value":"c"}]},{"@list":[]}]}]}]`},
		{"a list in triples", `_:b rdf:rest rdf:nil . e:s e:p _:a . _:a rdf:first "x" ; rdf:rest _:b . _:b rdf:first "y" .`,
			`[{"@id":"http://e.example/s","http://e.example/p":[{"@list":[{"@value":"x"},{"@value":"y"}]}]}]`},
		{"a list that leads to itself", `e:s e:p _:a . _:a rdf:first _:a ; rdf:rest _:a .`,
			`[{"@id":"http://e.example/s","http://e.example/p":[{"@list":[{"@id":"_:a"}]}]}]`},
		{"an asset of ADMS", `e:s a adms:Asset .`, `[{"@id":"http://e.example/s","@type":["adms:Asset","dcat:Dataset"]}]`},
		{"odd texts", "e:s e:p \"\\\"\\\\<\\u2028\\u0001\" .", `[{"@id":"http://e.example/s","http://e.example/p":[{"@value":"\"\\<` + "\u2028" + `\u0001"}]}]`},
	} {
		if got := nodesOf(t, p+c.text, Turtle); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// A subject with many values becomes several nodes, none of which is too long for a reader, and no
// value is lost.
func TestJSONLDLongNode(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "<c> dcat:dataset <http://h.example/datasets/%06d> .\n", i)
		if i%1000 == 0 {
			fmt.Fprintf(&b, "<http://h.example/datasets/%06d> dct:title \"%d\" .\n", i, i)
		}
	}
	n := JSONLD(strings.NewReader(b.String()), Turtle, "http://h.example/", Options{})
	defer n.Close()
	out, err := io.ReadAll(n)
	if err != nil {
		t.Fatal(err)
	}
	parts, members := 0, 0
	for line := range bytes.Lines(out) {
		if len(line) > nodeBytes+runBytes {
			t.Errorf("a node of %d bytes", len(line))
		}
		if bytes.Contains(line, []byte(`"@id":"http://h.example/c"`)) {
			parts++
			members += bytes.Count(line, []byte("/datasets/"))
		}
	}
	if parts < 2 || members != 20_000 {
		t.Errorf("%d nodes with %d members", parts, members)
	}
}

func TestJSONLDLimits(t *testing.T) {
	subjects := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "<%d> <p> <o> .\n", i)
		}
		return b.String()
	}
	list := func(n int) string { return "<s> <p> (" + strings.Repeat("1 ", n) + ") ." }
	for _, c := range []struct {
		name, text string
		want       error
	}{
		{"subjects at the limit", subjects(10), nil},
		{"subjects beyond it", subjects(11), ErrSubjects},
		{"parts at the limit", strings.Repeat("<a> <p> <o> . <b> <p> <o> .", 20), nil},
		{"parts beyond it", strings.Repeat("<a> <p> <o> . <b> <p> <o> .", 20) + "<a> <p> <o> .", ErrSubjects},
	} {
		n := JSONLD(strings.NewReader(c.text), Turtle, base, Options{Subjects: 10})
		if _, err := io.ReadAll(n); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for n, want := range map[int]int{maxList: maxList, maxList + 1: maxList} {
		if got := strings.Count(nodesOf(t, list(n), Turtle), "xsd:integer"); got != want {
			t.Errorf("a list of %d has %d members", n, got)
		}
	}
	full := errors.New("full")
	n := JSONLD(strings.NewReader(subjects(10)), Turtle, base, Options{Space: func(int64) error { return full }})
	defer n.Close()
	if _, err := io.ReadAll(n); err != full {
		t.Errorf("without space: %v", err)
	}
}

// The order of lines means nothing: a document whose lines are reversed is the same graph.
func FuzzJSONLD(f *testing.F) {
	f.Add([]byte("<s> <p> (1 [ <q> (2) ] _:l) . _:l rdf:first <x> ; rdf:rest _:l . <s> a <C>, 1 ."), byte(0))
	f.Add([]byte("<s> <p> [ <q> [ <r> \"x\"@en, \"y\" ] ; <p> <s> ] ; a <C> . <t> <q> _:l . _:l <q> <t> . <s> <p> <t> ."), byte(0))
	for _, c := range xmlCases {
		f.Add([]byte(rdfOpen+c.text+"</rdf:RDF>"), byte(XML-Turtle))
	}
	f.Fuzz(func(t *testing.T, doc []byte, format byte) {
		form := Turtle + Format(format%5)
		out := nodesOf(t, string(doc), form)
		var lines []string
		rep, err := Read(bytes.NewReader(doc), form, base, func(x Triple) error {
			lines = append(lines, string(AppendNTriples(nil, x)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(lines)
		text := strings.Join(lines, "")
		if rep.Forgiven > 0 || strings.Contains(text, rdfFirst) || strings.Contains(text, "\\u00") || len(text) > 1<<20 {
			return // a list has an order, and an odd IRI another spelling
		}
		if a, b := statements(t, out), statements(t, nodesOf(t, text, NTriples)); !slices.Equal(a, b) {
			t.Errorf("in order it is\n%s\nin reverse\n%s", a, b)
		}
	})
}

// statements returns each statement in JSON-LD, sorted. Labels of blank nodes are as in the
// document, or else as they were given.
func statements(t *testing.T, text string) (all []string) {
	t.Helper()
	var nodes []map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(strings.ReplaceAll(text, "}\n{", "},{"), generated+"x", "")), &nodes); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	for _, n := range nodes {
		for key, values := range n {
			if list, ok := values.([]any); ok {
				for _, v := range list {
					one, err := json.Marshal([]any{n["@id"], key, v})
					if err != nil {
						t.Fatal(err)
					}
					all = append(all, string(one))
				}
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}
