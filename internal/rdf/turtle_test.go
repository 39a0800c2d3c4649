package rdf

import (
	"strings"
	"testing"
	"testing/iotest"
)

const (
	base = "http://h.example/dir/doc"
	exNS = "http://e.example/"
)

// short writes the triples of a document as N-Triples, with <s> for <http://e.example/s>.
func short(t testing.TB, text string, f Format) (lines string, rep Report) {
	t.Helper()
	var out []byte
	rep, err := Read(strings.NewReader(text), f, base, func(x Triple) error {
		out = AppendNTriples(out, x)
		return nil
	})
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	s := strings.NewReplacer("<"+exNS, "<", nsRDF, "rdf:", nsXSD, "xsd:", " .\n", "\n").Replace(string(out))
	return strings.TrimSuffix(s, "\n"), rep
}

// The kinds of the W3C's tests of Turtle 1.1, in our own words.
var turtleCases = []struct{ name, text, want string }{
	{"a triple", `<http://e.example/s> <http://e.example/p> <http://e.example/o> .`, `<s> <p> <o>`},
	{"no space at all", `<http://e.example/s><http://e.example/p><http://e.example/o>.`, `<s> <p> <o>`},
	{"prefix", `@prefix : <http://e.example/> . :s :p :o .`, `<s> <p> <o>`},
	{"prefix of letters", `@prefix e: <http://e.example/>. e:s e:p e:o.`, `<s> <p> <o>`},
	{"PREFIX of SPARQL", "PREFIX e: <http://e.example/>\ne:s e:p e:o.", `<s> <p> <o>`},
	{"prefix in mixed case", "pReFiX e: <http://e.example/>\ne:s e:p e:o.", `<s> <p> <o>`},
	{"a prefix declared twice", `@prefix e: <http://x/> . @prefix e: <http://e.example/> . e:s e:p e:o .`, `<s> <p> <o>`},
	{"a prefix with dots", `@prefix a.b.c: <http://e.example/> . a.b.c:s a.b.c:p a.b.c:o .`, `<s> <p> <o>`},
	{"a prefix alone", `@prefix e: <http://e.example/s> . @prefix f: <http://e.example/> . e: f:p e: .`, `<s> <p> <s>`},
	{"a prefix beyond ASCII", `@prefix é: <http://e.example/> . é:s é:p é:o .`, `<s> <p> <o>`},
	{"prefix relative to the base", `@base <http://e.example/x/> . @prefix e: <../> . e:s e:p e:o .`, `<s> <p> <o>`},
	{"base", `@base <http://e.example/x/> . <s> <../p> </o> .`, `<x/s> <p> <o>`},
	{"BASE of SPARQL", "BASE <http://e.example/x/>\n<s> <../p> </o> .", `<x/s> <p> <o>`},
	{"base relative to another", `@base <http://e.example/x/> . @base <y/> . <s> <../p> </o> .`, `<x/y/s> <x/p> <o>`},
	{"the document's own address", `<> <#p> <?q> .`, `<http://h.example/dir/doc> <http://h.example/dir/doc#p> <http://h.example/dir/doc?q>`},
	{"a", `@prefix e: <http://e.example/>. e:s a e:C .`, `<s> <rdf:type> <C>`},
	{"objects", `@prefix e: <http://e.example/>. e:s e:p e:a , e:b,e:c .`, "<s> <p> <a>\n<s> <p> <b>\n<s> <p> <c>"},
	{"predicates", `@prefix e: <http://e.example/>. e:s e:p e:a ; e:q e:b .`, "<s> <p> <a>\n<s> <q> <b>"},
	{"semicolons in a row", `@prefix e: <http://e.example/>. e:s e:p e:a ;;; e:q e:b ; ; .`, "<s> <p> <a>\n<s> <q> <b>"},
	{"a blank node with a label", `@prefix e: <http://e.example/>. _:b e:p _:c .`, `_:b <p> _:c`},
	{"labels with dots and digits", `@prefix e: <http://e.example/>. _:0a.b-c e:p _:é .`, `_:0a.b-c <p> _:é`},
	{"a label before the full stop", `@prefix e: <http://e.example/>. e:s e:p _:b.`, `<s> <p> _:b`},
	{"an empty blank node", `@prefix e: <http://e.example/>. [] e:p [ ] .`, `_:genid1 <p> _:genid2`},
	{"a blank node with properties", `@prefix e: <http://e.example/>. e:s e:p [ e:q e:o ; e:r e:n ] .`, "_:genid1 <q> <o>\n_:genid1 <r> <n>\n<s> <p> _:genid1"},
	{"as subject", `@prefix e: <http://e.example/>. [ e:q e:o ] e:p e:n .`, "_:genid1 <q> <o>\n_:genid1 <p> <n>"},
	{"alone", `@prefix e: <http://e.example/>. [ e:q e:o ] .`, `_:genid1 <q> <o>`},
	{"nested", `@prefix e: <http://e.example/>. e:s e:p [ e:q [ e:r e:o ] ] .`, "_:genid2 <r> <o>\n_:genid1 <q> _:genid2\n<s> <p> _:genid1"},
	{"a label like ours", `@prefix e: <http://e.example/>. _:genid1 e:p [] .`, `_:genidxgenid1 <p> _:genid1`},
	{"an empty collection", `@prefix e: <http://e.example/>. e:s e:p () .`, `<s> <p> <rdf:nil>`},
	{"a collection", `@prefix e: <http://e.example/>. e:s e:p (e:a "b") .`,
		"_:genid1 <rdf:first> <a>\n_:genid1 <rdf:rest> _:genid2\n_:genid2 <rdf:first> \"b\"\n_:genid2 <rdf:rest> <rdf:nil>\n<s> <p> _:genid1"},
	{"a collection as subject", `@prefix e: <http://e.example/>. (1) e:p e:o .`,
		"_:genid1 <rdf:first> \"1\"^^<xsd:integer>\n_:genid1 <rdf:rest> <rdf:nil>\n_:genid1 <p> <o>"},
	{"collections in collections", `@prefix e: <http://e.example/>. e:s e:p (()) .`,
		"_:genid1 <rdf:first> <rdf:nil>\n_:genid1 <rdf:rest> <rdf:nil>\n<s> <p> _:genid1"},
	{"literal", `@prefix e: <http://e.example/>. e:s e:p "x" , 'y' .`, "<s> <p> \"x\"\n<s> <p> \"y\""},
	{"empty literals", `@prefix e: <http://e.example/>. e:s e:p "" , '' , """""" , '''''' .`, "<s> <p> \"\"\n<s> <p> \"\"\n<s> <p> \"\"\n<s> <p> \"\""},
	{"the other quote", `@prefix e: <http://e.example/>. e:s e:p "it's" , 'a "b"' .`, "<s> <p> \"it's\"\n<s> <p> \"a \\\"b\\\"\""},
	{"a long literal", "@prefix e: <http://e.example/>. e:s e:p \"\"\"a\n\"b\" \"\"c\"\"\" , '''d'e''f''' .", "<s> <p> \"a\\n\\\"b\\\" \\\"\\\"c\"\n<s> <p> \"d'e''f\""},
	{"quotes before the end", `@prefix e: <http://e.example/>. e:s e:p """a"""" , """b""""" .`, "<s> <p> \"a\\\"\"\n<s> <p> \"b\\\"\\\"\""},
	{"escapes", `@prefix e: <http://e.example/>. e:s e:p "\t\b\n\r\f\"\'\\" .`, "<s> <p> \"\t\b\\n\\r\f\\\"'\\\\\""},
	{"escapes of code points", `@prefix e: <http://e.example/>. e:s e:p "\u00e9\U0001F600" .`, `<s> <p> "é😀"`},
	{"an escape in an IRI", `<http://e.example/\u0073> <http://e.example/\U00000070> <http://e.example/é> .`, `<s> <p> <é>`},
	{"a language", `@prefix e: <http://e.example/>. e:s e:p "x"@en , "y"@de-AT-1996 .`, "<s> <p> \"x\"@en\n<s> <p> \"y\"@de-at-1996"},
	{"a datatype", `@prefix e: <http://e.example/>. @prefix xsd: <http://www.w3.org/2001/XMLSchema#> . e:s e:p "1"^^xsd:byte , "x"^^<http://e.example/t> .`,
		"<s> <p> \"1\"^^<xsd:byte>\n<s> <p> \"x\"^^<t>"},
	{"xsd:string is nothing", `@prefix e: <http://e.example/>. e:s e:p "x"^^<http://www.w3.org/2001/XMLSchema#string> .`, `<s> <p> "x"`},
	{"integers", `@prefix e: <http://e.example/>. e:s e:p 1 , -2,+03 .`, "<s> <p> \"1\"^^<xsd:integer>\n<s> <p> \"-2\"^^<xsd:integer>\n<s> <p> \"+03\"^^<xsd:integer>"},
	{"an integer before the full stop", `@prefix e: <http://e.example/>. e:s e:p 1.`, `<s> <p> "1"^^<xsd:integer>`},
	{"decimals", `@prefix e: <http://e.example/>. e:s e:p 1.5 , -.5 .`, "<s> <p> \"1.5\"^^<xsd:decimal>\n<s> <p> \"-.5\"^^<xsd:decimal>"},
	{"doubles", `@prefix e: <http://e.example/>. e:s e:p 1e5 , 1.E-5 , .5E+3 , 1.5e0.`,
		"<s> <p> \"1e5\"^^<xsd:double>\n<s> <p> \"1.E-5\"^^<xsd:double>\n<s> <p> \".5E+3\"^^<xsd:double>\n<s> <p> \"1.5e0\"^^<xsd:double>"},
	{"booleans", `@prefix e: <http://e.example/>. e:s e:p true , false.`, "<s> <p> \"true\"^^<xsd:boolean>\n<s> <p> \"false\"^^<xsd:boolean>"},
	{"a local name of digits", `@prefix e: <http://e.example/>. e:1 e:2.3 e:4- .`, `<1> <2.3> <4->`},
	{"a colon in a local name", `@prefix e: <http://e.example/>. e:a:b e::p e:o: .`, `<a:b> <:p> <o:>`},
	{"escapes in a local name", `@prefix e: <http://e.example/>. e:a\/b e:\~\.\-\!\$\&\'\(\)\*\+\, e:\;\=\/\?\#\@\%\_ .`, `<a/b> <~.-!$&'()*+,> <;=/?#@%_>`},
	{"percent in a local name", `@prefix e: <http://e.example/>. e:%41b e:p%7e e:o.%2F .`, `<%41b> <p%7e> <o.%2F>`},
	{"letters beyond ASCII", `@prefix e: <http://e.example/>. e:été e:ページ e:𐀀 .`, `<été> <ページ> <𐀀>`},
	{"a name before the full stop", `@prefix e: <http://e.example/>. e:s e:p e:o.`, `<s> <p> <o>`},
	{"comments", "@prefix e: <http://e.example/>. # x\ne:s # y .\n e:p #z\n e:o . # end", `<s> <p> <o>`},
	{"no comment in an IRI", `<http://e.example/s#x> <http://e.example/p> "#" .`, `<s#x> <p> "#"`},
	{"line ends of other systems", "@prefix e: <http://e.example/>.\r\ne:s e:p e:o.\re:s e:p e:n.", "<s> <p> <o>\n<s> <p> <n>"},
	{"byte order mark", "\ufeff<http://e.example/s> <http://e.example/p> <http://e.example/o> .", `<s> <p> <o>`},
	{"nothing", " \n# nothing", ""},
	{"words in names", `@prefix true: <http://e.example/>. @prefix a: <http://e.example/>. true:s a:a true:prefix .`, `<s> <a> <prefix>`},
}

