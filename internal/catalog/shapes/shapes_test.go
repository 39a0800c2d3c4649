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

// shown are beginnings of documents that describe datasets, by their path.
var shown = []struct{ name, path, body string }{
	{"CKAN package_show", "/api/3/action/package_show", `{"help": "h", "success": true, "result": {"author": "A", "creator_user_id": "u", "id": "1", "isopen": true, "license_id": "cc-by", "name": "n"`},
	{"CKAN package_show elsewhere", "/x/7.json", `{"success": true, "result": {"license_title": "L", "name": "n", "notes": "words", "resources": [{"url": "https://d.example/f.csv"}]}}`},
	{"a long text comes first", "/api/3/action/package_show", `{"success": true, "result": {"notes": "` + strings.Repeat("words ", 2000)},
	{"CKAN list", "/list.json", `{"success": true, "result": [{"name": "n", "num_resources": 1, "owner_org": "o"}]}`},
	{"DKAN list", "/list.json", `{"success": true, "result": [[{"name": "n", "notes": "x", "license_title": "o", "resources": []}]]}`},
	{"an empty search", "/api/3/action/package_search", `{"success": true, "result": {"count": 0, "results": []}}`},
	{"DCAT-US", "/feed", `{"@context": "https://project-open-data.cio.gov/v1.1/schema/catalog.jsonld", "dataset": [{"title": "t", "accessLevel": "public", "description": "d", "identifier": "i"`},
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

// others are documents that describe no dataset, although a word or two of them may suggest it.
var others = []struct{ name, path, body string }{
	{"a chart", "/chart.json", `{"type": "bar", "data": {"labels": ["a"], "datasets": [{"label": "Sales", "data": [1, 2, 3]}]}}`},
	{"a chart's data", "/chart.json", `{"labels": ["a"], "datasets": [{"label": "Sales", "title": "t", "description": "d", "data": [1, 2, 3]}]}`},
	{"npm's package.json", "/package.json", `{"name": "n", "version": "1.0.0", "license": "MIT", "description": "d", "keywords": ["data"], "author": "a", "homepage": "h", "repository": {"type": "git", "url": "u"}}`},
	{"npm's package-lock.json", "/package-lock.json", `{"name": "n", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {"": {"name": "n", "license": "MIT"}}}`},
	{"GeoJSON", "/map.geojson", `{"type": "FeatureCollection", "name": "n", "features": [{"type": "Feature", "properties": {"name": "a park", "owner": "City", "access": "public", "url": "https://d.example/p"}, "geometry": null}]}`},
	{"TopoJSON", "/map.json", `{"type": "Topology", "objects": {"a": {"type": "GeometryCollection", "geometries": []}}, "arcs": []}`},
	{"OpenAPI", "/openapi.json", `{"openapi": "3.0.3", "info": {"title": "Datasets API", "description": "d", "license": {"name": "MIT"}, "version": "1"}, "paths": {"/api/datasets": {"get": {"summary": "Lists datasets"}}}}`},
	{"Vega-Lite", "/spec.json", `{"$schema": "https://vega.github.io/schema/vega-lite/v5.json", "datasets": {"d": [{"a": 1}]}, "data": {"url": "https://d.example/f.csv"}, "title": "t", "description": "d"}`},
	{"GTFS in JSON", "/gtfs.json", `{"agency": [{"agency_id": "1", "agency_name": "n", "agency_url": "u"}], "stops": [], "feed_info": {"feed_publisher_name": "p"}}`},
	{"GBFS", "/gbfs.json", `{"last_updated": 1, "ttl": 0, "version": "2.3", "data": {"en": {"feeds": [{"name": "station_status", "url": "https://d.example/s.json"}]}}}`},
	{"a list of things", "/api/things", `{"data": [{"id": 1, "type": "article", "attributes": {"title": "t", "description": "d", "owner": "o", "slug": "s"}}], "links": {"next": null}}`},
	{"an answer with status OK", "/api/search", `{"status": "OK", "data": {"items": [{"name": "Tea", "type": "product", "identifier": "1", "url": "u", "description": "d"}], "total_count": 1}}`},
	{"Elasticsearch", "/api/search", `{"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_index": "pages", "_id": "1", "_source": {"title": "t", "metadata": {"a": 1}}}]}}`},
	{"a CKAN's names", "/api/3/action/package_list", `{"help": "h", "success": true, "result": ["a", "b"]}`},
	{"a CKAN's organization", "/api/3/action/organization_show", `{"success": true, "result": {"name": "n", "title": "t", "description": "d", "package_count": 3, "num_followers": 0, "is_organization": true, "state": "active", "type": "organization"}}`},
	{"a CKAN's resource", "/api/3/action/resource_show", `{"success": true, "result": {"package_id": "1", "name": "n", "url": "https://d.example/f.csv", "hash": "", "size": 1, "format": "CSV", "metadata_modified": "2020"}}`},
	{"a CKAN's datastore", "/api/3/action/datastore_search", `{"success": true, "result": {"resource_id": "1", "fields": [{"id": "name", "type": "text"}], "records": [{"name": "a", "notes": "b"}], "total": 1}}`},
	{"a CKAN's error", "/api/3/action/package_show", `{"help": "h", "success": false, "error": {"message": "Not found", "__type": "Not Found Error"}}`},
	{"a Dataverse collection", "/api/dataverses/root", `{"status": "OK", "data": {"id": 1, "alias": "root", "name": "Root", "affiliation": "u", "dataverseContacts": [], "permissionRoot": true, "description": "d", "dataverseType": "UNCATEGORIZED"}}`},
	{"a Zenodo paper", "/api/records/1", `{"id": 1, "conceptrecid": "0", "doi": "10.5281/zenodo.1", "doi_url": "u", "metadata": {"title": "t", "publication_date": "2020-01-01", "resource_type": {"title": "Journal article", "type": "publication", "subtype": "article"}}}`},
	{"a Figshare poster", "/v2/articles/1", `{"id": 1, "title": "t", "defined_type_name": "poster", "url_public_html": "u", "url_public_api": "u", "published_date": "2020", "figshare_url": "u"}`},
	{"a Hugging Face model", "/api/models/o/n", `{"_id": "1", "id": "o/n", "modelId": "o/n", "author": "o", "sha": "f", "gated": false, "downloads": 1, "tags": [], "siblings": [{"rfilename": "a"}]}`},
	{"a Hugging Face space", "/api/spaces/o/n", `{"_id": "1", "id": "o/n", "author": "o", "sha": "f", "sdk": "gradio", "likes": 1}`},
	{"DataCite's article", "/dois/10.1/x", `{"data": {"id": "10.1/x", "type": "dois", "attributes": {"doi": "10.1/x", "prefix": "10.1", "identifiers": [], "creators": [], "titles": [{"title": "t"}], "types": {"resourceTypeGeneral": "JournalArticle"}}}}`},
	{"a Socrata chart", "/api/catalog/v1", `{"results": [{"resource": {"id": "abcd-1234", "name": "n", "type": "chart", "parent_fxf": ["wxyz-1234"]}, "classification": {"domain_category": "c", "tags": []}, "permalink": "u"}], "resultSetSize": 1}`},
	{"rows of a Socrata dataset", "/resource/abcd-1234.json", `[{"id": "1", "name": "n", "license": "x", "description": "d", "publisher": "p"}]`},
	{"schema.org, a product", "/p.json", `{"@context": "https://schema.org", "@type": "Product", "name": "Dataset cleaner", "license": "l", "distribution": "x"}`},
	{"schema.org, an article about a dataset", "/p.json", `{"@context": "https://schema.org", "@type": "Article", "name": "n", "isBasedOn": {"@type": "Dataset", "name": "d"}}`},
	{"JSON-LD with DCAT in its context alone", "/p.json", `{"@context": {"dcat": "http://www.w3.org/ns/dcat#"}, "@graph": [{"@id": "a", "@type": "skos:Concept"}]}`},
	{"a SKOS vocabulary", "/p.json", `{"@context": {"skos": "http://www.w3.org/2004/02/skos/core#"}, "@graph": [{"@id": "a", "@type": "skos:ConceptScheme"}]}`},
	{"kustomize", "/kustomization.json", `{"kind": "Kustomization", "resources": ["a.yaml", "b.yaml"], "name": "n"}`},
	{"an API's resources", "/api.json", `{"title": "My API", "name": "n", "description": "d", "version": "1", "resources": [{"name": "users", "path": "/users", "url": "u"}]}`},
	{"Terraform", "/state.json", `{"version": 4, "terraform_version": "1", "resources": [{"mode": "managed", "type": "t", "name": "n", "instances": []}]}`},
	{"a web app's manifest", "/manifest.json", `{"name": "n", "short_name": "s", "description": "d", "start_url": "/", "icons": []}`},
	{"a JSON feed", "/feed.json", `{"version": "https://jsonfeed.org/version/1.1", "title": "t", "home_page_url": "u", "items": [{"id": "1", "url": "u", "title": "t", "date_published": "2020", "authors": [{"name": "a"}]}]}`},
	{"blog posts", "/posts.json", `[{"title": "t", "description": "d", "publisher": "p", "license": "l", "keyword": ["k"], "identifier": "i", "modified": "2020"}]`},
	{"downloads of a program", "/downloads.json", `[{"name": "n", "downloadURL": "u", "license": "MIT", "description": "d", "identifier": "org.x"}]`},
	{"BigQuery's datasets", "/datasets", `{"kind": "bigquery#datasetList", "datasets": [{"kind": "bigquery#dataset", "id": "p:d", "datasetReference": {"datasetId": "d"}, "friendlyName": "n", "location": "EU"}]}`},
	{"a geocoder", "/geo.json", `{"results": [{"resource": "x", "id": 1, "link": "l", "permalink": "p", "classification": "c"}]}`},
	{"a JSON Schema", "/schema.json", `{"$schema": "http://json-schema.org/draft-07/schema#", "title": "Dataset", "description": "d", "properties": {"dataset": {"type": "array"}, "distribution": {"type": "array"}}}`},
	{"STAC", "/item.json", `{"type": "Feature", "stac_version": "1.0.0", "id": "i", "properties": {"datetime": "2020", "title": "t"}, "assets": {}, "links": []}`},
	{"ActivityPub", "/users/a", `{"@context": "https://www.w3.org/ns/activitystreams", "type": "Collection", "items": [{"type": "Note", "name": "dataset"}]}`},
	{"numbers", "/x.json", `[1, 2, 3]`},
	{"a text", "/x.json", `"dataset"`},
	{"nothing", "/x.json", ``},
	{"an empty object", "/x.json", `{}`},
	{"HTML behind a brace", "/data.json", `{% extends "base.html" %}<html><body>dataset</body></html>`},
	{"HTML", "/data.json", `<html><script type="application/ld+json">{"@type": "Dataset"}</script>`},
	{"a log in lines", "/log.json", `{"level": "info", "dataset": "d", "title": "t"}` + "\n" + `{"level": "info"}`},
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
	for _, d := range others {
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
	for _, d := range others {
		f.Add([]byte(d.body), d.path)
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		Shows(body, path)
		Bare(body)
	})
}
