//go:build external

package deploytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/curtsy/curtsy/internal/catalog"
	"github.com/curtsy/curtsy/internal/crawl"
)

// rdflib reads a catalogue with an independent RDF library, and prints a line of JSON for each
// dataset.
const rdflib = `
import json, sys
from rdflib import Graph, Namespace, RDF, URIRef, Literal
from rdflib.namespace import DCTERMS as DCT, FOAF, XSD
DCAT = Namespace("http://www.w3.org/ns/dcat#")
SPDX = Namespace("http://spdx.org/rdf/terms#")
g = Graph()
g.parse(data=sys.stdin.read(), format="json-ld")
cat = list(g.subjects(RDF.type, DCAT.Catalog))
assert len(cat) == 1 and isinstance(cat[0], URIRef), cat
assert g.value(cat[0], DCT.title) and g.value(cat[0], DCT.description) and g.value(g.value(cat[0], DCT.publisher), FOAF.name)
sets = set(g.subjects(RDF.type, DCAT.Dataset))
assert sets == set(g.objects(cat[0], DCAT.dataset)), "not all datasets are the catalogue's"
for d in sets:
    assert isinstance(d, URIRef), d
    files = {}
    for x in g.objects(d, DCAT.distribution):
        assert (x, RDF.type, DCAT.Distribution) in g and isinstance(g.value(x, DCAT.accessURL), URIRef)
        size = g.value(x, DCAT.byteSize)
        assert size is None or size.datatype == XSD.nonNegativeInteger
        sums = sorted(str(g.value(s, SPDX.checksumValue)) for s in g.objects(x, SPDX.checksum))
        files[str(g.value(x, DCAT.accessURL))] = [str(g.value(x, DCAT.mediaType) or ""), str(size or ""), " ".join(sums)]
    modified = g.value(d, DCT.modified)
    print(json.dumps({"iri": str(d), "ids": sorted(map(str, g.objects(d, DCT.identifier))), "title": str(g.value(d, DCT.title) or ""),
        "description": str(g.value(d, DCT.description) or ""), "license": str(g.value(d, DCT.license) or ""),
        "words": sorted(map(str, g.objects(d, DCAT.keyword))), "files": files, "modified": str(modified or ""),
        "dated": modified is not None and modified.datatype is not None,
        "publisher": str(g.value(g.value(d, DCT.publisher), FOAF.name) or "") if g.value(d, DCT.publisher) else ""}))
`

// An independent RDF library reads the catalogue that is exported as DCAT: every dataset has its
// own IRI, and the catalogue has the data of our record.
func TestExternalSmokeRDF(t *testing.T) {
	var claims []crawl.DatasetClaim
	size := int64(12)
	for i := range 50 {
		site := fmt.Sprintf("https://s%d.example", i%3)
		c := crawl.DatasetClaim{Kind: crawl.DatasetDCAT, Document: site + "/data.json", Origin: site, N: i, Allowed: true,
			Title: fmt.Sprintf("Set \"%d\" é 𝄞\n<x>", i), Description: "= + \\ {}", License: "CC BY 4.0", Publisher: "An office", Modified: "2026-01-02", Keywords: []string{"a", "b c"},
			Files: []crawl.DatasetFile{{URL: fmt.Sprintf("%s/%d.csv?x=1&y=2", site, i), MediaType: "text/csv", Bytes: &size, SHA256: strings.Repeat("ab", 32)},
				{URL: fmt.Sprintf("%s/%d/", site, i), Directory: true, MediaType: "CSV"}}}
		switch i % 5 {
		case 0:
			c.ID = "https://doi.org/10.5072/the-same" // of which it is unknown to whom it belongs
		case 1:
			c.ID = fmt.Sprintf("%s/set/%d", site, i)
		case 2:
			c.Title, c.Name, c.Modified, c.License = "", "named", "last year", "ask us"
		case 3:
			c.Files = nil
		}
		claims = append(claims, c)
	}
	want := map[string]crawl.DatasetInfo{}
	all := catalog.Merge(claims)
	for _, d := range all {
		want[d.ID] = d
	}
	var doc bytes.Buffer
	if err := catalog.Export(&doc, "dcat", all); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/usr/bin/python3", "-c", rdflib)
	cmd.Stdin = &doc
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("python3 with rdflib: %v\n%s", err, errs.Bytes())
	}
	iris := map[string]bool{}
	for line := range bytes.Lines(out) {
		var got struct {
			IRI                                              string
			IDs, Words                                       []string
			Title, Description, License, Modified, Publisher string
			Dated                                            bool
			Files                                            map[string][]string
		}
		if err := json.Unmarshal(line, &got); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(got.IDs, func(id string) bool { _, ok := want[id]; return ok })
		if i < 0 || iris[got.IRI] {
			t.Errorf("%s with %q is nobody's, or twice", got.IRI, got.IDs)
			continue
		}
		d := want[got.IDs[i]]
		delete(want, d.ID)
		iris[got.IRI] = true
		files := map[string][]string{}
		for _, f := range d.Files {
			fields := []string{"", "", f.SHA256}
			if strings.Contains(f.MediaType, "/") {
				fields[0] = "https://www.iana.org/assignments/media-types/" + f.MediaType
			}
			if f.Bytes != nil {
				fields[1] = fmt.Sprint(*f.Bytes)
			}
			files[f.URL] = fields
		}
		license, title := "", d.Title
		if d.SPDX != nil {
			license = "http://spdx.org/licenses/" + *d.SPDX
		}
		if title == "" {
			title = d.Name
		}
		if got.Title != title || got.Description != d.Description || got.License != license || got.Publisher != d.Publisher || got.Modified != d.Modified ||
			got.Dated != (d.Modified == "2026-01-02") || !slices.Equal(got.Words, d.Keywords) ||
			!maps.EqualFunc(got.Files, files, func(a, b []string) bool { return slices.Equal(a, b) }) {
			t.Errorf("rdflib has\n%s, the catalogue\n%+v", line, d)
		}
		if d.Identifier != "" && !slices.Contains(got.IDs, d.Identifier) {
			t.Errorf("%s: %q has not %s", d.ID, got.IDs, d.Identifier)
		}
	}
	if len(want) > 0 {
		t.Errorf("%d of %d datasets are missing", len(want), len(all))
	}
}
