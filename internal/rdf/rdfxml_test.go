package rdf

import (
	"encoding/xml"
	"strings"
	"testing"
)

const rdfOpen = `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.example/">`

// The kinds of the W3C's tests of RDF/XML, in our own words. Each text is the content of rdf:RDF.
var xmlCases = []struct{ name, text, want string }{
	{"a description", `<rdf:Description rdf:about="http://e.example/s"><e:p>x</e:p></rdf:Description>`, `<s> <p> "x"`},
	{"an empty description", `<rdf:Description rdf:about="http://e.example/s"/>`, ``},
	{"a typed node", `<e:C rdf:about="http://e.example/s"/>`, `<s> <rdf:type> <C>`},
	{"a node without a name", `<e:C/><e:C/>`, "_:genid1 <rdf:type> <C>\n_:genid2 <rdf:type> <C>"},
	{"a node with a label", `<e:C rdf:nodeID="a"/><rdf:Description rdf:about="http://e.example/s"><e:p rdf:nodeID="a"/></rdf:Description>`, "_:a <rdf:type> <C>\n<s> <p> _:a"},
	{"ID", `<e:C rdf:ID="x"/>`, `<http://h.example/dir/doc#x> <rdf:type> <C>`},
	{"ID with a base", `<e:C xml:base="http://e.example/d#y" rdf:ID="x"/>`, `<d#x> <rdf:type> <C>`},
	{"about against the base", `<rdf:Description rdf:about="../s" xml:base="http://e.example/a/b"><e:p rdf:resource="o"/></rdf:Description>`, `<s> <p> <a/o>`},
	{"an empty about", `<rdf:Description rdf:about="" e:p="x"/>`, `<http://h.example/dir/doc> <p> "x"`},
	{"resource", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:resource="http://e.example/o"/></rdf:Description>`, `<s> <p> <o>`},
	{"a node as value", `<rdf:Description rdf:about="http://e.example/s"><e:p><e:C rdf:about="http://e.example/o"/></e:p></rdf:Description>`, "<o> <rdf:type> <C>\n<s> <p> <o>"},
	{"nodes in nodes", `<e:C rdf:about="http://e.example/s"><e:p><e:D><e:q><e:E/></e:q></e:D></e:p></e:C>`,
		"<s> <rdf:type> <C>\n_:genid1 <rdf:type> <D>\n_:genid2 <rdf:type> <E>\n_:genid1 <q> _:genid2\n<s> <p> _:genid1"},
	{"parseType Resource", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="Resource"><e:q>x</e:q></e:p></rdf:Description>`, "<s> <p> _:genid1\n_:genid1 <q> \"x\""},
	{"an empty parseType Resource", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="Resource"/></rdf:Description>`, "<s> <p> _:genid1"},
	{"parseType Collection", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="Collection"><e:C rdf:about="http://e.example/a"/><rdf:Description rdf:about="http://e.example/b"/></e:p></rdf:Description>`,
		"<a> <rdf:type> <C>\n<s> <p> _:genid1\n_:genid1 <rdf:first> <a>\n_:genid1 <rdf:rest> _:genid2\n_:genid2 <rdf:first> <b>\n_:genid2 <rdf:rest> <rdf:nil>"},
	{"an empty collection", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="Collection"> </e:p></rdf:Description>`, "<s> <p> <rdf:nil>"},
	{"parseType Literal", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="Literal">a <b c="d">&lt;</b></e:p></rdf:Description>`,
		`<s> <p> "a <b c=\"d\">&lt;</b>"^^<rdf:XMLLiteral>`},
	{"an unknown parseType", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:parseType="x"><b/></e:p></rdf:Description>`, `<s> <p> "<b></b>"^^<rdf:XMLLiteral>`},
	{"a datatype", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:datatype="http://e.example/t" xml:lang="en">1</e:p></rdf:Description>`, `<s> <p> "1"^^<t>`},
	{"a language", `<rdf:Description rdf:about="http://e.example/s" xml:lang="de"><e:p>x</e:p><e:p xml:lang="en-GB">y</e:p><e:p xml:lang="">z</e:p></rdf:Description>`,
		"<s> <p> \"x\"@de\n<s> <p> \"y\"@en-gb\n<s> <p> \"z\""},
	{"a language of resources", `<rdf:Description rdf:about="http://e.example/s" xml:lang="de"><e:p rdf:resource="http://e.example/o"/></rdf:Description>`, "<s> <p> <o>"},
	{"attributes as properties", `<rdf:Description rdf:about="http://e.example/s" e:p="x" e:q="y" xml:lang="en"/>`, "<s> <p> \"x\"@en\n<s> <q> \"y\"@en"},
	{"type as an attribute", `<rdf:Description rdf:about="http://e.example/s" rdf:type="http://e.example/C"/>`, "<s> <rdf:type> <C>"},
	{"attributes of a property", `<rdf:Description rdf:about="http://e.example/s"><e:p e:q="x"/></rdf:Description>`, "<s> <p> _:genid1\n_:genid1 <q> \"x\""},
	{"attributes beside resource", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:resource="http://e.example/o" e:q="x"></e:p></rdf:Description>`, "<s> <p> <o>\n<o> <q> \"x\""},
	{"attributes beside nodeID", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:nodeID="b" e:q="x"/></rdf:Description>`, "<s> <p> _:b\n_:b <q> \"x\""},
	{"a bag", `<rdf:Bag rdf:about="http://e.example/s"><rdf:li>x</rdf:li><rdf:li rdf:resource="http://e.example/o"/></rdf:Bag>`,
		"<s> <rdf:type> <rdf:Bag>\n<s> <rdf:_1> \"x\"\n<s> <rdf:_2> <o>"},
	{"li begins again in each node", `<rdf:Seq rdf:about="http://e.example/s"><rdf:li><rdf:Seq><rdf:li>x</rdf:li></rdf:Seq></rdf:li><rdf:li>y</rdf:li></rdf:Seq>`,
		"<s> <rdf:type> <rdf:Seq>\n_:genid1 <rdf:type> <rdf:Seq>\n_:genid1 <rdf:_1> \"x\"\n<s> <rdf:_1> _:genid1\n<s> <rdf:_2> \"y\""},
	{"a member with a number", `<rdf:Description rdf:about="http://e.example/s"><rdf:_7>x</rdf:_7></rdf:Description>`, "<s> <rdf:_7> \"x\""},
	{"reification", `<rdf:Description rdf:about="http://e.example/s"><e:p rdf:ID="r">x</e:p></rdf:Description>`,
		"<s> <p> \"x\"\n<http://h.example/dir/doc#r> <rdf:type> <rdf:Statement>\n<http://h.example/dir/doc#r> <rdf:subject> <s>\n<http://h.example/dir/doc#r> <rdf:predicate> <p>\n<http://h.example/dir/doc#r> <rdf:object> \"x\""},
	{"an empty literal", `<rdf:Description rdf:about="http://e.example/s"><e:p/><e:q></e:q></rdf:Description>`, "<s> <p> \"\"\n<s> <q> \"\""},
	{"white space is kept", `<rdf:Description rdf:about="http://e.example/s"><e:p> x ` + "\n" + `</e:p></rdf:Description>`, "<s> <p> \" x \\n\""},
	{"CDATA and references", `<rdf:Description rdf:about="http://e.example/s"><e:p>a&amp;b<![CDATA[<c>]]>&#233;&#x20AC;</e:p></rdf:Description>`, "<s> <p> \"a&b<c>é€\""},
	{"comments and instructions", `<!-- x --><rdf:Description rdf:about="http://e.example/s"><?x y?><e:p>a<!-- b -->c</e:p></rdf:Description>`, "<s> <p> \"ac\""},
	{"a namespace of its own", `<C xmlns="http://e.example/" rdf:about="http://e.example/s"><p>x</p></C>`, "<s> <rdf:type> <C>\n<s> <p> \"x\""},
	{"a namespace declared again", `<e:C rdf:about="http://e.example/s"><e:p xmlns:e="http://e.example/x/">x</e:p><e:q>y</e:q></e:C>`, "<s> <rdf:type> <C>\n<s> <x/p> \"x\"\n<s> <q> \"y\""},
	{"single quotes", `<rdf:Description rdf:about='http://e.example/s' e:p='"'/>`, "<s> <p> \"\\\"\""},
	{"the same prefix for RDF", `<r:Description xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" r:about="http://e.example/s"><e:p r:resource="http://e.example/o"/></r:Description>`, "<s> <p> <o>"},
}

