package catalog

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/rdf"
)

// forms writes one catalogue of n datasets as JSON-LD, and as triples.
func forms(n int) (linked []byte, all []rdf.Triple) {
	iri := func(s string) rdf.Term { return rdf.Term{Kind: rdf.IRI, Value: s} }
	blank := func(s string, i int) rdf.Term { return rdf.Term{Kind: rdf.Blank, Value: fmt.Sprintf("%s%d", s, i)} }
	text := func(s string) rdf.Term { return rdf.Term{Kind: rdf.Literal, Value: s} }
	typed := func(s, kind string) rdf.Term {
		return rdf.Term{Kind: rdf.Literal, Value: s, Datatype: rdf.WellKnown["xsd"] + kind}
	}
	add := func(s rdf.Term, name string, o rdf.Term) {
		prefix, local, _ := strings.Cut(name, ":")
		all = append(all, rdf.Triple{Subject: s, Predicate: rdf.WellKnown[prefix] + local, Object: o})
	}
	isA := func(s rdf.Term, name string) {
		prefix, local, _ := strings.Cut(name, ":")
		add(s, "rdf:type", iri(rdf.WellKnown[prefix]+local))
	}
	var b bytes.Buffer
	b.WriteString(`{"@context":{"dcat":"http://www.w3.org/ns/dcat#","dct":"http://purl.org/dc/terms/","foaf":"http://xmlns.com/foaf/0.1/","spdx":"http://spdx.org/rdf/terms#","xsd":"http://www.w3.org/2001/XMLSchema#"},` +
		`"@id":"http://p.example/","@type":"dcat:Catalog","dct:title":"All","dcat:dataset":[`)
	catalogue := iri("http://p.example/")
	isA(catalogue, "dcat:Catalog")
	add(catalogue, "dct:title", text("All"))
	for i := range n {
		d, file, sum, office := iri(fmt.Sprintf("http://p.example/d/%d", i)), blank("f", i), blank("c", i), blank("o", i%5)
		if i > 0 {
			b.WriteByte(',')
		}
		description := strings.Repeat("x]}\"é\n ", i%40)
		fmt.Fprintf(&b, `{"@id":%q,"@type":"dcat:Dataset","dct:title":{"@value":"Rain %06d","@language":"en"},"dct:description":%q,"dct:issued":{"@value":"2024-01-%02d","@type":"xsd:date"},`+
			`"dct:license":{"@id":"http://creativecommons.org/licenses/by/4.0/"},"dct:publisher":{"@type":"foaf:Agent","foaf:name":"Office %d"},"dcat:keyword":["rain","k%d"],"dcat:landingPage":{"@id":"http://p.example/page/%d"},`+
			`"dct:identifier":"10.5555/%d","dcat:distribution":{"@type":"dcat:Distribution","dct:title":"File","dcat:downloadURL":{"@id":"http://p.example/f/%d.csv"},"dcat:mediaType":{"@id":"https://www.iana.org/assignments/media-types/text/csv"},`+
			`"dcat:byteSize":{"@value":"%d","@type":"xsd:nonNegativeInteger"},"spdx:checksum":{"spdx:algorithm":{"@id":"http://spdx.org/rdf/terms#checksumAlgorithm_sha256"},"spdx:checksumValue":{"@value":"%064x","@type":"xsd:hexBinary"}}}}`,
			d.Value, i, description, 1+i%28, i%5, i%3, i, i, i, i, i)
		add(catalogue, "dcat:dataset", d)
		isA(d, "dcat:Dataset")
		add(d, "dct:title", rdf.Term{Kind: rdf.Literal, Value: fmt.Sprintf("Rain %06d", i), Language: "en"})
		add(d, "dct:description", text(description))
		add(d, "dct:issued", typed(fmt.Sprintf("2024-01-%02d", 1+i%28), "date"))
		add(d, "dct:license", iri("http://creativecommons.org/licenses/by/4.0/"))
		add(d, "dct:publisher", office)
		add(d, "dcat:keyword", text("rain"))
		add(d, "dcat:keyword", text(fmt.Sprintf("k%d", i%3)))
		add(d, "dcat:landingPage", iri(fmt.Sprintf("http://p.example/page/%d", i)))
		add(d, "dct:identifier", text(fmt.Sprintf("10.5555/%d", i)))
		add(d, "dcat:distribution", file)
		isA(file, "dcat:Distribution")
		add(file, "dct:title", text("File"))
		add(file, "dcat:downloadURL", iri(fmt.Sprintf("http://p.example/f/%d.csv", i)))
		add(file, "dcat:mediaType", iri("https://www.iana.org/assignments/media-types/text/csv"))
		add(file, "dcat:byteSize", typed(fmt.Sprint(i), "nonNegativeInteger"))
		add(file, "spdx:checksum", sum)
		add(sum, "spdx:algorithm", iri("http://spdx.org/rdf/terms#checksumAlgorithm_sha256"))
		add(sum, "spdx:checksumValue", typed(fmt.Sprintf("%064x", i), "hexBinary"))
	}
	b.WriteString("]}")
	for i := range min(n, 5) {
		isA(blank("o", i), "foaf:Agent")
		add(blank("o", i), "foaf:name", text(fmt.Sprintf("Office %d", i)))
	}
	return b.Bytes(), all
}

