package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/crawl"
)

var fieldColumns = []FieldColumn{
	{"breadcrumb", crawl.FieldText, true}, {"deprecated", crawl.FieldBoolean, false}, {"kind", crawl.FieldKeyword, false}, {"released", crawl.FieldDate, false},
	{"seen", crawl.FieldDate, true}, {"sizes", crawl.FieldNumber, true}, {"version", crawl.FieldNumber, false},
}

// ruledRows are pages with fields as they come from an indexer: as JSON.
func ruledRows(t *testing.T) (all []*crawl.PageRow) {
	t.Helper()
	for _, fields := range []string{
		`{"breadcrumb":["a","b; c"],"deprecated":true,"kind":"=page","released":"2024-05-01T00:00:00Z","seen":["2024-05-01T10:00:00Z"],"sizes":[1,2.5],"version":16}`,
		`{"breadcrumb":["only"],"version":"no number","other":"x"}`,
		`{}`,
	} {
		row := pageRow()
		if err := json.Unmarshal([]byte(fields), &row.Fields); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	return append(all, removedRow())
}

func TestFieldsInCSV(t *testing.T) {
	var b bytes.Buffer
	table := NewRuledPages(fieldColumns)
	w, err := table.Table(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range ruledRows(t) {
		if err := w.Write(table.Row(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := len(pageCells)
	for i, want := range [][]string{
		{"breadcrumb", "deprecated", "kind", "released", "seen", "sizes", "version"},
		{"a; b; c", "true", "'=page", "2024-05-01T00:00:00Z", "2024-05-01T10:00:00Z", "1; 2.5", "16"},
		{"only", "", "", "", "", "", ""}, {"", "", "", "", "", "", ""}, {"", "", "", "", "", "", ""},
	} {
		if got := rows[i][n:]; !slices.Equal(got, want) {
			t.Errorf("row %d: %q, want %q", i, got, want)
		}
	}
	if rows[1][1] != pageCells[1].first || rows[1][26] != pageCells[26].first {
		t.Errorf("the columns of the page are different: %q", rows[1])
	}
}

func TestFieldsInParquet(t *testing.T) {
	var b bytes.Buffer
	table := NewRuledPages(fieldColumns)
	w := table.Parquet(&b)
	for _, p := range ruledRows(t) {
		if err := w.Write(table.Row(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	type row struct {
		URL        string    `parquet:"url"`
		Breadcrumb []string  `parquet:"breadcrumb,list"`
		Deprecated *bool     `parquet:"deprecated,optional"`
		Kind       *string   `parquet:"kind,optional,dict"`
		Released   *int64    `parquet:"released,optional,timestamp(millisecond)"`
		Sizes      []float64 `parquet:"sizes,list"`
		Version    *float64  `parquet:"version,optional"`
	}
	rows, err := parquet.Read[row](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil || len(rows) != 4 {
		t.Fatal(len(rows), err)
	}
	if r := rows[0]; r.URL != pageCells[1].first || !slices.Equal(r.Breadcrumb, []string{"a", "b; c"}) || !*r.Deprecated || *r.Kind != "=page" ||
		*r.Released != 1714521600000 || !slices.Equal(r.Sizes, []float64{1, 2.5}) || *r.Version != 16 {
		t.Errorf("%+v", r)
	}
	for _, r := range rows[1:] {
		if r.Version != nil || r.Kind != nil || r.Deprecated != nil || len(r.Sizes) > 0 {
			t.Errorf("%+v", r)
		}
	}
}