func TestRDFXML(t *testing.T) {
	for _, c := range xmlCases {
		if got, rep := short(t, rdfOpen+c.text+"</rdf:RDF>", XML); got != c.want || rep.Lost+rep.Forgiven > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
		}
	}
}

// Whole documents: declarations, entities, charsets, and where RDF is in them.
func TestRDFXMLDocuments(t *testing.T) {
	const node = `<rdf:Description rdf:about="http://e.example/s"><e:p>x</e:p></rdf:Description>`
	const doc = rdfOpen + node + "</rdf:RDF>"
	const read = `<s> <p> "x"`
	for _, c := range []struct{ name, text, want string }{
		{"declaration", `<?xml version="1.0" encoding="UTF-8"?>` + doc, read},
		{"byte order mark", "\ufeff" + `<?xml version="1.0"?>` + doc, read},
		{"latin-1", `<?xml version="1.0" encoding="iso-8859-1"?>` + strings.Replace(doc, ">x<", ">\xe9<", 1), `<s> <p> "é"`},
		{"declared as UTF-16, and is not", `<?xml version='1.0' encoding='utf-16'?>` + doc, read},
		{"UTF-16", utf16le("\ufeff<?xml version=\"1.0\" encoding=\"utf-16\"?>" + doc), read},
		{"entities", `<!DOCTYPE rdf:RDF [ <!ENTITY ex "http://e.example/"> <!ENTITY s '&ex;s'> <!ENTITY c "&#x78;"> ]>` +
			strings.NewReplacer("http://e.example/s", "&s;", ">x<", ">&c;<").Replace(doc), read},
		{"entities in namespaces", `<!DOCTYPE rdf:RDF [<!ENTITY ex "http://e.example/" >]>` + strings.Replace(doc, `e="http://e.example/"`, `e="&ex;"`, 1), read},
		{"an external entity", `<!DOCTYPE rdf:RDF [<!ENTITY x SYSTEM "file:///etc/passwd"> <!ENTITY % y PUBLIC "a" "b">]>` + strings.Replace(doc, ">x<", ">&x;<", 1), `<s> <p> "&x;"`},
		{"a single node", `<rdf:Description xmlns:rdf="` + nsRDF + `" xmlns:e="http://e.example/" rdf:about="http://e.example/s" e:p="x"/>`, read},
		{"a single node of DCAT", `<Dataset xmlns="http://www.w3.org/ns/dcat#"><title xmlns="http://e.example/">x</title></Dataset>`, "_:genid1 <rdf:type> <http://www.w3.org/ns/dcat#Dataset>\n_:genid1 <title> \"x\""},
		{"in another document", `<OAI><record><metadata>` + doc + `</metadata></record><record>` + doc + `</record></OAI>`, read + "\n" + read},
		{"no RDF", `<feed xmlns="http://www.w3.org/2005/Atom"><title>x</title></feed>`, ``},
		{"nothing", ``, ``},
	} {
		if got, rep := short(t, c.text, XML); got != c.want || rep.Lost > 0 {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
		}
	}
}