// asNTriples writes triples as lines, in an order that means nothing.
func asNTriples(all []rdf.Triple, seed uint64) []byte {
	all = slices.Clone(all)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	var out []byte
	for _, t := range all {
		out = rdf.AppendNTriples(out, t)
	}
	return out
}

// asTurtle writes triples as Turtle with prefixes: blank nodes that are used once within the
// statement that uses them.
func asTurtle(all []rdf.Triple) []byte {
	var b bytes.Buffer
	for prefix, ns := range rdf.WellKnown {
		fmt.Fprintf(&b, "@prefix %s: <%s> .\n", prefix, ns)
	}
	about, uses := map[rdf.Term][]rdf.Triple{}, map[rdf.Term]int{}
	var order []rdf.Term
	for _, t := range all {
		if about[t.Subject] == nil {
			order = append(order, t.Subject)
		}
		about[t.Subject] = append(about[t.Subject], t)
		uses[t.Object]++
	}
	short := func(t rdf.Term) string {
		for prefix, ns := range rdf.WellKnown {
			if local, ok := strings.CutPrefix(t.Value, ns); ok && t.Kind == rdf.IRI && !strings.Contains(local, "/") {
				return prefix + ":" + local
			}
		}
		line := string(rdf.AppendNTriples(nil, rdf.Triple{Subject: rdf.Term{Kind: rdf.Blank, Value: "x"}, Predicate: "x:y", Object: t}))
		return strings.TrimSuffix(strings.TrimPrefix(line, "_:x <x:y> "), " .\n")
	}
	var write func(s rdf.Term, indent string)
	write = func(s rdf.Term, indent string) {
		for i, t := range about[s] {
			if i > 0 {
				b.WriteString(" ;\n" + indent)
			}
			b.WriteString(" " + short(rdf.Term{Kind: rdf.IRI, Value: t.Predicate}) + " ")
			if t.Object.Kind == rdf.Blank && uses[t.Object] == 1 {
				b.WriteString("[")
				write(t.Object, indent+"  ")
				b.WriteString(" ]")
			} else {
				b.WriteString(short(t.Object))
			}
		}
	}
	for _, s := range order {
		if s.Kind == rdf.Blank && uses[s] == 1 {
			continue
		}
		b.WriteString(short(s))
		write(s, "  ")
		b.WriteString(" .\n")
	}
	return b.Bytes()
}

