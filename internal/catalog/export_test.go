package catalog

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/piprate/json-gold/ld"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// samples are datasets with texts that are difficult for a writer.
func samples(t testing.TB) []crawl.DatasetInfo {
	t.Helper()
	claims := read(t, page1, `{"@type": "Dataset", "name": "Quo\"te, 'comma'\n: # - [x] {y} & *z é 𝄞", "description": "  = + @ ", "license": "CC BY 4.0",
  "identifier": "10.5072/x", "keywords": "a,b: c,#d", "creator": {"name": "No: yes"}, "publisher": "~", "version": "null", "dateModified": "2026-01-02",
  "distribution": [{"contentUrl": "/a b.csv?x=1&y=#f", "contentSize": 12, "sha256": "`+strings.Repeat("ab", 32)+`",
   "checksum": [{"algorithm": "SHA-1", "checksumValue": "`+strings.Repeat("cd", 20)+`"}, {"algorithm": "sha512", "checksumValue": "`+strings.Repeat("ef", 64)+`"}], "encodingFormat": "text/csv"}, {"contentUrl": "/b"}],
  "variableMeasured": [{"name": "no", "description": "- x"}, {"name": "t: y"}]}`)
	e, _ := Update(Entry{}, page(1, ""), []byte("- path: [x/1.csv, x/2.csv]\n  rows: 7\n  cols: 2\n  name: two\n  odd key: [1, {a: b}]\n  Tags: yes\n- path: z\n  license: something own\n"), "curtsy")
	more, err := e.Claims("curtsy", nil)
	if err != nil {
		t.Fatal(err)
	}
	return Merge(append(claims, more...))
}