func utf16le(s string) string {
	var b strings.Builder
	for _, c := range s {
		b.WriteByte(byte(c))
		b.WriteByte(byte(c >> 8))
	}
	return b.String()
}

// What the W3C's tests expect a reader to reject, and what portals get wrong.
func TestRDFXMLMistakes(t *testing.T) {
	const next = `<e:N rdf:about="http://e.example/n"/>`
	const read = "<n> <rdf:type> <N>"
	for _, c := range []struct {
		name, text, want string
		lost             int
	}{
		{"an undeclared prefix", `<dcat:Dataset rdf:about="http://e.example/s"><dct:title>x</dct:title></dcat:Dataset>` + next,
			"<s> <rdf:type> <http://www.w3.org/ns/dcat#Dataset>\n<s> <http://purl.org/dc/terms/title> \"x\"\n" + read, 0},
		{"an unknown undeclared prefix", `<x:C rdf:about="http://e.example/s"/>` + next, "<s> <rdf:type> <x:C>\n" + read, 0},
		{"attributes without a prefix", `<e:C about="http://e.example/s"><e:p resource="http://e.example/o"/></e:C>` + next, "<s> <rdf:type> <C>\n<s> <p> <o>\n" + read, 0},
		{"an ampersand", `<e:C rdf:about="http://e.example/s"><e:p>a & b</e:p><e:q rdf:resource="http://e.example/?a=1&b=2"/></e:C>` + next,
			"<s> <rdf:type> <C>\n<s> <p> \"a & b\"\n<s> <q> <?a=1&b=2>\n" + read, 0},
		{"entities of HTML", `<e:C rdf:about="http://e.example/s"><e:p>caf&eacute;&nbsp;</e:p></e:C>` + next, "<s> <rdf:type> <C>\n<s> <p> \"café\u00a0\"\n" + read, 0},
		{"control characters", "<e:C rdf:about=\"http://e.example/s\"><e:p>a\x0bb\x00</e:p></e:C>" + next, "<s> <rdf:type> <C>\n<s> <p> \"a b \"\n" + read, 0},
		{"invalid UTF-8", "<e:C rdf:about=\"http://e.example/s\"><e:p>a\xff</e:p></e:C>" + next, "<s> <rdf:type> <C>\n<s> <p> \"a\uFFFD\"\n" + read, 0},
		{"a space in an IRI", `<e:C rdf:about=" http://e.example/a b "/>` + next, "<a%20b> <rdf:type> <C>\n" + read, 0},
		{"an end tag is missing", `<e:C rdf:about="http://e.example/s"><e:p>x</e:C>` + next, "<s> <rdf:type> <C>\n<s> <p> \"x\"\n" + read, 0},
		{"an end tag too many", `<e:C rdf:about="http://e.example/s"><e:p>x</e:p></e:q></e:C>` + next, "<s> <rdf:type> <C>\n<s> <p> \"x\"\n" + read, 0},
		{"text between properties", `<e:C rdf:about="http://e.example/s">y<e:p>x</e:p></e:C>z` + next, "<s> <rdf:type> <C>\n<s> <p> \"x\"\n" + read, 0},
		{"text beside a node", `<e:C rdf:about="http://e.example/s"><e:p>x<e:D rdf:about="http://e.example/o"/></e:p></e:C>` + next, "<s> <rdf:type> <C>\n<o> <rdf:type> <D>\n<s> <p> <o>\n" + read, 0},
		{"two nodes in a property", `<e:C rdf:about="http://e.example/s"><e:p><e:D rdf:about="http://e.example/a"/><e:D rdf:about="http://e.example/b"/></e:p></e:C>` + next,
			"<s> <rdf:type> <C>\n<a> <rdf:type> <D>\n<s> <p> <a>\n<b> <rdf:type> <D>\n<s> <p> <b>\n" + read, 0},
		{"resource and a node", `<e:C rdf:about="http://e.example/s"><e:p rdf:resource="http://e.example/o"><e:D rdf:about="http://e.example/a"/></e:p></e:C>` + next,
			"<s> <rdf:type> <C>\n<s> <p> <o>\n<a> <rdf:type> <D>\n<s> <p> <a>\n" + read, 0},
		{"li as a node", `<rdf:li rdf:about="http://e.example/s"/>` + next, read, 0},
		{"about as an element", `<rdf:about/>` + next, read, 0},
		{"Description as a property", `<e:C rdf:about="http://e.example/s"><rdf:Description/></e:C>` + next, "<s> <rdf:type> <C>\n<s> <rdf:Description> \"\"\n" + read, 0},
		{"aboutEach", `<rdf:Description rdf:aboutEach="http://e.example/s" e:p="x"/>` + next, "_:genid1 <p> \"x\"\n" + read, 0},
		{"a label that is no name", `<e:C rdf:nodeID="a b!"/>` + next, "_:a_b_ <rdf:type> <C>\n" + read, 0},
		{"an attribute without quotes", `<e:C rdf:about=http:></e:C>` + next, "<http:> <rdf:type> <C>\n" + read, 0},
		{"it breaks off", next + `<e:C rdf:about="http://e.example/s"><e:p>x`, read + "\n<s> <rdf:type> <C>", 1},
		{"it breaks off in a tag", next + `<e:C rdf:about="http://e.exam`, read, 1},
		{"a tag that is none", next + `<e:C rdf:about="http://e.example/s"><e:p>a <3 b</e:p></e:C>`, read + "\n<s> <rdf:type> <C>", 1},
	} {
		end := "</rdf:RDF>"
		if strings.HasPrefix(c.name, "it breaks off") {
			end = ""
		}
		got, rep := short(t, rdfOpen+c.text+end, XML)
		if got != c.want || rep.Lost != c.lost {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, got, c.want, rep.Mistakes)
		}
	}
}

