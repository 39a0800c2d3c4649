package catalog

import (
	"bufio"
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

// Export writes datasets as JSON Lines (all that is known, provenance and conflicts too), as CSV
// (RFC 4180, a line each, lists separated by blanks or "; "), as a DCAT catalogue in JSON-LD, or as
// a data.txt in its YAML form, which has those with files only. All text is as the sites wrote it,
// but for CSV cells that a spreadsheet would take for a formula: those begin with an apostrophe.
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
	enc := json.NewEncoder(crawl.SafeJSONTo(w))
	enc.SetEscapeHTML(false)
	for i := range all {
		if err := enc.Encode(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// plainCells writes CSV in which no cell is taken for a formula by a spreadsheet.
type plainCells struct{ *csv.Writer }

// Write makes every cell of a row harmless and writes the row. The caller's row stays as it is.
func (p plainCells) Write(row []string) error {
	for i, cell := range row {
		if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
			row[i] = "'" + cell
		}
	}
	return p.Writer.Write(row)
}

func exportCSV(w io.Writer, all []crawl.DatasetInfo) error {
	out := plainCells{csv.NewWriter(w)}
	header := []string{"id", "name", "title", "description", "license", "spdx", "urls", "identifier", "page", "publisher", "creators", "keywords",
		"version", "issued", "modified", "type", "rows", "cols", "source", "origin", "documents", "conflicts", "fetched_at",
		"license_by_host", "also_described_at", "usage"}
	if err := out.Write(header); err != nil {
		return err
	}
	for i := range all {
		d := &all[i]
		spdx := ""
		if d.SPDX != nil {
			spdx = *d.SPDX
		}
		var documents, also []string
		for _, s := range d.Sources {
			documents = append(documents, s.Document)
		}
		for _, s := range d.AlsoDescribedAt {
			also = append(also, s.Document)
		}
		err := out.Write([]string{
			d.ID, d.Name, d.Title, d.Description, d.License, spdx, strings.Join(d.URLs, " "), d.Identifier, d.Page, d.Publisher,
			strings.Join(d.Creators, "; "), strings.Join(d.Keywords, "; "), d.Version, d.Issued, d.Modified, d.Type, number(d.Rows), number(d.Cols),
			d.Source, d.Origin, strings.Join(documents, " "), strings.Join(slices.Sorted(maps.Keys(d.Conflicts)), " "), d.FetchedAt.Format(time.RFC3339),
			strconv.FormatBool(d.LicenseByHost), strings.Join(also, " "),
			strings.Join(d.Usage.Said(), "; "),
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
	"rdfs": "http://www.w3.org/2000/01/rdf-schema#", "spdx": "http://spdx.org/rdf/terms#", "xsd": "http://www.w3.org/2001/XMLSchema#",
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
	case isURL(d.License):
		address("dct:license", d.License)
	default:
		text("dct:rights", d.License)
	}
	if said := d.Usage.Said(); len(said) > 0 {
		o["dct:accessRights"] = object{"@type": "dct:RightsStatement", "rdfs:label": "what its site lets it be used for: " + strings.Join(said, ", ")}
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
		at := "dcat:downloadURL"
		if f.Directory {
			at = "dcat:accessURL"
		}
		x := object{"@type": "dcat:Distribution", at: object{"@id": f.URL}}
		if f.Name != "" {
			x["dct:title"] = f.Name
		}
		if f.MediaType != "" {
			x["dcat:mediaType"] = f.MediaType
		}
		if f.Bytes != nil {
			x["dcat:byteSize"] = object{"@type": "xsd:nonNegativeInteger", "@value": strconv.FormatInt(*f.Bytes, 10)}
		}
		var sums []any
		for _, sum := range []struct{ algorithm, value string }{{"sha256", f.SHA256}, {"md5", f.MD5}} {
			if sum.value != "" {
				sums = append(sums, object{
					"@type": "spdx:Checksum", "spdx:algorithm": object{"@id": "spdx:checksumAlgorithm_" + sum.algorithm}, "spdx:checksumValue": sum.value,
				})
			}
		}
		if sums != nil {
			x["spdx:checksum"] = sums
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
	var also []any
	for _, s := range d.AlsoDescribedAt {
		also = append(also, object{"@id": s.Document})
	}
	if also != nil {
		o["rdfs:seeAlso"] = also
	}
	return o
}
