package simweb

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/curtsy/curtsy/internal/simweb/prose"
)

// Dataset is a file that a document of the web describes.
type Dataset struct {
	URL, Name, Title, License string
	// the kind of the authoritative document: "yaml" or "records" of a data.txt, "json-ld",
	// "datapackage"
	Form        string
	Rows, Bytes int
	SHA256      string // of the file, in hexadecimal
	Forbidden   bool   // the data.txt itself forbids it
}

// Datasets are the datasets of all hosts, in the order of the hosts and files. No page links to
// them.
func (w *Web) Datasets() []Dataset {
	var out []Dataset
	for _, s := range w.sites {
		out = append(out, s.datasets...)
	}
	return out
}

// dataset adds a CSV file with this many rows.
func (s features) dataset(path string, rows int, d Dataset) Dataset {
	r := prose.Mix(uint64(s.web.cfg.Seed), 'D', uint64(s.index), uint64(rows))
	b := []byte("id,place,quality,amount\n")
	for i := range rows {
		b = append(strconv.AppendInt(b, int64(i+1), 10), ',')
		b = append(append(b, r.Noun()...), ',')
		b = append(append(b, r.Adjective()...), ',')
		b = append(strconv.AppendInt(b, int64(r.Intn(10_000)), 10), '\n')
	}
	sum := sha256.Sum256(b)
	d.URL, d.Rows, d.Bytes, d.SHA256 = s.url(path), rows, len(b), hex.EncodeToString(sum[:])
	s.datasets = append(s.datasets, d)
	s.add(s.file(path, "text/csv", b))
	return d
}

// file is a resource of which ranges can be requested.
func (s features) file(path, ctype string, body []byte) *resource {
	tag := textTag(string(body))
	return &resource{path: path, want: refused(ReasonType), answer: func(q *request, _ *buffer) reply {
		r := reply{status: 200, ctype: ctype, body: body, header: "ETag: " + tag + "\r\nAccept-Ranges: bytes\r\n"}
		if q.ifNoneMatch == tag {
			r.status, r.body = 304, nil
			return r
		}
		if q.byteRange == "" || q.ifRange != "" && q.ifRange != tag {
			return r
		}
		from, to, ok := parseRange(q.byteRange, len(body))
		if !ok {
			r.status, r.body = 416, nil
			r.header += fmt.Sprintf("Content-Range: bytes */%d\r\n", len(body))
			return r
		}
		r.status, r.body = 206, body[from:to]
		r.header += fmt.Sprintf("Content-Range: bytes %d-%d/%d\r\n", from, to-1, len(body))
		return r
	}}
}

// textTag is an ETag for a text.
func textTag(text string) string {
	sum := sha256.Sum256([]byte(text))
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}

// parseRange reads a single range of bytes: from-to, from-, or -last.
func parseRange(v string, size int) (from, to int, ok bool) {
	spec, isBytes := strings.CutPrefix(v, "bytes=")
	first, last, dash := strings.Cut(spec, "-")
	if !isBytes || !dash {
		return 0, 0, false
	}
	if first == "" {
		n, err := strconv.Atoi(last)
		return max(size-n, 0), size, err == nil && n > 0
	}
	from, err := strconv.Atoi(first)
	if err != nil || from < 0 || from >= size {
		return 0, 0, false
	}
	to = size
	if last != "" {
		n, err := strconv.Atoi(last)
		if err != nil || n < from {
			return 0, 0, false
		}
		to = min(n+1, size)
	}
	return from, to, true
}

// dataYAML describes datasets as the pins package does, and a directory with its own data.txt.
func (s features) dataYAML() {
	iris := s.dataset("/data/iris.csv", 150, Dataset{Name: "iris.csv", Title: "Irises of the old garden", License: "CC0-1.0", Form: "yaml"})
	rivers := s.dataset("/data/rivers.csv", cmp.Or(s.b.DataRows, 2_000), Dataset{Name: "rivers", Title: "Rivers and their bridges", License: "CC-BY-4.0", Form: "yaml"})
	text := "# data.txt of " + s.name + "\n" +
		"- path: data/iris.csv\n  title: " + iris.Title + "\n  license: " + iris.License + "\n  rows: " + strconv.Itoa(iris.Rows) + "\n" +
		"- name: rivers\n  path:\n    - " + rivers.URL + "\n  title: \"" + rivers.Title + "\"\n  license: " + rivers.License +
		"\n  description: >\n    Measured in the northern valley,\n    every season.\n  type: table\n  rows: \"" + strconv.Itoa(rivers.Rows) +
		"\"\n  cols: 4\n  columns:\n    id: number\n    place: text\n" +
		"- title: an entry without a path\n" +
		"- path: survey/\n  title: The survey\n"
	s.add(s.file("/data.txt", "text/plain; charset=utf-8", []byte(text)))
}

// dataRecords describes datasets in the records of the 1996 text.
func (s features) dataRecords() {
	dir := "/"
	if s.has(FeatureDataYAML) {
		dir = "/survey/"
	}
	harvest := s.dataset(dir+"data/harvest.csv", cmp.Or(s.b.DataRows, 500), Dataset{Name: "harvest", Title: "Harvest of the orchards", License: "ODbL-1.0", Form: "records"})
	s.dataset(dir+"data/closed.csv", 10, Dataset{Name: "closed.csv", Form: "records", Forbidden: true})
	text := "# records\nUser-agent: unhipbot\nDisallow: /\n\nUser-agent: *\nDisallow: " + dir + "data/closed.csv\n" +
		"Allow: " + dir + "data/harvest.csv\nName: harvest\nTitle: " + harvest.Title + "\nLicense: " + harvest.License +
		"\nRows: " + strconv.Itoa(harvest.Rows) + "\nAllow: " + dir + "data/\n"
	s.add(s.file(dir+"data.txt", "text/plain", []byte(text)))
}

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