func export(t testing.TB, format string, all []crawl.DatasetInfo) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Export(&b, format, all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestExportJSONL(t *testing.T) {
	all := samples(t)
	n := 0
	for line := range bytes.Lines(export(t, "jsonl", all)) {
		var d crawl.DatasetInfo
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		if d.ID != all[n].ID || d.Title != all[n].Title {
			t.Errorf("line %d: %+v", n, d)
		}
		n++
	}
	if n != len(all) || n != 3 {
		t.Errorf("%d lines for %d datasets", n, len(all))
	}
}

func TestExportCSV(t *testing.T) {
	all := samples(t)
	rows, err := csv.NewReader(bytes.NewReader(export(t, "csv", all))).ReadAll()
	if err != nil || len(rows) != len(all)+1 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for i, d := range all {
		if rows[i+1][0] != d.ID || rows[i+1][2] != d.Title || rows[i+1][6] != strings.Join(d.URLs, " ") {
			t.Errorf("row %d: %q", i, rows[i+1])
		}
	}
}

// A JSON-LD processor that must not load anything can expand the whole DCAT export.
func TestExportDCATExpands(t *testing.T) {
	all := samples(t)
	var doc any
	if err := json.Unmarshal(export(t, "dcat", all), &doc); err != nil {
		t.Fatal(err)
	}
	opts := ld.NewJsonLdOptions("https://curtsy.example/")
	opts.DocumentLoader = noNetwork{t}
	expanded, err := ld.NewJsonLdProcessor().Expand(doc, opts)
	if err != nil {
		t.Fatal(err)
	}
	sets := expanded[0].(map[string]any)["http://www.w3.org/ns/dcat#dataset"].([]any)
	if len(sets) != len(all) {
		t.Fatalf("%d datasets of %d survive expansion", len(sets), len(all))
	}
	for i, s := range sets {
		m := s.(map[string]any)
		if got := m["http://purl.org/dc/terms/identifier"].([]any)[0].(map[string]any)["@value"]; got != all[i].ID {
			t.Errorf("dataset %d is %v, want %s", i, got, all[i].ID)
		}
		if n := len(m["http://www.w3.org/ns/dcat#distribution"].([]any)); n != len(all[i].Files) {
			t.Errorf("dataset %d has %d distributions of %d", i, n, len(all[i].Files))
		}
		for key := range m {
			if !strings.HasPrefix(key, "http") && !strings.HasPrefix(key, "@") {
				t.Errorf("%q means nothing", key)
			}
		}
	}
	// We read it back as the same datasets.
	for i, c := range read(t, Document{URL: "https://x.example/export", Fetched: at}, string(export(t, "dcat", all))) {
		if title := all[i].Title; c.Kind != crawl.DatasetDCAT || title != "" && c.Title != title || len(c.Files) != len(all[i].Files) {
			t.Errorf("read back: %+v", c)
		}
	}
}

type noNetwork struct{ t *testing.T }

func (l noNetwork) LoadDocument(u string) (*ld.RemoteDocument, error) {
	l.t.Errorf("the document wants %s", u)
	return nil, fmt.Errorf("no network")
}

// same removes from a dataset what depends on where it was read.
func same(d crawl.DatasetInfo) string {
	d.Origin, d.DataTxt, d.Form, d.Line, d.External, d.Allowed = "", "", "", 0, false, false
	d.FetchedAt, d.Expires = at, at
	d.Sources, d.Provenance, d.Conflicts, d.LicenseByHost = nil, nil, nil, false
	d.Type = cmp.Or(d.Type, "files") // a data.txt without a type means files
	b, err := json.Marshal(&d)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// readBack exports datasets as a data.txt, and reads it as a crawl of mine.example would.
func readBack(t testing.TB, all []crawl.DatasetInfo) []crawl.DatasetInfo {
	t.Helper()
	text := export(t, "datatxt", all)
	p := page(1, "")
	p.URL, p.Origin = "https://mine.example/data.txt", canon.URL("https://mine.example/").Origin()
	e, _ := Update(Entry{}, p, text, "curtsy")
	if e.Failed != "" {
		t.Fatalf("%s\n%s", e.Failed, text)
	}
	got, err := datasets(e, "curtsy")
	if err != nil || len(got) != len(all) {
		t.Fatalf("%d datasets of %d, %v\n%s", len(got), len(all), err, text)
	}
	return got
}

// An export as data.txt is read back as the same records.
func TestExportDataTxtReadBack(t *testing.T) {
	all := samples(t)
	for i, g := range readBack(t, all) {
		if same(g) != same(all[i]) {
			t.Errorf("read back:\n%s\nwas:\n%s", same(g), same(all[i]))
		}
	}
	if got := export(t, "datatxt", []crawl.DatasetInfo{{ID: "1", Title: "without a file"}}); len(got) != 0 {
		t.Errorf("a dataset without a file: %s", got)
	}
}

// Names of fields of any length are read back.
func TestExportDataTxtLongNames(t *testing.T) {
	for _, n := range []int{longKey - 3, longKey - 2, longKey - 1, 1021, 1022, 1023, 1024, 1025, 5000} {
		for _, letter := range []string{"k", "\t", "é"} {
			name := "x" + strings.Repeat(letter, n-2) + "y"
			d := crawl.DatasetClaim{Kind: crawl.DatasetDataTxt, Document: "https://d.example/data.txt", Origin: "https://d.example", Allowed: true, Files: files("https://d.example/a.csv"),
				Extra: map[string]any{name: "v", "z": map[string]any{name: []any{map[string]any{name: "w", "a": "b"}}, "b": "c"}, "zz": "after"}}
			all := Merge([]crawl.DatasetClaim{d})
			if got := readBack(t, all); len(got) != 1 || same(got[0]) != same(all[0]) {
				t.Errorf("a name of %d times %q: %.200s", n, letter, same(got[0]))
			}
		}
	}
}

// Texts of any kind are read back.
func FuzzExportDataTxtReadBack(f *testing.F) {
	f.Add("a", "b\nc", "~", "x: y")
	f.Add("- a", "\u2028\x7f\u0085", "&x", "<<")
	f.Add("\ufeff", "\U0001d11e", "%", "'\"")
	f.Fuzz(func(t *testing.T, title, license, keyword, key string) {
		clean := func(s string) string { return strings.Join(strings.Fields(strings.ToValidUTF8(s, "?")), " ") }
		title, license, keyword, key = clean(title), clean(license), clean(keyword), clean(key)
		d := crawl.DatasetClaim{Kind: crawl.DatasetJSONLD, Document: "https://d.example/", Title: title, License: license, Allowed: true,
			Files: []crawl.DatasetFile{{URL: "https://d.example/a.csv", Name: license, MediaType: keyword}}, Columns: []crawl.DatasetColumn{{Name: "c", Type: title, Description: key}}}
		if keyword != "" {
			d.Keywords = []string{keyword, "x"}
		}
		if key != "" {
			d.Extra = map[string]any{"x" + key: []any{title, map[string]any{"k" + key: keyword}}}
		}
		all := Merge([]crawl.DatasetClaim{d})
		if got := readBack(t, all); same(got[0]) != same(all[0]) {
			t.Errorf("read back:\n%s\nwas:\n%s\n%s", same(got[0]), same(all[0]), export(t, "datatxt", all))
		}
	})
}

func TestExportUnknownFormat(t *testing.T) {
	if err := Export(&bytes.Buffer{}, "xml", nil); err == nil || !strings.Contains(err.Error(), "datatxt") {
		t.Errorf("got %v", err)
	}
	for _, f := range Formats {
		if err := Export(&bytes.Buffer{}, f, nil); err != nil {
			t.Errorf("nothing as %s: %v", f, err)
		}
	}
}
