package shapes

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
)

// document is the beginning of a document, and its path.
type document struct{ name, path, body string }

// others returns documents that describe no dataset, although some words in them may suggest it.
func others(t testing.TB) (all []document) {
	raw, err := os.ReadFile("../testdata/catalogues/others.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Why     string
		Answers map[string]struct{ Text string }
	}
	if err := json.Unmarshal(raw, &cases); err != nil || len(cases) < 40 {
		t.Fatal(err, len(cases))
	}
	for _, c := range cases {
		for path, a := range c.Answers {
			all = append(all, document{c.Why, path, a.Text})
		}
	}
	return all
}

// shown are documents that describe datasets.
var shown = []document{
	{"CKAN package_show", "/api/3/action/package_show", `{"help": "h", "success": true, "result": {"author": "A", "creator_user_id": "u", "id": "1", "isopen": true, "license_id": "cc-by", "name": "n"`},
	{"CKAN package_show elsewhere", "/x/7.json", `{"success": true, "result": {"license_title": "L", "name": "n", "notes": "words", "resources": [{"url": "https://d.example/f.csv"}]}}`},
	{"a long text comes first", "/api/3/action/package_show", `{"success": true, "result": {"notes": "` + strings.Repeat("words ", 2000)},
	{"CKAN list", "/list.json", `{"success": true, "result": [{"name": "n", "num_resources": 1, "owner_org": "o"}]}`},
	{"DKAN list", "/list.json", `{"success": true, "result": [[{"name": "n", "notes": "x", "license_title": "o", "resources": []}]]}`},
	{"an empty search", "/api/3/action/package_search", `{"success": true, "result": {"count": 0, "results": []}}`},
	{"DCAT-US", "/feed", `{"@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld", "dataset": [{"title": "t", "accessLevel": "public", "description": "d", "identifier": "i"`},
	{"DCAT-US, few properties", "/catalog.json", `{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "dataset": [{"title": "t"}]}`},
	{"Project Open Data 1.0", "/x", `[{"title": "t", "description": "d", "keyword": ["k"], "accessLevel": "public", "modified": "2013"}]`},
	{"a list of datasets", "/x", `{"datasets": [{"title": "t", "description": "d", "license": "l", "distribution": [{"downloadURL": "https://d.example/f.csv"}]}]}`},
	{"a byte order mark", "/x", "\xef\xbb\xbf" + `[{"title": "t", "description": "d", "keyword": ["k"], "accessLevel": "public"}]`},
	{"UTF-16", "/x", inUTF16(`[{"title": "t", "description": "d", "keyword": ["k"], "accessLevel": "public"}]`)},
	{"comments", "/x", "// made by hand\n/* and { here */ [ // list\n" + `{"title": "t", /* x */ "description": "d", "keyword": ["k",], "accessLevel": "public",}]`},
	{"DCAT, compact", "/x", `{"@context": {"dcat": "http://www.w3.org/ns/dcat#"}, "@type": "dcat:Catalog", "dcat:dataset": []}`},
	{"DCAT, a context elsewhere", "/x", `{"@context": "https://semiceu.github.io/DCAT-AP/releases/3.0.0/context/dcat-ap.jsonld", "@type": "Catalog"}`},
	{"DCAT, expanded", "/x", `[{"@id": "https://d.example/o", "@type": ["http://xmlns.com/foaf/0.1/Organization"]}, {"@id": "https://d.example/1", "@type": ["http://www.w3.org/ns/dcat#Dataset"]}]`},
	{"DCAT, a graph whose datasets come later", "/x", `{"@context": {"dcat": "http://www.w3.org/ns/dcat#"}, "@graph": [` + strings.Repeat(`{"@id": "https://d.example/o", "@type": "foaf:Agent"},`, 100)},
	{"schema.org", "/x", `{"@context": "https://schema.org/", "@type": "Dataset", "name": "n"}`},
	{"schema.org catalogue", "/x", `{"@context": "https://schema.org/", "@graph": [{"@type": "Organization"}, {"@type": "DataCatalog", "dataset": []}]}`},
	{"Croissant", "/metadata.json", `{"@context": {"@vocab": "https://schema.org/", "cr": "http://mlcommons.org/croissant/", "sc": "https://schema.org/"}, "@type": "sc:Dataset"}`},
	{"RO-Crate", "/x", `{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [{"@id": "ro-crate-metadata.json", "@type": "CreativeWork"}, {"@id": "./", "@type": "Dataset"}]}`},
	{"Frictionless", "/rain.datapackage.json", `{"name": "n", "resources": [{"name": "a", "path": "a.csv"}]}`},
	{"Frictionless under another name", "/x", `{"name": "n", "licenses": [{"name": "CC0-1.0"}], "resources": [{"name": "a", "path": "a.csv", "schema": {"fields": []}}]}`},
	{"Socrata's views", "/api/views.json", `[{"id": "abcd-1234", "name": "n", "averageRating": 0, "displayType": "table", "viewType": "tabular", "downloadCount": 1}]`},
	{"OGC records of an ArcGIS Hub", "/api/search/v1/collections/dataset/items", `{"type": "FeatureCollection", "features": [{"id": "1", "type": "Feature", "geometry": null, "properties": {"title": "t", "snippet": "s", "licenseInfo": "l"}}]}`},
	{"Hugging Face", "/api/datasets/o/n", `{"_id": "1", "id": "o/n", "author": "o", "sha": "f", "gated": false}`},
}

