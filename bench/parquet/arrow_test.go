//go:build arrow

package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
)

var at = time.Date(2026, 11, 24, 3, 4, 5, 678e6, time.UTC)

// read returns what arrow-go finds in a file: each row as JSON, and the file itself.
func read(t *testing.T, b []byte) ([]map[string]any, *file.Reader) {
	t.Helper()
	rows, f, err := Read(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return rows, f
}

func written[T any](t *testing.T, n int, row func(i int) T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := export.NewParquet[T](&b)
	for i := range n {
		if err := w.Write(row(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// page makes the page of a number: every seventh is deleted, every third has aliases, every fifth
// no text.
func page(i int) *crawl.PageRow {
	p := &crawl.PageRow{}
	p.URL, p.FetchedAt = fmt.Sprintf("https://www.h%d.example.co.uk/Page/%d?b=%d&a=é", i%50, i, i), at.Add(time.Duration(i)*time.Millisecond)
	if i%7 == 6 {
		p.Removed = "noindex"
		return p
	}
	p.Status, p.ContentType, p.Title, p.Size, p.SHA256, p.Lang, p.Depth = 200, "text/html", fmt.Sprint("Title ", i), int64(i), "ab", "fr", i%4
	p.Usage = crawl.Usage{Search: "allow", AIInput: "unknown", AITrain: "disallow", TDM: "unknown"}
	if i%3 == 0 {
		p.Aliases = []string{fmt.Sprint("https://m.example/", i), "https://n.example/"}
	}
	if i%5 != 0 {
		p.Text = strings.Repeat(fmt.Sprintf("wörd %d ", i), 20+i%100)
	}
	return p
}

func TestPages(t *testing.T) {
	const n = 30_000 // more than a row group
	rows, f := read(t, written(t, n, func(i int) export.Page { return export.PageOf(page(i)) }))
	if len(rows) != n || f.NumRowGroups() < 2 {
		t.Fatalf("%d rows in %d groups", len(rows), f.NumRowGroups())
	}
	for i, row := range rows {
		p := page(i)
		want := map[string]any{"url": p.URL, "url_host_registered_domain": "example.co.uk", "url_host_name": fmt.Sprintf("www.h%d.example.co.uk", i%50)}
		want["url_surtkey"] = fmt.Sprintf("uk,co,example,h%d)/page/%d?a=é&b=%d", i%50, i, i)
		want["fetch_time"] = p.FetchedAt.Format("2006-01-02T15:04:05.999Z")
		want["removed"], want["text"], want["title"], want["content_length"], want["fetch_status"], want["content_languages"] = any("noindex"), nil, nil, nil, nil, nil
		var aliases []any
		if p.Removed == "" {
			want["removed"], want["title"], want["content_length"], want["fetch_status"], want["content_languages"] = nil, p.Title, float64(i), 200.0, "fra"
			if p.Text != "" {
				want["text"] = p.Text
			}
			for _, a := range p.Aliases {
				aliases = append(aliases, a)
			}
		}
		for name, w := range want {
			g := row[name]
			if name == "fetch_time" {
				g = strings.Replace(fmt.Sprint(g), " ", "T", 1)
				if !strings.HasSuffix(g.(string), "Z") {
					g = g.(string) + "Z"
				}
			}
			if g != w {
				t.Fatalf("row %d: %s is %v, want %v", i, name, row[name], w)
			}
		}
		if got, _ := row["aliases"].([]any); fmt.Sprint(got) != fmt.Sprint(aliases) {
			t.Fatalf("row %d: aliases %v, want %v", i, row["aliases"], aliases)
		}
	}
	schema, err := pqarrow.FromParquet(f.MetaData().Schema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range map[string]arrow.Type{"url": arrow.STRING, "fetch_time": arrow.TIMESTAMP, "fetch_status": arrow.INT32, "content_length": arrow.INT64,
		"aliases": arrow.LIST, "cut": arrow.BOOL} {
		if fields, ok := schema.FieldsByName(name); !ok || fields[0].Type.ID() != kind {
			t.Errorf("%s is %v", name, fields)
		}
	}
	// What bounds a search, and what is too long for the metadata at the end of the file.
	group := f.MetaData().RowGroup(0)
	for i := range f.MetaData().Schema.NumColumns() {
		column, err := group.ColumnChunk(i)
		if err != nil {
			t.Fatal(err)
		}
		if column.Compression() != compress.Codecs.Zstd {
			t.Errorf("%v is compressed with %v", column.PathInSchema(), column.Compression())
		}
		stats, err := column.Statistics()
		if err != nil {
			t.Fatal(err)
		}
		switch name := column.PathInSchema().String(); name {
		case "url", "url_surtkey", "fetch_time":
			if stats == nil || !stats.HasMinMax() {
				t.Errorf("%s has no bounds", name)
			}
		case "text", "title":
			if stats != nil && stats.HasMinMax() {
				t.Errorf("%s has bounds", name)
			}
		}
	}
}

// ruled makes the page of a number with fields of each type. Every fourth has none, every fifth has
// empty lists; of every sixth no value is of the type of its field.
func ruled(i int) *crawl.PageRow {
	p := page(0)
	p.URL = fmt.Sprint("https://docs.example.org/", i)
	if i%4 == 3 {
		return p
	}
	number, day, truth := fmt.Sprint(float64(i)/4), at.AddDate(0, 0, i).Truncate(time.Second).Format(time.RFC3339), fmt.Sprint(i%2 == 0)
	if i%6 == 5 {
		number, day, truth = "many", "soon", "perhaps"
	}
	add := func(name string, kind crawl.FieldType, many bool, values ...string) {
		p.Fields = append(p.Fields, crawl.Field{Name: name, Type: kind, Many: many, Values: values})
	}
	add("kind", crawl.FieldKeyword, false, fmt.Sprint("kind ", i%3))
	add("about", crawl.FieldText, false, fmt.Sprint("wörd ", i))
	add("version", crawl.FieldNumber, false, number)
	add("released", crawl.FieldDate, false, day)
	add("current", crawl.FieldBoolean, false, truth)
	if i%5 != 4 {
		add("breadcrumb", crawl.FieldKeyword, true, "Home", fmt.Sprint("Part ", i%7), fmt.Sprint("Page ", i))
		add("versions", crawl.FieldNumber, true, number, "-1")
		add("changes", crawl.FieldDate, true, day, "1969-12-31T23:59:59Z")
		add("flags", crawl.FieldBoolean, true, truth, "false")
	}
	return p
}

// TestFields: fields of site rules are columns of their types, and lists if pages may have several
// values.
func TestFields(t *testing.T) {
	const n = 25_000 // more than a row group
	types := map[string]arrow.Type{"kind": arrow.STRING, "about": arrow.STRING, "version": arrow.FLOAT64, "released": arrow.TIMESTAMP, "current": arrow.BOOL}
	lists := map[string]arrow.Type{"breadcrumb": arrow.STRING, "versions": arrow.FLOAT64, "changes": arrow.TIMESTAMP, "flags": arrow.BOOL}
	var columns []export.FieldColumn
	for _, f := range ruled(0).Fields {
		columns = append(columns, export.FieldColumn{Name: f.Name, Type: f.Type, Many: f.Many})
	}
	var b bytes.Buffer
	table := export.NewRuledPages(columns)
	w := table.Parquet(&b)
	for i := range n {
		if err := w.Write(table.Row(ruled(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, f := read(t, b.Bytes())
	if len(rows) != n || f.NumRowGroups() < 2 {
		t.Fatalf("%d rows in %d groups", len(rows), f.NumRowGroups())
	}
	for i, row := range rows {
		p := ruled(i)
		if row["url"] != p.URL {
			t.Fatalf("row %d is of %v", i, row["url"])
		}
		for _, c := range columns {
			var want []any
			for _, text := range p.Fields.Get(c.Name) {
				if v, ok := cell(c.Type, text); ok {
					want = append(want, v)
				}
			}
			got, _ := row[c.Name].([]any)
			if v := row[c.Name]; !c.Many && v != nil {
				got = []any{v}
			}
			for k := range got {
				if text, ok := got[k].(string); ok && c.Type == crawl.FieldDate {
					got[k] = Time(text)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("row %d: %s is %v, want %v", i, c.Name, row[c.Name], want)
			}
		}
	}
	schema, err := pqarrow.FromParquet(f.MetaData().Schema, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, kind := range types {
		if fields, ok := schema.FieldsByName(name); !ok || fields[0].Type.ID() != kind || !fields[0].Nullable {
			t.Errorf("%s is %v", name, fields)
		} else if at, ok := fields[0].Type.(*arrow.TimestampType); ok && (at.Unit != arrow.Millisecond || at.TimeZone != "UTC") {
			t.Errorf("%s is %v", name, at)
		}
	}
	for name, kind := range lists {
		if fields, ok := schema.FieldsByName(name); !ok {
			t.Errorf("there is no %s", name)
		} else if list, ok := fields[0].Type.(*arrow.ListType); !ok || list.Elem().ID() != kind {
			t.Errorf("%s is %v", name, fields)
		}
	}
}

// cell is what a reader finds of a value; ok is false if it is not of the type.
func cell(kind crawl.FieldType, text string) (v any, ok bool) {
	switch kind {
	case crawl.FieldNumber:
		n, err := strconv.ParseFloat(text, 64)
		return n, err == nil
	case crawl.FieldDate:
		_, err := time.Parse(time.RFC3339, text)
		return text, err == nil
	case crawl.FieldBoolean:
		return text == "true", text == "true" || text == "false"
	}
	return text, true
}

func TestLinks(t *testing.T) {
	const n = 100_001 // one more than a row group has
	rows, f := read(t, written(t, n, func(i int) export.Link {
		return export.LinkOf(crawl.LinkRow{From: fmt.Sprint("https://a.example/", i/40), To: fmt.Sprint("https://b.example/", i)})
	}))
	if len(rows) != n || f.NumRowGroups() != 2 {
		t.Fatalf("%d rows in %d groups", len(rows), f.NumRowGroups())
	}
	for i, row := range rows {
		if row["from_url"] != fmt.Sprint("https://a.example/", i/40) || row["to_url"] != fmt.Sprint("https://b.example/", i) || row["removed"] != nil {
			t.Fatalf("row %d: %v", i, row)
		}
	}
}

func TestDatasets(t *testing.T) {
	spdx, n := "CC-BY-4.0", int64(7)
	d := &crawl.DatasetInfo{ID: "d1", Title: "Rain", SPDX: &spdx, Creators: []string{"A", "B"}, FetchedAt: at, Rows: &n, Extra: map[string]any{"k": "v"},
		Files:   []crawl.DatasetFile{{URL: "https://e.example/f.csv", Bytes: &n}, {URL: "https://e.example/d/", Directory: true}},
		Columns: []crawl.DatasetColumn{{Name: "mm", Type: "number"}}}
	row, err := export.DatasetOf(d)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := read(t, written(t, 1, func(int) export.Dataset { return row }))
	got, err := json.Marshal([]any{rows[0]["id"], rows[0]["spdx"], rows[0]["creators"], rows[0]["files"], rows[0]["columns"], rows[0]["rows"], rows[0]["extra_json"], rows[0]["license"]})
	if err != nil {
		t.Fatal(err)
	}
	const want = `["d1","CC-BY-4.0",["A","B"],[{"bytes":7,"bytes_about":null,"directory":false,"md5":null,"media_type":null,"name":null,"sha1":null,"sha256":null,"sha512":null,"url":"https://e.example/f.csv"},` +
		`{"bytes":null,"bytes_about":null,"directory":true,"md5":null,"media_type":null,"name":null,"sha1":null,"sha256":null,"sha512":null,"url":"https://e.example/d/"}],` +
		`[{"description":null,"name":"mm","type":"number"}],7,"{\"k\":\"v\"}",null]`
	if string(got) != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// A table without rows is a valid table.
func TestNone(t *testing.T) {
	if rows, f := read(t, written(t, 0, func(int) export.Page { return export.Page{} })); len(rows) != 0 || f.MetaData().Schema.NumColumns() != 40 {
		t.Errorf("%d rows, %d columns", len(rows), f.MetaData().Schema.NumColumns())
	}
}