func TestTurtle(t *testing.T) {
	for _, c := range turtleCases {
		if got, rep := short(t, c.text, Turtle); got != c.want || rep.Lost+rep.Forgiven > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
		}
	}
}

// Documents that the W3C's tests expect a reader to reject. We read what is readable, and report
// the mistake.
func TestTurtleMistakes(t *testing.T) {
	const p = "@prefix e: <http://e.example/> .\n"
	const next = "\ne:n e:p e:o ."
	const read = "<n> <p> <o>"
	for _, c := range []struct {
		name, text, want string
		lost             int
	}{
		{"a literal as subject", `"x" e:p e:o .` + next, read, 1},
		{"a number as subject", `1 e:p e:o .` + next, read, 1},
		{"a literal as predicate", `e:s "x" e:o .` + next, read, 1},
		{"a blank node as predicate", `e:s _:b e:o .` + next, read, 1},
		{"brackets as predicate", `e:s [] e:o .` + next, read, 1},
		{"a as subject", `a e:p e:o .` + next, read, 1},
		{"a as object", `e:s e:p a .` + next, read, 1},
		{"true as subject", `true e:p e:o .` + next, read, 1},
		{"no object", `e:s e:p .` + next, read, 1},
		{"no predicate", `e:s .` + next, read, 1},
		{"four terms", `e:s e:p e:o e:q .` + next, "<s> <p> <o>\n" + read, 1},
		{"a comma first", `e:s e:p , e:o .` + next, read, 1},
		{"a semicolon first", `e:s ; e:p e:o .` + next, read, 1},
		{"a comma too many", `e:s e:p e:o , .` + next, "<s> <p> <o>\n" + read, 0},
		{"a comma before a semicolon", `e:s e:p e:o , ; e:q e:o .` + next, "<s> <p> <o>\n<s> <q> <o>\n" + read, 0},
		{"a full stop too many", `e:s e:p e:o . .` + next, "<s> <p> <o>\n" + read, 0},
		{"no full stop at the end", `e:n e:p e:o`, read, 0},
		{"no full stop between lines", `e:s e:p e:o` + next, "<s> <p> <o>\n" + read, 0},
		{"a bracket is open", `e:s e:p [ e:q e:o .` + next, "_:genid1 <q> <o>\n" + read, 1},
		{"a bracket too many", `e:s e:p e:o ] .` + next, "<s> <p> <o>\n" + read, 1},
		{"a parenthesis is open", `e:s e:p ( e:o .` + next, "_:genid1 <rdf:first> <o>\n" + read, 1},
		{"a line end in a literal", "e:s e:p \"x\ny .\n" + next, read, 1},
		{"a line end in a literal that goes on", "e:s e:p \"x\ny\" ." + next, "<s> <p> \"x\\ny\"\n" + read, 0},
		{"an unknown escape", `e:s e:p "C:\dir" .` + next, `<s> <p> "C:\\dir"` + "\n" + read, 0},
		{"half an escape", `e:s e:p "\u00Gz" .` + next, `<s> <p> "\\u00Gz"` + "\n" + read, 0},
		{"half a surrogate", `e:s e:p "\uD800" .` + next, "<s> <p> \"\uFFFD\"\n" + read, 0},
		{"a space in an IRI", `e:s e:p <http://e.example/a b.csv> .` + next, "<s> <p> <a%20b.csv>\n" + read, 0},
		{"braces in an IRI", `e:s e:p <http://e.example/{x}|y> .` + next, "<s> <p> <\\u007Bx\\u007D\\u007Cy>\n" + read, 0},
		{"an escaped space in an IRI", `e:s e:p <http://e.example/a\u0020b> .` + next, "<s> <p> <a%20b>\n" + read, 0},
		{"a backslash in an IRI", `e:s e:p <http://e.example/a\b> .` + next, "<s> <p> <a\\u005Cb>\n" + read, 0},
		{"an IRI without an end", "e:s e:p <http://e.example/o .\n" + next, read, 1},
		{"an undeclared prefix", `e:s x:p e:o .` + next, "<s> <x:p> <o>\n" + read, 0},
		{"an undeclared prefix that is known", `e:s dct:title "x" .` + next, "<s> <http://purl.org/dc/terms/title> \"x\"\n" + read, 0},
		{"a slash in a name", `e:a/b e:p e:o .` + next, "<a/b> <p> <o>\n" + read, 0},
		{"an unknown directive", `@foo <http://x/> .` + next, read, 1},
		{"a prefix without an IRI", `@prefix x: e:o .` + next, read, 1},
		{"a prefix without a colon", `@prefix x <http://x/> .` + next, read, 1},
		{"a prefix without a full stop", "@prefix x: <http://x/>" + next, read, 0},
		{"a full stop after PREFIX", "PREFIX x: <http://x/> ." + next, read, 0},
		{"a language of digits", `e:s e:p "x"@1 .` + next, read, 1},
		{"an underscore in a language", `e:s e:p "x"@en_GB .` + next, "<s> <p> \"x\"@en-gb\n" + read, 0},
		{"a datatype that is a literal", `e:s e:p "x"^^"y" .` + next, read, 1},
		{"no digits", `e:s e:p + .` + next, read, 1},
		{"an exponent without digits", `e:s e:p 1e .` + next, "<s> <p> \"1\"^^<xsd:integer>\n" + read, 1},
		{"a label without letters", `e:s e:p _: .` + next, read, 1},
		{"a label that begins with a dot", `e:s e:p _:.b .` + next, read, 1},
		{"N3: a formula", `{ e:s e:p e:o } => { } .` + next, "<s> <p> <o>\n" + read, 1},
		{"N3: is of", `e:s is e:p of e:o .` + next, read, 1},
		{"N3: a path", `e:s!e:p e:q e:o .` + next, read, 1},
		{"N3: a variable", `?x e:p e:o .` + next, read, 1},
		{"RDF-star", `<< e:s e:p e:o >> e:q e:o .` + next, read, 1},
		{"an IRI with a full stop and a space in it", "e:s e:p \"unfinished . \n. " + next, read, 1},
		{"not RDF at all", "Dear reader, this is a letter. It has two sentences." + next, read, 2},
	} {
		got, rep := short(t, p+c.text, Turtle)
		if got != c.want || rep.Lost != c.lost || rep.Lost+rep.Forgiven == 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
		}
	}
}