func inUTF16(s string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(s)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// The first 4 KiB of a document decide whether it describes datasets, and not one word in them.
func TestShows(t *testing.T) {
	for _, d := range shown {
		if !Shows([]byte(d.body[:min(len(d.body), Look)]), d.path) {
			t.Errorf("%s: %.200s", d.name, d.body)
		}
	}
	for _, d := range others(t) {
		if Shows([]byte(d.body), d.path) {
			root, cut := sketch([]byte(d.body))
			t.Errorf("%s counts as %+v: %.200s", d.name, shapeOf(root, d.path, cut), d.body)
		}
	}
}

// Wherever a document is cut, its sketch is a part of the whole. A document that shows its shape
// early goes on showing it.
func TestShowsHoweverMuch(t *testing.T) {
	files, err := filepath.Glob("../testdata/examples/*.json*")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shows := false
		for n := range min(len(body), Look) {
			now := Shows(body[:n], "/x")
			if shows && !now {
				t.Fatalf("%s no longer shows what it is after %d bytes", name, n)
			}
			shows = now
		}
		if !shows {
			t.Errorf("%s does not show what it is", name)
		}
	}
}

// The example of each shape shows it in its first 4 KiB, and no other shape comes before it.
func TestExamples(t *testing.T) {
	for i := range table {
		s := &table[i]
		body, err := os.ReadFile("../testdata/catalogues/" + s.example)
		if err != nil {
			t.Fatal(err)
		}
		first := body[:min(len(body), Look)]
		root, cut := sketch(first)
		path := s.path
		if s.named != "" {
			path, _, _ = strings.Cut(s.named, " ")
		}
		for _, p := range []string{path, cmp.Or(s.path, "/x")} {
			if got := shapeOf(root, p, cut); got != s {
				t.Errorf("%s at %s is read as %+v", s.example, p, got)
			}
		}
		if s.dataset == nil {
			continue
		}
		n := 0
		var whole any
		if err := json.Unmarshal(body, &whole); err != nil {
			t.Fatal(err)
		}
		for m := range s.Datasets(whole) {
			if d := s.Rewritten(m); d != nil && text(d["title"]) != "" {
				n++
			}
		}
		if n == 0 {
			t.Errorf("%s has no dataset", s.example)
		}
	}
}

// The sketch of a whole document is the document.
func TestSketchOfAWhole(t *testing.T) {
	files, err := filepath.Glob("../testdata/catalogues/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		dec := json.NewDecoder(bytes.NewReader(body))
		dec.UseNumber()
		var want any
		if err := dec.Decode(&want); err != nil {
			t.Fatal(err)
		}
		if got, cut := sketch(body); cut || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: cut %t, or otherwise", name, cut)
		}
	}
}

// Limits of the sketch: depth, and what is too deep for it.
func TestSketchLimits(t *testing.T) {
	deep := func(n int) []byte { return []byte(strings.Repeat(`[`, n) + strings.Repeat(`]`, n)) }
	if _, cut := sketch(deep(maxSketch + 1)); cut {
		t.Error("a document at the limit is cut")
	}
	if _, cut := sketch(deep(maxSketch + 2)); !cut {
		t.Error("a document past the limit is read")
	}
}

// No beginning of a document makes the sketch fail or run on.
func FuzzShows(f *testing.F) {
	for _, d := range shown {
		f.Add([]byte(d.body), d.path)
	}
	for _, d := range others(f) {
		f.Add([]byte(d.body), d.path)
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		Shows(body, path)
		Bare(body)
	})
}
