package simweb

import "fmt"

// openData announces datasets in every other way: a page with JSON-LD, a linked data package, a
// linked portal catalogue that lists both, and a board of the R package pins, which is a list with
// a mapping in each pin's directory. On a host with a data.txt of another feature there is no
// board.
func (s features) openData() {
	rain := s.dataset("/open/rain.csv", 365, Dataset{Title: "Rain by day", License: "https://creativecommons.org/licenses/by/4.0/", Form: "json-ld"})
	s.enter(s.page("/open/rain.html", doc{text: "It rained.", head: fmt.Sprintf(`<script type="application/ld+json">
{"@context": "https://schema.org/", "@type": "Dataset", "name": %q, "description": "How much fell, and where.", "license": %q,
 "distribution": {"@type": "DataDownload", "encodingFormat": "text/csv", "contentUrl": "rain.csv", "contentSize": "%d B", "sha256": %q}}
</script>`, rain.Title, rain.License, rain.Bytes, rain.SHA256)}))

	trees := s.dataset("/open/trees/trees.csv", 120, Dataset{Name: "trees", Title: "Trees of the town", License: "ODbL-1.0", Form: "datapackage"})
	s.enter(s.document("/open/trees/datapackage.json", "application/json", fmt.Sprintf(
		`{"name": %q, "title": %q, "licenses": [{"name": %q}], "resources": [{"name": "trees", "path": "trees.csv", "bytes": %d, "hash": "sha256:%s"}]}`,
		trees.Name, trees.Title, trees.License, trees.Bytes, trees.SHA256)))
	s.enter(s.document("/data.json", "application/json", fmt.Sprintf(
		`{"conformsTo": "https://project-open-data.cio.gov/v1.1/schema", "@type": "dcat:Catalog", "dataset": [
 {"@type": "dcat:Dataset", "title": "Rain of this year", "accessLevel": "public", "license": %q, "distribution": [{"downloadURL": %q}]},
 {"@type": "dcat:Dataset", "title": %q, "accessLevel": "public", "distribution": [{"downloadURL": %q}]}]}`,
		rain.License, rain.URL, trees.Title, trees.URL)))

	if s.has(FeatureDataYAML) || s.has(FeatureDataRecords) {
		return
	}
	lakes := s.dataset("/board/lakes/data.csv", 80, Dataset{Name: "lakes", Title: "Lakes and their depths", Form: "yaml"})
	s.add(s.file("/data.txt", "text/plain", []byte("- path: board/lakes\n  name: "+lakes.Name+"\n")))
	s.add(s.file("/board/lakes/data.txt", "text/plain", fmt.Appendf(nil,
		"path: data.csv\ntype: table\ntitle: %s\nrows: %d\ncols: 4\ncolumns:\n  id: integer\n  place: character\n", lakes.Title, lakes.Rows)))
}

// document is a file that a crawler keeps if it reads descriptions of datasets.
func (s features) document(path, ctype, body string) *resource {
	r := s.file(path, ctype, []byte(body))
	r.want = Expectation{Class: Stored, Also: []Class{Refused}}
	return r
}
