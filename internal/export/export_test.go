package export

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/curtsy/curtsy/internal/crawl"
)

var day = time.Date(2026, 11, 24, 3, 4, 5, 678e6, time.UTC)

// pageRow is a page with everything that a page can have.
func pageRow() *crawl.PageRow {
	on := "https://example.org/"
	return &crawl.PageRow{PageRecord: crawl.PageRecord{
		PageInfo: crawl.PageInfo{URL: "https://www.data.github.io:8443/A/b?x=1&a=2", Status: 200, FetchedAt: day, ContentType: "text/html", Title: "T\xff=\"1\"\n2", Rendering: "done",
			Size: 12345, SHA256: "ab", SnippetAllowed: true, MaxSnippet: 40, Depth: 3, FoundOn: &on, Truncated: true, Canonical: "https://c.example/",
			Aliases: []string{"https://m.example/1", "https://m.example/2"}, Usage: crawl.Usage{Search: "allow", AIInput: "unknown", AITrain: "disallow", TDM: "disallow"}},
		Lang: "de", Charset: "utf-8", Text: "first line\nsecond", Cut: true, Withheld: "something",
	}}
}

func removedRow() *crawl.PageRow {
	return &crawl.PageRow{PageRecord: crawl.PageRecord{PageInfo: crawl.PageInfo{URL: "http://192.0.2.7/x", FetchedAt: day}}, Removed: "noindex"}
}

// pageCells are the columns of those two, one by one.
var pageCells = []struct{ column, first, second string }{
	{"url_surtkey", "io,github,data:8443)/a/b?a=2&x=1", "192.0.2.7)/x"},
	{"url", "https://www.data.github.io:8443/A/b?x=1&a=2", "http://192.0.2.7/x"},
	{"url_host_name", "www.data.github.io", "192.0.2.7"},
	{"url_host_tld", "io", ""},
	{"url_host_registry_suffix", "io", ""},
	{"url_host_registered_domain", "github.io", ""},
	{"url_host_private_suffix", "github.io", ""},
	{"url_host_private_domain", "data.github.io", ""},
	{"url_host_name_reversed", "io.github.data.www", ""},
	{"url_protocol", "https", "http"},
	{"url_port", "8443", ""},
	{"url_path", "/A/b", "/x"},
	{"url_query", "x=1&a=2", ""},
	{"fetch_time", "2026-11-24T03:04:05Z", "2026-11-24T03:04:05Z"},
	{"fetch_status", "200", ""},
	{"content_digest", "sha256:ab", ""},
	{"content_mime_type", "text/html", ""},
	{"content_mime_detected", "text/html", ""},
	{"content_charset", "UTF-8", ""},
	{"content_languages", "deu", ""},
	{"content_truncated", "length", ""},
	{"content_length", "12345", ""},
	{"title", "T\uFFFD=\"1\"\n2", ""},
	{"depth", "3", ""},
	{"found_on", "https://example.org/", ""},
	{"canonical", "https://c.example/", ""},
	{"aliases", "https://m.example/1 https://m.example/2", ""},
	{"snippet_allowed", "true", ""},
	{"max_snippet", "40", ""},
	{"rendering", "done", ""},
	{"usage_search", "allow", ""},
	{"usage_ai_input", "unknown", ""},
	{"usage_ai_train", "disallow", ""},
	{"usage_tdm", "disallow", ""},
	{"removed", "", "noindex"},
	{"withheld", "something", ""},
	{"cut", "true", ""},
	{"text", "first line\nsecond", ""},
	{"markdown", "", ""},
	{"html", "", ""},
}