func TestRDFXMLLimits(t *testing.T) {
	const next = `<e:N rdf:about="http://e.example/n"/>`
	literal := func(n int) string { return `<e:C><e:p>` + strings.Repeat("x", n) + `</e:p></e:C>` }
	for _, c := range []struct {
		name  string
		make  func(int) string
		limit int
	}{
		{"a literal", literal, maxLiteral},
		{"an IRI", func(n int) string { return `<e:C rdf:about="` + strings.Repeat("x", n) + `"/>` }, maxIRI},
		{"nested nodes", func(n int) string { return strings.Repeat("<e:C><e:p>", n) + strings.Repeat("</e:p></e:C>", n) }, maxDepth},
	} {
		for n, lost := range map[int]int{c.limit: 0, c.limit + 1: 1} {
			got, rep := short(t, rdfOpen+c.make(n)+next+"</rdf:RDF>", XML)
			if rep.Lost != lost || !strings.HasSuffix(got, "<n> <rdf:type> <N>") {
				t.Errorf("%s of %d: %v", c.name, n, rep.Mistakes)
			}
		}
	}
	for n, lost := range map[int]int{maxToken - 100: 1, maxToken + 100: 1} {
		// A token beyond the limit ends the document; a long text before it is only cut.
		got, rep := short(t, rdfOpen+next+literal(n)+next+"</rdf:RDF>", XML)
		if rep.Lost != lost || strings.HasSuffix(got, "<n> <rdf:type> <N>") != (n < maxToken) {
			t.Errorf("a text of %d bytes: %v", n, rep.Mistakes)
		}
	}
	bomb := `<!DOCTYPE r [<!ENTITY a "` + strings.Repeat("x", maxEntity) + `">]>`
	for n, whole := range map[int]bool{1000: true, maxReferences + 1: false} {
		_, rep := short(t, bomb+rdfOpen+`<e:C><e:p>`+strings.Repeat("&a;", n)+`</e:p></e:C></rdf:RDF>`, XML)
		if whole != (rep.Triples == 2) {
			t.Errorf("%d references: %d triples, %v", n, rep.Triples, rep.Mistakes)
		}
	}
	// A billion laughs: each entity is too long at once.
	laughs := `<!DOCTYPE r [<!ENTITY a "` + strings.Repeat("x", maxEntity/2) + `"><!ENTITY b "&a;&a;"><!ENTITY c "&b;&b;">]>`
	if got, rep := short(t, laughs+rdfOpen+`<e:C rdf:about="s" e:p="&c;"/></rdf:RDF>`, XML); rep.Lost != 1 || !strings.Contains(got, `"&c;"`) {
		t.Errorf("%s %v", got, rep.Mistakes)
	}
}

// Our readers of names and encoding/xml agree on what is well-formed: what it reads without
// mistakes breaks nothing here.
func FuzzRDFXML(f *testing.F) {
	for _, c := range xmlCases {
		f.Add([]byte(rdfOpen + c.text + "</rdf:RDF>"))
	}
	f.Add([]byte(`<!DOCTYPE r [<!ENTITY a "x">]><rdf:RDF><e:C>&a;</e:D>`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		checkRead(t, doc, XML)
		d := xml.NewDecoder(strings.NewReader(string(doc)))
		for {
			if _, err := d.Token(); err != nil {
				if _, rep := short(t, string(doc), XML); err.Error() == "EOF" && rep.Lost > 0 && !strings.Contains(rep.Mistakes[0].What, "longer") && !strings.Contains(rep.Mistakes[0].What, "nested") {
					t.Errorf("encoding/xml reads it, and we have %v", rep.Mistakes)
				}
				return
			}
		}
	})
}
