package catalog

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/webtext"
)

// Formats are the formats that Export can write.
var Formats = []string{"jsonl", "csv", "dcat", "datatxt"}

// Export writes datasets with an Exporter.
func Export(w io.Writer, format string, all []crawl.DatasetInfo) error {
	x, err := NewExporter(w, format)
	for i := 0; i < len(all) && err == nil; i++ {
		err = x.Write(&all[i])
	}
	if err != nil {
		return err
	}
	return x.Close()
}

// Exporter writes datasets one by one. The format is JSON Lines (everything that is known,
// including provenance and conflicts), CSV (RFC 4180, one dataset per line, lists separated by
// spaces or "; "), a DCAT catalogue in JSON-LD (see dcat), or a data.txt in its YAML form, which
// contains only datasets with files. All text is as the sites wrote it, except CSV cells that a
// spreadsheet would interpret as a formula: see webtext.Cell. Only one goroutine may use it.
type Exporter struct {
	out  *bufio.Writer
	head func() error // called before the first dataset, or before the end
	one  func(*crawl.DatasetInfo) error
	gone func(crawl.DatasetRemoved) error // nil: the format cannot express it
	tail func() error
}

// NewExporter begins an export. Nothing is written before the first dataset or Close.
func NewExporter(w io.Writer, format string) (*Exporter, error) {
	nothing := func() error { return nil }
	x := &Exporter{out: bufio.NewWriter(w), head: nothing, tail: nothing}
	switch format {
	case "jsonl":
		enc := json.NewEncoder(crawl.SafeJSONTo(x.out))
		enc.SetEscapeHTML(false)
		x.one = func(d *crawl.DatasetInfo) error { return enc.Encode(d) }
		x.gone = func(d crawl.DatasetRemoved) error { return enc.Encode(d) }
	case "csv":
		var t *Table
		x.head = func() (err error) { t, err = NewTable(x.out); return err }
		x.one = func(d *crawl.DatasetInfo) error { return t.Write(d) }
		x.tail = func() error { return t.Close() }
	case "dcat":
		(&dcatWriter{out: x.out, used: map[string]bool{}}).export(x)
	case "datatxt":
		x.one = func(d *crawl.DatasetInfo) error { writeDataTxt(x.out, d); return nil }
	default:
		return nil, fmt.Errorf("datasets cannot be exported as %q: use %s", format, strings.Join(Formats, ", "))
	}
	return x, nil
}

// Write writes a dataset.
func (x *Exporter) Write(d *crawl.DatasetInfo) error {
	if err := x.begin(); err != nil {
		return err
	}
	return x.one(d)
}

// Remove writes, in JSON Lines, that a dataset no longer belongs to the export. Other formats
// cannot express this.
func (x *Exporter) Remove(id, why string) error {
	if err := x.begin(); err != nil || x.gone == nil {
		return err
	}
	return x.gone(crawl.DatasetRemoved{ID: id, Removed: why})
}

// Close writes the end. An export without it is incomplete.
func (x *Exporter) Close() error {
	if err := x.begin(); err != nil {
		return err
	}
	if err := x.tail(); err != nil {
		return err
	}
	return x.out.Flush()
}

func (x *Exporter) begin() error {
	head := x.head
	x.head = func() error { return nil }
	return head()
}

// Table writes datasets as CSV, one row each.
type Table struct{ out *webtext.CSV }

// NewTable makes a writer and writes the names of the columns.
func NewTable(w io.Writer) (*Table, error) {
	out, err := webtext.NewCSV(w, "id", "name", "title", "description", "license", "spdx", "urls", "identifier", "page", "publisher", "creators", "keywords",
		"version", "issued", "modified", "type", "rows", "cols", "source", "origin", "documents", "conflicts", "fetched_at",
		"license_by_host", "also_described_at", "usage")
	return &Table{out}, err
}

// Write adds a dataset.
func (t *Table) Write(d *crawl.DatasetInfo) error {
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
	return t.out.Write(
		d.ID, d.Name, d.Title, d.Description, d.License, spdx, strings.Join(d.URLs, " "), d.Identifier, d.Page, d.Publisher,
		strings.Join(d.Creators, "; "), strings.Join(d.Keywords, "; "), d.Version, d.Issued, d.Modified, d.Type, number(d.Rows), number(d.Cols),
		d.Source, d.Origin, strings.Join(documents, " "), strings.Join(slices.Sorted(maps.Keys(d.Conflicts)), " "), d.FetchedAt.Format(time.RFC3339),
		strconv.FormatBool(d.LicenseByHost), strings.Join(also, " "), strings.Join(d.Usage.Directives(), "; "),
	)
}

// Close writes the remaining output.
func (t *Table) Close() error { return t.out.Close() }

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}