// RDF 1.1 N-Triples and N-Quads: a line for each statement, and a broken line loses only itself.
func TestNTriples(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		lost             int
	}{
		{"lines", "<http://e.example/s> <http://e.example/p> <http://e.example/o> .\n\n# c\n_:b <http://e.example/p> \"x\\ny\"@en . # d\n", "<s> <p> <o>\n_:b <p> \"x\\ny\"@en", 0},
		{"a datatype", `<http://e.example/s> <http://e.example/p> "1"^^<http://www.w3.org/2001/XMLSchema#byte>.`, `<s> <p> "1"^^<xsd:byte>`, 0},
		{"a graph", "<http://e.example/s> <http://e.example/p> <http://e.example/o> <http://e.example/g> .\n<http://e.example/s> <http://e.example/p> \"x\" _:g .", "<s> <p> <o>\n<s> <p> \"x\"", 0},
		{"no full stop", "<http://e.example/s> <http://e.example/p> \"x\"\n<http://e.example/s> <http://e.example/p> \"y\" .", "<s> <p> \"x\"\n<s> <p> \"y\"", 0},
		{"a literal that is not closed", "<http://e.example/s> <http://e.example/p> \"x .\n<http://e.example/s> <http://e.example/p> \"y\" .", "<s> <p> \"y\"", 1},
		{"half a line at the end", "<http://e.example/s> <http://e.example/p> \"x\" .\n<http://e.example/s> <http://e.exa", "<s> <p> \"x\"", 1},
		{"no space", `<http://e.example/s><http://e.example/p>"x".`, `<s> <p> "x"`, 0},
		{"invalid UTF-8", "<http://e.example/s> <http://e.example/p> \"a\xffb\" .", "<s> <p> \"a\uFFFDb\"", 0},
	} {
		for _, f := range []Format{NTriples, NQuads} {
			if f == NTriples && c.name == "a graph" {
				continue
			}
			if got, rep := short(t, c.text, f); got != c.want || rep.Lost != c.lost {
				t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
			}
		}
	}
}

