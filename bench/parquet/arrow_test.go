//go:build arrow

package parquet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/export"
)

var at = time.Date(2026, 11, 24, 3, 4, 5, 678e6, time.UTC)

// read returns what arrow-go finds in a file: each row as JSON, and the metadata of the file.
func read(t *testing.T, b []byte) (rows []map[string]any, f *file.Reader) {
	t.Helper()
	f, err := file.NewParquetReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	r, err := pqarrow.NewFileReader(f, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	table, err := r.ReadTable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer table.Release()
	chunks := array.NewTableReader(table, 1000)
	defer chunks.Release()
	for chunks.Next() {
		var j bytes.Buffer
		if err := array.RecordToJSON(chunks.RecordBatch(), &j); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(j.String()) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			rows = append(rows, row)
		}
	}
	if err := chunks.Err(); err != nil {
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
	if rows, f := read(t, written(t, 0, func(int) export.Page { return export.Page{} })); len(rows) != 0 || f.MetaData().Schema.NumColumns() != 39 {
		t.Errorf("%d rows, %d columns", len(rows), f.MetaData().Schema.NumColumns())
	}
}