// asXML writes triples as RDF/XML, one rdf:Description for each.
func asXML(all []rdf.Triple) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="utf-8"?><rdf:RDF xmlns:rdf="` + rdf.WellKnown["rdf"] + `">`)
	quoted := func(s string) string {
		var q bytes.Buffer
		_ = xml.EscapeText(&q, []byte(s))
		return q.String()
	}
	for _, t := range all {
		name := `rdf:about="` + quoted(t.Subject.Value) + `"`
		if t.Subject.Kind == rdf.Blank {
			name = `rdf:nodeID="` + t.Subject.Value + `"`
		}
		cut := strings.LastIndexAny(t.Predicate, "#/") + 1
		fmt.Fprintf(&b, `<rdf:Description %s><p:%s xmlns:p="%s"`, name, t.Predicate[cut:], t.Predicate[:cut])
		switch o := t.Object; o.Kind {
		case rdf.IRI:
			fmt.Fprintf(&b, ` rdf:resource="%s"/>`, quoted(o.Value))
		case rdf.Blank:
			fmt.Fprintf(&b, ` rdf:nodeID="%s"/>`, o.Value)
		default:
			if o.Language != "" {
				fmt.Fprintf(&b, ` xml:lang="%s"`, o.Language)
			}
			if o.Datatype != "" {
				fmt.Fprintf(&b, ` rdf:datatype="%s"`, o.Datatype)
			}
			fmt.Fprintf(&b, `>%s</p:%s>`, quoted(o.Value), t.Predicate[cut:])
		}
		b.WriteString("</rdf:Description>\n")
	}
	b.WriteString("</rdf:RDF>")
	return b.Bytes()
}

// anyOrder returns claims in an order that does not depend on their document.
func anyOrder(all []crawl.DatasetClaim) []crawl.DatasetClaim {
	all = byTitle(all)
	for i := range all {
		all[i].Keywords = slices.Sorted(slices.Values(all[i].Keywords))
		slices.SortFunc(all[i].Files, func(a, b crawl.DatasetFile) int { return strings.Compare(a.URL, b.URL) })
	}
	return all
}

// One catalogue describes the same datasets in every form, read at once and in parts.
func TestCatalogueInAllForms(t *testing.T) {
	for _, n := range []int{1, 7, 900} {
		linked, all := forms(n)
		d := Document{URL: "http://p.example/catalog"}
		want, err := ReadJSON(linked, d)
		if err != nil || len(want) != n {
			t.Fatalf("%d claims, %v", len(want), err)
		}
		want = anyOrder(want)
		if f := want[0].Files; len(f) != 1 || f[0].SHA256 == "" || f[0].Bytes == nil || want[0].Publisher == "" || want[0].License == "" {
			t.Fatalf("the catalogue lacks something: %+v", want[0])
		}
		for format, body := range map[rdf.Format][]byte{
			rdf.NTriples: asNTriples(all, 1), rdf.NQuads: asNTriples(all, 2), rdf.Turtle: asTurtle(all), rdf.TriG: append(append([]byte("<urn:g> {"), asNTriples(all, 3)...), '}'), rdf.XML: asXML(all),
		} {
			d.Type = format.MediaType()
			if len(body) < MaxDocument {
				got, err := ReadJSON(body, d)
				if got = anyOrder(got); err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%d datasets as %s: %v\n%+v\nwant\n%+v", n, d.Type, err, got, want)
				}
			}
			var got []crawl.DatasetClaim
			s, err := CutRDF(iotest.HalfReader(bytes.NewReader(body)), format, d.URL, MaxCatalogue, func(part []byte) error {
				claims, err := ReadJSON(part, Document{URL: d.URL})
				got = append(got, claims...)
				return err
			})
			if got = anyOrder(got); err != nil || s.Members != n || s.LeftOut != 0 || s.Bytes != int64(len(body)) || !reflect.DeepEqual(got, want) {
				t.Fatalf("%d datasets as %s in parts: %v %+v", n, d.Type, err, s)
			}
		}
	}
	if graphSpace.Load() != 0 {
		t.Errorf("%d bytes are still reserved", graphSpace.Load())
	}
}

// Datasets of VoID and assets of ADMS.
func TestOtherVocabularies(t *testing.T) {
	for text, want := range map[string]crawl.DatasetFile{
		`<#d> a void:Dataset ; dct:title "x" ; void:dataDump <dump.nt> .`:                                                 {URL: "http://p.example/dump.nt"},
		`<#d> a adms:Asset ; dct:title "x" ; dcat:distribution [ a adms:AssetDistribution ; dcat:downloadURL <f.csv> ] .`: {URL: "http://p.example/f.csv"},
	} {
		got, err := ReadJSON([]byte(text), Document{URL: "http://p.example/void.ttl", Type: "text/turtle"})
		if err != nil || len(got) != 1 || got[0].Title != "x" || !reflect.DeepEqual(got[0].Files, []crawl.DatasetFile{want}) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// What stops CutRDF, and what does not.
func TestCutRDFErrors(t *testing.T) {
	const dataset = `<http://p.example/d> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://www.w3.org/ns/dcat#Dataset> . <http://p.example/d> <http://purl.org/dc/terms/title> "x" .` + "\n"
	failed := errors.New("it is lost")
	many := ""
	for i := range 200 {
		many += fmt.Sprintf("<%d> a <x> .\n", i)
	}
	for _, c := range []struct {
		name, body string
		limit      int64
		part       func([]byte) error
		want       error
		members    int
		leftOut    int
	}{
		{"one dataset", dataset, MaxCatalogue, nil, nil, 1, 0},
		{"a statement is broken", dataset + "? .\n" + dataset, MaxCatalogue, nil, nil, 1, 1},
		{"it breaks off", dataset + `<http://p.example/e> <http://purl.org/dc/terms/title> "x`, MaxCatalogue, nil, nil, 1, 1},
		{"no dataset", `<http://p.example/d> <http://purl.org/dc/terms/title> "x" .`, MaxCatalogue, nil, ErrNoCatalogue, 0, 0},
		{"no RDF", "a,b\n1,2\n", MaxCatalogue, nil, ErrNoCatalogue, 0, 1},
		{"nothing", "", MaxCatalogue, nil, ErrNoCatalogue, 0, 0},
		{"at the limit", dataset, int64(len(dataset)), nil, nil, 1, 0},
		{"too long", dataset + "#", int64(len(dataset)), nil, ErrCatalogueLarge, 0, 0},
		{"too many subjects", many, int64(len(many)), nil, ErrNoCatalogue, 0, 0},
		{"a part cannot be delivered", dataset, MaxCatalogue, func([]byte) error { return failed }, failed, 1, 0},
	} {
		part := c.part
		if part == nil {
			part = func([]byte) error { return nil }
		}
		s, err := CutRDF(strings.NewReader(c.body), rdf.Turtle, "http://p.example/", c.limit, part)
		if !errors.Is(err, c.want) || s.Members != c.members || s.LeftOut != c.leftOut {
			t.Errorf("%s: %v %+v", c.name, err, s)
		}
	}
	if _, err := CutRDF(iotest.ErrReader(failed), rdf.Turtle, "", MaxCatalogue, func([]byte) error { return nil }); err != failed {
		t.Errorf("a reader that fails: %v", err)
	}
	if graphSpace.Load() != 0 {
		t.Errorf("%d bytes are still reserved", graphSpace.Load())
	}
}

// A catalogue in RDF names its other pages as one in JSON-LD does.
func TestPagesOfRDF(t *testing.T) {
	for name, text := range map[string]string{
		"PagedCollection": `<http://p.example/catalog.ttl?page=1> a hydra:PagedCollection ; hydra:nextPage "http://p.example/catalog.ttl?page=2" ; hydra:lastPage "http://p.example/catalog.ttl?page=3" .`,
		"PartialView":     `<c> a dcat:Catalog ; hydra:view <http://p.example/catalog.ttl?page=1> . <http://p.example/catalog.ttl?page=1> a hydra:PartialCollectionView ; hydra:next <http://p.example/catalog.ttl?page=2> ; hydra:last <http://p.example/catalog.ttl?page=3> .`,
	} {
		s, err := CutRDF(strings.NewReader(text), rdf.Turtle, "http://p.example/catalog.ttl?page=1", MaxCatalogue, nil)
		got := s.Pages.More("http://p.example/catalog.ttl?page=1", 0)
		if want := []string{"http://p.example/catalog.ttl?page=2", "http://p.example/catalog.ttl?page=3"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