// RDF 1.1 TriG: the names of graphs are ignored.
func TestTriG(t *testing.T) {
	const p = "@prefix e: <http://e.example/> . "
	for text, want := range map[string]string{
		`e:g { e:s e:p e:o . e:s e:q e:o }`:         "<s> <p> <o>\n<s> <q> <o>",
		`GRAPH e:g { e:s e:p e:o . } e:s e:q e:o .`: "<s> <p> <o>\n<s> <q> <o>",
		`{ e:s e:p e:o } _:g { e:s e:q "}" . }`:     "<s> <p> <o>\n<s> <q> \"}\"",
		`[] { e:s e:p e:o ; } <g> { }`:              "<s> <p> <o>",
		`GRAPH _:g { [ e:p e:o ] }`:                 "_:genid1 <p> <o>",
	} {
		if got, rep := short(t, p+text, TriG); got != want || rep.Lost+rep.Forgiven > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", text, got, want, rep.Mistakes)
		}
	}
}

// RFC 3986, section 5.4, and what the W3C's tests of IRI resolution add.
func TestResolve(t *testing.T) {
	for _, c := range []struct{ base, ref, want string }{
		{"http://a/b/c/d;p?q", "g:h", "g:h"}, {"http://a/b/c/d;p?q", "g", "http://a/b/c/g"}, {"http://a/b/c/d;p?q", "./g", "http://a/b/c/g"},
		{"http://a/b/c/d;p?q", "g/", "http://a/b/c/g/"}, {"http://a/b/c/d;p?q", "/g", "http://a/g"}, {"http://a/b/c/d;p?q", "//g", "http://g"},
		{"http://a/b/c/d;p?q", "?y", "http://a/b/c/d;p?y"}, {"http://a/b/c/d;p?q", "g?y", "http://a/b/c/g?y"}, {"http://a/b/c/d;p?q", "#s", "http://a/b/c/d;p?q#s"},
		{"http://a/b/c/d;p?q", "g?y#s", "http://a/b/c/g?y#s"}, {"http://a/b/c/d;p?q", "", "http://a/b/c/d;p?q"}, {"http://a/b/c/d;p?q", ".", "http://a/b/c/"},
		{"http://a/b/c/d;p?q", "..", "http://a/b/"}, {"http://a/b/c/d;p?q", "../g", "http://a/b/g"}, {"http://a/b/c/d;p?q", "../..", "http://a/"},
		{"http://a/b/c/d;p?q", "../../g", "http://a/g"}, {"http://a/b/c/d;p?q", "../../../g", "http://a/g"}, {"http://a/b/c/d;p?q", "/./g", "http://a/g"},
		{"http://a/b/c/d;p?q", "/../g", "http://a/g"}, {"http://a/b/c/d;p?q", "g.", "http://a/b/c/g."}, {"http://a/b/c/d;p?q", "..g", "http://a/b/c/..g"},
		{"http://a/b/c/d;p?q", "./../g", "http://a/b/g"}, {"http://a/b/c/d;p?q", "./g/.", "http://a/b/c/g/"}, {"http://a/b/c/d;p?q", "g/../h", "http://a/b/c/h"},
		{"http://a/b/c/d;p?q", "g?y/../x", "http://a/b/c/g?y/../x"}, {"http://a/b/c/d;p?q", "http://é/%7e/../A", "http://é/A"},
		{"http://a", "g", "http://a/g"}, {"http://a?q", "g", "http://a/g"}, {"urn:x:y", "#f", "urn:x:y#f"}, {"", "g", "g"}, {"http://a/b", "x:/a//./b", "x:/a//b"},
	} {
		if v := newResolver(c.base); v.resolve(c.ref) != c.want {
			t.Errorf("%q against %q: %q, want %q", c.ref, c.base, v.resolve(c.ref), c.want)
		}
	}
}

