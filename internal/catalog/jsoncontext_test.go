package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Names of DCAT-AP 3's own context, and of a context in the document, have the meaning that the
// context defines.
func TestContexts(t *testing.T) {
	const want = `https://d.example/id/1|Rain|CC-BY-4.0|2026-01-02|2026-02-03|Weather Office|[https://d.example/f/rain.csv text/csv 12 abababababab]`
	sum := strings.Repeat("ab", 32)
	for name, doc := range map[string]string{
		"the context of DCAT-AP 3": `{"@context": "https://context.example/dcat-ap/releases/3.0.0/context/dcat-ap.jsonld", "@graph": [
			{"@id": "_:d", "@type": ["Dataset", "DatasetMemberOfADatasetSeries"], "title": {"en": "Rain"}, "releaseDate": "2026-01-02", "modificationDate": "2026-02-03",
			 "identifier": ["rain"], "otherIdentifier": {"@type": "Identifier", "notation": "https://d.example/id/1"}, "publisher": "_:o", "datasetDistribution": ["_:f"], "inSeries": "_:s"},
			{"@id": "_:o", "@type": "Agent", "name": ["Weather Office"]},
			{"@id": "_:f", "@type": "Distribution", "accessUrl": ["https://d.example/rain"], "downloadUrl": ["https://d.example/f/rain.csv"], "licence": "https://creativecommons.org/licenses/by/4.0/",
			 "mediaType": "https://www.iana.org/assignments/media-types/text/csv", "byteSize": "12", "checksum": {"algorithm": "http://spdx.org/rdf/terms#checksumAlgorithm_sha256", "checksumValue": "` + sum + `"}}]}`,
		"a context of its own": `{"@context": [{"ex": "https://d.example/", "dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/",
			 "id": "@id", "type": "@type", "Datensatz": {"@id": "dcat:Dataset", "@context": {"titel": "dct:title", "erschienen": {"@id": "dct:issued", "@type": "xsd:date"}}},
			 "geändert": {"@id": "http://purl.org/dc/terms/modified"}, "herausgeber": "dct:publisher", "dateien": {"@id": "dcat:distribution", "@container": "@set"},
			 "lizenz": "dct:license", "ort": {"@id": "dcat:downloadURL", "@type": "@id"}, "art": "dcat:mediaType", "bytes": "dcat:byteSize", "name": "dct:notOurs"}],
			 "id": "ex:id/1", "type": "Datensatz", "titel": "Rain", "erschienen": "2026-01-02", "geändert": "2026-02-03", "herausgeber": {"name": "Weather Office"}, 
			 "dateien": [{"ort": {"id": "ex:f/rain.csv"}, "lizenz": "https://creativecommons.org/licenses/by/4.0/", "art": "text/csv", "bytes": 12, "sha256": "` + sum + `"}]}`,
	} {
		claims, err := ReadJSON([]byte(doc), Document{URL: "https://d.example/catalog.jsonld"})
		if err != nil || len(claims) != 1 {
			t.Errorf("%s: %+v, %v", name, claims, err)
			continue
		}
		c := claims[0]
		got := fmt.Sprintf("%s|%s|%s|%s|%s|%s|", c.ID, c.Title, SPDX(c.License), c.Issued, c.Modified, c.Publisher)
		for _, f := range c.Files {
			got += fmt.Sprintf("[%s %s %s %.12s]", f.URL, f.MediaType, number(f.Bytes), f.SHA256)
		}
		if got != want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
}

// A context is limited, and cannot change the meaning of the names that we read.
func TestContextsLimits(t *testing.T) {
	context := map[string]any{"title": "dct:license", "Dataset": "ex:Other", "@vocab": "https://x.example/", "": "dct:title"}
	for i := range 3 * maxTerms {
		context[fmt.Sprint("t", i)] = "dct:title"
	}
	deep := any("x")
	for range 10 * maxWalk {
		deep = map[string]any{"a": map[string]any{"@context": deep}}
	}
	context["deep"] = map[string]any{"@context": deep}
	c := contextsOf(map[string]any{"@context": context})
	if len(c.terms) > maxTerms || len(c.terms) < maxTerms/2 {
		t.Errorf("%d terms", len(c.terms))
	}
	doc, err := json.Marshal(map[string]any{"@context": context, "@type": "Dataset", "title": "Rain"})
	if err != nil {
		t.Fatal(err)
	}
	if claims, err := ReadJSON(doc, Document{URL: "https://d.example/"}); err != nil || claims[0].Title != "Rain" || claims[0].License != "" {
		t.Errorf("%+v, %v", claims, err)
	}
}

// A node whose name is valid only within the document is not called by that name. A type of the
// European list has the name that the list gives it.
func TestNamesWithinTheDocument(t *testing.T) {
	claims, err := ReadJSON([]byte(`{"@graph": [{"@id": "_:d", "@type": "dcat:Dataset", "dct:title": "Bees", "dct:publisher": {"@id": "_:office"}, "dct:creator": [{"@id": "_:who", "foaf:mbox": "x"}, {"foaf:name": "A. Reader"}],
		"dcat:distribution": {"dcat:downloadURL": "https://d.example/bees.shp", "dct:format": {"@id": "http://publications.europa.eu/resource/authority/file-type/SHP"}}}]}`), Document{URL: "https://d.example/"})
	if err != nil || len(claims) != 1 {
		t.Fatal(claims, err)
	}
	if c := claims[0]; c.Publisher != "" || len(c.Creators) != 1 || c.Creators[0] != "A. Reader" || c.Files[0].MediaType != "SHP" {
		t.Errorf("%q %q %+v", c.Publisher, c.Creators, c.Files)
	}
}