func TestPageTable(t *testing.T) {
	var b bytes.Buffer
	w, err := NewTable[Page](&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*crawl.PageRow{pageRow(), removedRow()} {
		if err := w.Write(PageOf(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[0]) != len(pageCells) {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, c := range pageCells {
		if rows[0][i] != c.column || rows[1][i] != c.first || rows[2][i] != c.second {
			t.Errorf("column %d: %q, want %q", i, []string{rows[0][i], rows[1][i], rows[2][i]}, c)
		}
	}
}

// A host that is a public suffix, or one label, has no registered domain; languages that are none
// stay as they are.
func TestDomains(t *testing.T) {
	for u, want := range map[string]string{
		"https://a.b.co.uk/":        "uk co.uk b.co.uk co.uk b.co.uk",
		"https://b.co.uk./":         "uk co.uk b.co.uk co.uk b.co.uk",
		"https://co.uk/":            "uk co.uk  co.uk ",
		"https://localhost/":        "localhost localhost  localhost ",
		"https://x.unlisted/":       "unlisted unlisted x.unlisted unlisted x.unlisted",
		"https://me.github.io/":     "io io github.io github.io me.github.io",
		"http://[2001:db8::1]/":     "    ",
		"https://www.city.kobe.jp/": "jp kobe.jp city.kobe.jp kobe.jp city.kobe.jp",
	} {
		p := PageOf(&crawl.PageRow{PageRecord: crawl.PageRecord{PageInfo: crawl.PageInfo{URL: u}}})
		var got []string
		for _, s := range []*string{p.TLD, p.RegistrySuffix, p.RegisteredDomain, p.PrivateSuffix, p.PrivateDomain} {
			if s == nil {
				s = new(string)
			}
			got = append(got, *s)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", u, strings.Join(got, " "), want)
		}
	}
	for lang, want := range map[string]string{"de": "deu", "zh": "zho", "": "", "klingon!": "klingon!", "deu": "deu"} {
		if got := iso639_3(lang); got != want {
			t.Errorf("%q: %q, want %q", lang, got, want)
		}
	}
}

func datasetInfo() *crawl.DatasetInfo {
	spdx, n := "CC-BY-4.0", int64(7)
	return &crawl.DatasetInfo{ID: "d1", Title: "Rain", Description: "all\nof it", SPDX: &spdx, Creators: []string{"A", "B"}, URLs: []string{"https://e.example/f.csv"},
		Files: []crawl.DatasetFile{{URL: "https://e.example/f.csv", Bytes: &n, MediaType: "text/csv"}, {URL: "https://e.example/d/", Directory: true}}, Rows: &n,
		Columns: []crawl.DatasetColumn{{Name: "mm", Type: "number"}}, Extra: map[string]any{"note": []any{"x", map[string]any{"y": "z"}}}, FetchedAt: day,
		Sources: []crawl.DatasetSource{{Kind: "data.txt", Document: "https://e.example/data.txt"}}, Conflicts: map[string][]crawl.DatasetStatement{"title": {{Value: "v", Document: "d"}}}}
}

func write[T any](t *testing.T, to io.Writer, rows ...T) {
	t.Helper()
	w := NewParquet[T](to)
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is read is what was written. Another library reads it in bench/parquet.
func TestParquetRoundTrip(t *testing.T) {
	pages := []Page{PageOf(pageRow()), PageOf(removedRow())}
	links := []Link{LinkOf(crawl.LinkRow{From: "https://a.example/", To: "https://b.example/"}), LinkOf(crawl.LinkRow{From: "https://a.example/", Removed: "changed"})}
	set, err := DatasetOf(datasetInfo())
	if err != nil {
		t.Fatal(err)
	}
	sets := []Dataset{set, DatasetGone("d2", "gone")}
	back(t, pages)
	back(t, links)
	back(t, sets)
	back(t, []Page{}) // no rows, and a table all the same
	if *set.Extra != `{"note":["x",{"y":"z"}]}` || *set.Conflicts != `{"title":[{"value":"v","document":"d"}]}` || set.Provenance != nil {
		t.Errorf("%s, %s, %v", *set.Extra, *set.Conflicts, set.Provenance)
	}
}

func back[T any](t *testing.T, rows []T) {
	t.Helper()
	var b bytes.Buffer
	write(t, &b, rows...)
	read, err := parquet.Read[T](bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := json.Marshal(rows)
	got, _ := json.Marshal(read)
	// An empty list is null in one and [] in the other.
	if w, g := strings.ReplaceAll(string(want), "null", "[]"), strings.ReplaceAll(string(got), "null", "[]"); w != g {
		t.Errorf("read\n%s\nwritten\n%s", g, w)
	}
}

// The columns of the tables are what users' queries name.
func TestColumnsOfTables(t *testing.T) {
	var pages []string
	for i, row := 0, reflect.TypeFor[Page](); i < row.NumField(); i++ {
		name, _, _ := strings.Cut(row.Field(i).Tag.Get("parquet"), ",")
		pages = append(pages, name)
	}
	for i, c := range pageCells {
		if pages[i] != c.column {
			t.Errorf("column %d is %s, want %s", i, pages[i], c.column)
		}
	}
	if got := len(parquet.SchemaOf(Page{}).Columns()); got != len(pageCells) {
		t.Errorf("%d columns, want %d", got, len(pageCells))
	}
}

// A row group ends when it is full, by its texts or by its rows.
func TestRowGroups(t *testing.T) {
	for _, c := range []struct {
		rows, text int
		want       []int64
	}{
		{1, 1, []int64{1}},
		{groupRows, 1, []int64{groupRows}},
		{groupRows + 1, 1, []int64{groupRows, 1}},
		{5, groupBytes/4 + 1, []int64{4, 1}},
		{2, groupBytes + 1, []int64{1, 1}},
	} {
		var b bytes.Buffer
		w := NewParquet[Link](&b)
		to := strings.Repeat("x", c.text)
		for range c.rows {
			if err := w.Write(Link{From: "https://a.example/", To: &to}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatal(err)
		}
		var got []int64
		for _, g := range f.RowGroups() {
			got = append(got, g.NumRows())
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%d rows of %d bytes: groups of %d, want %d", c.rows, c.text, got, c.want)
		}
	}
}

// Ten times the rows take no more memory: of no format is more kept than a part.
func TestMemoryIsFlat(t *testing.T) {
	for _, c := range []struct {
		name string
		less int
		of   func(w io.Writer) (func(*crawl.PageRow) error, func() error)
	}{
		{"parquet", 1, func(w io.Writer) (func(*crawl.PageRow) error, func() error) {
			p := NewParquet[Page](w)
			return func(r *crawl.PageRow) error { return p.Write(PageOf(r)) }, p.Close
		}},
		{"csv", 4, func(w io.Writer) (func(*crawl.PageRow) error, func() error) {
			p, err := NewTable[Page](w)
			if err != nil {
				t.Fatal(err)
			}
			return func(r *crawl.PageRow) error { return p.Write(PageOf(r)) }, p.Close
		}},
		{"bulk", 4, func(w io.Writer) (func(*crawl.PageRow) error, func() error) {
			return NewBulk(w, "").Page, func() error { return nil }
		}},
	} {
		most := func(rows int) uint64 {
			write, end := c.of(io.Discard)
			row, peak := pageRow(), uint64(0)
			for i := range rows {
				row.URL = fmt.Sprintf("https://h%d.example/%d", i%1000, i)
				row.Text = strings.Repeat(row.URL, 25)
				if err := write(row); err != nil {
					t.Fatal(err)
				}
				if i%(rows/8) == rows/8-1 {
					peak = max(peak, heap())
				}
			}
			if err := end(); err != nil {
				t.Fatal(err)
			}
			return peak
		}
		few := most(10_000)
		before := heap()
		many := most(100_000 / c.less)
		t.Logf("%s: %d KiB for 10,000 rows, %d KiB for %d, %d before", c.name, few>>10, many>>10, 100_000/c.less, before>>10)
		if many > few+8<<20 || many > before+5*groupBytes {
			t.Errorf("%s: %d KiB for 10,000 rows, %d KiB for %d", c.name, few>>10, many>>10, 100_000/c.less)
		}
	}
}

// heap is what is in use, once what is not is gone.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