// At a limit everything is read; beyond it the statement or the text behind it is lost, and what
// follows is read.
func TestTurtleLimits(t *testing.T) {
	const next = "\n<http://e.example/n> <http://e.example/p> <http://e.example/o> ."
	nested := func(n int, open, close string) string {
		return "<s> <p> " + strings.Repeat(open, n) + strings.Repeat(close, n) + " ."
	}
	prefixes := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString("@prefix p" + strings.Repeat("x", i%100) + string(rune('a'+i/100)) + ": <http://e.example/> .\n")
		}
		return b.String()
	}
	for _, c := range []struct {
		name       string
		make       func(int) string
		limit      int
		lost, read int
	}{
		{"an IRI", func(n int) string { return "<" + strings.Repeat("x", n) + "> <p> <o> ." }, maxIRI, 1, 1},
		{"a literal", func(n int) string { return `<s> <p> "` + strings.Repeat("x", n) + `" .` }, maxLiteral, 1, 2},
		{"a long literal", func(n int) string { return `<s> <p> """` + strings.Repeat("x", n) + `""" .` }, maxLiteral, 1, 2},
		{"a name", func(n int) string { return "_:" + strings.Repeat("x", n) + " <p> <o> ." }, maxName, 1, 1},
		{"a local name", func(n int) string { return "dct:" + strings.Repeat("x", n) + " <p> <o> ." }, maxIRI, 1, 1},
		{"brackets", func(n int) string { return nested(n-1, "[<p>", "]") }, maxDepth, 1, -1},
		{"parentheses", func(n int) string { return nested(n-1, "(", ")") }, maxDepth, 1, -1},
		{"prefixes", prefixes, maxPrefixes, 1, 1},
	} {
		got, rep := short(t, c.make(c.limit)+next, Turtle)
		if c.name == "brackets" {
			got, rep = short(t, strings.Replace(c.make(c.limit), "[<p>]", "[]", 1)+next, Turtle)
		}
		if rep.Lost != 0 || !strings.HasSuffix(got, "<n> <p> <o>") {
			t.Errorf("%s at its limit: %v", c.name, rep.Mistakes)
		}
		got, rep = short(t, c.make(c.limit+1)+next, Turtle)
		if rep.Lost != c.lost || !strings.HasSuffix(got, "<n> <p> <o>") || c.read >= 0 && rep.Triples != c.read {
			t.Errorf("%s beyond its limit: %d triples, %v", c.name, rep.Triples, rep.Mistakes)
		}
	}
	if _, rep := short(t, strings.Repeat("x y .\n", 1000), Turtle); rep.Lost != 1000 || len(rep.Mistakes) != maxMistakes {
		t.Errorf("%d lost, %d described", rep.Lost, len(rep.Mistakes))
	}
}

