package catalog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Formats are what Export writes.
var Formats = []string{"jsonl", "csv", "dcat", "datatxt"}

// Export writes datasets as JSON Lines (all that is known, provenance and conflicts too), as CSV (RFC 4180, a line each,
// lists separated by blanks or "; "), as a DCAT catalogue in JSON-LD, or as a data.txt in its YAML form.
func Export(w io.Writer, format string, all []crawl.DatasetInfo) error {
	out := bufio.NewWriter(w)
	var err error
	switch format {
	case "jsonl":
		err = exportJSONL(out, all)
	case "csv":
		err = exportCSV(out, all)
	case "dcat":
		err = exportDCAT(out, all)
	case "datatxt":
		err = exportDataTxt(out, all)
	default:
		return fmt.Errorf("no format %q for datasets: use %s", format, strings.Join(Formats, ", "))
	}
	if err != nil {
		return err
	}
	return out.Flush()
}

func exportJSONL(w io.Writer, all []crawl.DatasetInfo) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

func exportCSV(w io.Writer, all []crawl.DatasetInfo) error {
	out := csv.NewWriter(w)
	header := []string{"id", "name", "title", "description", "license", "spdx", "urls", "identifier", "page", "publisher", "creators", "keywords",
		"version", "issued", "modified", "type", "rows", "cols", "source", "origin", "documents", "conflicts", "fetched_at"}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		spdx := ""
		if d.SPDX != nil {
			spdx = *d.SPDX
		}
		var documents []string
		for _, s := range d.Sources {
			documents = append(documents, s.Document)
		}
		err := out.Write([]string{
			d.ID, d.Name, d.Title, d.Description, d.License, spdx, strings.Join(d.URLs, " "), d.Identifier, d.Page, d.Publisher,
			strings.Join(d.Creators, "; "), strings.Join(d.Keywords, "; "), d.Version, d.Issued, d.Modified, d.Type, number(d.Rows), number(d.Cols),
			d.Source, d.Origin, strings.Join(documents, " "), strings.Join(slices.Sorted(maps.Keys(d.Conflicts)), " "), d.FetchedAt.Format(time.RFC3339),
		})
		if err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

// dcatContext stands in the document itself, so that it expands without a network.
var dcatContext = map[string]any{
	"dcat": "http://www.w3.org/ns/dcat#", "dct": "http://purl.org/dc/terms/", "foaf": "http://xmlns.com/foaf/0.1/", "prov": "http://www.w3.org/ns/prov#",
	"spdx": "http://spdx.org/rdf/terms#", "xsd": "http://www.w3.org/2001/XMLSchema#",
}

type object = map[string]any

func exportDCAT(w io.Writer, all []crawl.DatasetInfo) error {
	sets := make([]any, 0, len(all))
	for i := range all {
		sets = append(sets, dcat(&all[i]))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(object{"@context": dcatContext, "@type": "dcat:Catalog", "dct:title": "Datasets found by Curtsy", "dcat:dataset": sets})
}

func dcat(d *crawl.DatasetInfo) object {
	o := object{"@type": "dcat:Dataset", "dct:identifier": d.ID}
	text := func(key, v string) {
		if v != "" {
			o[key] = v
		}
	}
	address := func(key, v string) {
		if v != "" {
			o[key] = object{"@id": v}
		}
	}
	title := d.Title
	if title == "" {
		title = d.Name
	}
	text("dct:title", title)
	text("dct:description", d.Description)
	text("dcat:version", d.Version)
	text("dct:issued", d.Issued)
	text("dct:modified", d.Modified)
	text("dct:source", d.Source)
	if d.Identifier != "" {
		o["@id"] = d.Identifier
	}
	address("dcat:landingPage", d.Page)
	switch {
	case d.SPDX != nil:
		address("dct:license", "http://spdx.org/licenses/"+*d.SPDX)
		text("dct:rights", d.License)
	case strings.HasPrefix(d.License, "http://"), strings.HasPrefix(d.License, "https://"):
		address("dct:license", d.License)
	default:
		text("dct:rights", d.License)
	}
	if d.Publisher != "" {
		o["dct:publisher"] = object{"@type": "foaf:Agent", "foaf:name": d.Publisher}
	}
	if len(d.Creators) > 0 {
		var people []any
		for _, name := range d.Creators {
			people = append(people, object{"@type": "foaf:Agent", "foaf:name": name})
		}
		o["dct:creator"] = people
	}
	if len(d.Keywords) > 0 {
		o["dcat:keyword"] = d.Keywords
	}
	var files, documents []any
	for _, f := range d.Files {
		x := object{"@type": "dcat:Distribution", "dcat:downloadURL": object{"@id": f.URL}}
		if f.Name != "" {
			x["dct:title"] = f.Name
		}
		if f.MediaType != "" {
			x["dcat:mediaType"] = f.MediaType
		}
		if f.Bytes != nil {
			x["dcat:byteSize"] = object{"@type": "xsd:nonNegativeInteger", "@value": strconv.FormatInt(*f.Bytes, 10)}
		}
		if f.SHA256 != "" {
			x["spdx:checksum"] = object{"@type": "spdx:Checksum", "spdx:algorithm": object{"@id": "spdx:checksumAlgorithm_sha256"}, "spdx:checksumValue": f.SHA256}
		}
		files = append(files, x)
	}
	if files != nil {
		o["dcat:distribution"] = files
	}
	for _, s := range d.Sources {
		documents = append(documents, object{"@id": s.Document})
	}
	o["prov:wasDerivedFrom"] = documents
	return o
}

// exportDataTxt writes the YAML form (§5.4 of docs/formats.md). Every text is quoted, as JSON quotes: that is YAML too.
func exportDataTxt(w *bufio.Writer, all []crawl.DatasetInfo) error {
	for i := range all {
		d := &all[i]
		if len(d.URLs) == 0 {
			continue // a data.txt points at files; this dataset has none
		}
		y := yamlWriter{w, "- "}
		y.list("path", d.URLs)
		for _, f := range []struct{ name, value string }{
			{"name", d.Name}, {"title", d.Title}, {"description", d.Description}, {"license", d.License}, {"type", d.Type}, {"source", d.Source},
			{"rows", number(d.Rows)}, {"cols", number(d.Cols)}, {"identifier", d.Identifier}, {"page", d.Page}, {"publisher", d.Publisher},
			{"version", d.Version}, {"issued", d.Issued}, {"modified", d.Modified},
		} {
			y.text(f.name, f.value)
		}
		y.list("creators", d.Creators)
		y.list("keywords", d.Keywords)
		if len(d.Columns) > 0 {
			y.line("columns:")
			for _, c := range d.Columns {
				sub := yamlWriter{w, "    - "}
				for _, f := range []struct{ name, value string }{{"name", c.Name}, {"type", c.Type}, {"description", c.Description}} {
					sub.text(f.name, f.value)
				}
			}
		}
		for _, name := range slices.Sorted(maps.Keys(d.Extra)) {
			if !knownKeys[strings.ToLower(name)] {
				y.any(name, d.Extra[name])
			}
		}
	}
	return nil
}

var knownKeys = map[string]bool{"path": true, "file": true, "name": true, "title": true, "description": true, "license": true, "type": true, "source": true, "rows": true,
	"cols": true, "columns": true, "identifier": true, "page": true, "publisher": true, "version": true, "issued": true, "modified": true, "creators": true, "keywords": true}

// yamlWriter writes the keys of one mapping; the first stands behind a dash.
type yamlWriter struct {
	w    *bufio.Writer
	lead string
}

func (y *yamlWriter) line(s string) {
	y.w.WriteString(y.lead + s + "\n")
	y.lead = strings.Repeat(" ", len(y.lead))
}

func (y *yamlWriter) text(name, v string) {
	if v != "" {
		y.line(yamlKey(name) + ": " + quoted(v))
	}
}

func (y *yamlWriter) list(name string, all []string) {
	if len(all) > 0 {
		parts := make([]string, len(all))
		for i, s := range all {
			parts[i] = quoted(s)
		}
		y.line(yamlKey(name) + ": [" + strings.Join(parts, ", ") + "]")
	}
}

func (y *yamlWriter) any(name string, v any) {
	if s := flow(v); s != "" {
		y.line(yamlKey(name) + ": " + s)
	}
}

// flow is a value in YAML's flow style.
func flow(v any) string {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = flow(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, quoted(k)+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	return ""
}

// yamlKey is a key as it is where that is safe, quoted elsewhere.
func yamlKey(name string) string {
	for _, c := range name {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_') {
			return quoted(name)
		}
	}
	return name
}

func quoted(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(strings.ToValidUTF8(s, "\ufffd")) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}
