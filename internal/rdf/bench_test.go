package rdf

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// dump returns n datasets in each format.
func dump(n int) map[Format]string {
	var lines, turtle, doc strings.Builder
	turtle.WriteString("@prefix dcat: <http://www.w3.org/ns/dcat#> .\n@prefix dct: <http://purl.org/dc/terms/> .\n")
	doc.WriteString(`<rdf:RDF xmlns:rdf="` + nsRDF + `" xmlns:dcat="http://www.w3.org/ns/dcat#" xmlns:dct="http://purl.org/dc/terms/">`)
	text := strings.Repeat("Rain and snow of the last years. ", 8)
	for i := range n {
		d, f := fmt.Sprintf("http://h.example/dataset/%d", i), fmt.Sprintf("http://h.example/dataset/%d/file", i)
		for _, l := range []string{
			"<%s> <" + rdfType + "> <http://www.w3.org/ns/dcat#Dataset> .\n", "<%s> <http://purl.org/dc/terms/title> \"Rain\"@en .\n",
			"<%s> <http://purl.org/dc/terms/description> \"" + text + "\"@en .\n", "<%s> <http://www.w3.org/ns/dcat#distribution> <" + f + "> .\n",
		} {
			fmt.Fprintf(&lines, l, d)
		}
		fmt.Fprintf(&lines, "<%[1]s> <http://www.w3.org/ns/dcat#downloadURL> <%[1]s.csv> .\n", f)
		fmt.Fprintf(&turtle, "<%s> a dcat:Dataset ; dct:title \"Rain\"@en ; dct:description \"%s\"@en ; dcat:distribution <%[3]s> .\n<%[3]s> dcat:downloadURL <%[3]s.csv> .\n", d, text, f)
		fmt.Fprintf(&doc, `<dcat:Dataset rdf:about="%s"><dct:title xml:lang="en">Rain</dct:title><dct:description xml:lang="en">%s</dct:description><dcat:distribution><rdf:Description rdf:about="%[3]s"><dcat:downloadURL rdf:resource="%[3]s.csv"/></rdf:Description></dcat:distribution></dcat:Dataset>`+"\n", d, text, f)
	}
	doc.WriteString("</rdf:RDF>")
	return map[Format]string{NTriples: lines.String(), Turtle: turtle.String(), XML: doc.String()}
}

// What reading costs, with and without the conversion to JSON-LD.
func BenchmarkRead(b *testing.B) {
	for format, text := range dump(5000) {
		name := map[Format]string{NTriples: "ntriples", Turtle: "turtle", XML: "xml"}[format]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Read(strings.NewReader(text), format, base, func(Triple) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/jsonld", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				n := JSONLD(strings.NewReader(text), format, base, Options{Space: func(int64) error { return nil }})
				if _, err := io.Copy(io.Discard, n); err != nil {
					b.Fatal(err)
				}
				n.Close()
			}
		})
	}
}