// The position of a mistake is where it is noticed.
func TestTurtleOffset(t *testing.T) {
	text := "<s> <p> \"é\" .\n<s> <p> ?x .\n"
	_, rep := short(t, text, Turtle)
	if want := int64(strings.Index(text, "?")); len(rep.Mistakes) != 1 || rep.Mistakes[0].Offset != want || rep.End != int64(len(text)) {
		t.Errorf("%+v, want the offset %d", rep, want)
	}
}

func TestReport(t *testing.T) {
	for text, want := range map[string]string{
		"<s> <p> <o> .": "",
		"<s> <p> <o>":   "RDF: read with errors forgiven (1): no full stop after the last statement at byte 11",
		"? .\n? .\n? .\n? .\n<s> <p> \"x\\y\" .": "RDF: parts of it could not be read (4): a statement cannot begin like this at byte 0, a statement cannot begin like this at byte 4, " +
			"a statement cannot begin like this at byte 8; read with errors forgiven (1): a literal with an unknown escape or a line end at byte 29",
	} {
		if _, rep := short(t, text, Turtle); rep.String() != want {
			t.Errorf("%q: %q", text, rep.String())
		}
	}
}

// An error of the reader ends the document, and is returned.
func TestTurtleReadError(t *testing.T) {
	for _, f := range []Format{Turtle, XML} {
		text := "<s> <p> "
		if f == XML {
			text = "<rdf:RDF>"
		}
		_, err := Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(text))), f, base, func(Triple) error { return nil })
		if err != iotest.ErrTimeout {
			t.Errorf("format %d: %v", f, err)
		}
	}
}
