package download

import (
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// RFC 6266 §4.3 and what servers send instead.
func TestContentDisposition(t *testing.T) {
	for _, c := range []struct{ header, want string }{
		{`attachment; filename="real.csv"`, "real.csv"},
		{`attachment; filename=real.csv`, "real.csv"},
		{`inline;FILENAME=real.csv`, "real.csv"},
		{`attachment ; filename = "real.csv" ; size=7`, "real.csv"},
		{`filename=real.csv`, "real.csv"},
		{`attachment; filename=two words.csv`, "two words.csv"},
		{`attachment; filename="a;b.csv"`, "a;b.csv"},
		{`attachment; filename="a \"b\".csv"`, `a "b".csv`},
		{`attachment; filename='real.csv'`, "real.csv"},
		{`attachment; filename="real.csv; size=7`, "real.csv"},
		{`attachment; filename="real.csv`, "real.csv"},
		// RFC 8187: it goes before filename, wherever it is.
		{`attachment; filename="a.csv"; filename*=UTF-8''na%C3%AFve%20data.csv`, "naïve data.csv"},
		{`attachment; filename*=utf-8'en'%e2%82%ac.csv; filename="a.csv"`, "€.csv"},
		{`attachment; filename*=ISO-8859-1''na%EFve.csv`, "naïve.csv"},
		{`attachment; filename*=windows-1252''%80.csv`, "€.csv"},
		{`attachment; filename*="UTF-8''%C3%BC.csv"`, "ü.csv"},
		{`attachment; filename*=UTF-8''"%C3%BC.csv"`, "ü.csv"},
		{`attachment; filename*=%C3%BC.csv`, "ü.csv"},
		{`attachment; filename*=UTF-8''%C3%28.csv`, "Ã(.csv"},
		{`attachment; filename*=UTF-8''bad%zz; filename=good.csv`, "good.csv"},
		{`attachment; filename*=UTF-8''; filename=good.csv`, "good.csv"},
		// Other encodings of filename.
		{"attachment; filename=\"\xc3\xbcber.csv\"", "über.csv"},
		{"attachment; filename=\"\xfcber.csv\"", "über.csv"},
		{`attachment; filename="=?UTF-8?B?w7xiZXIuY3N2?="`, "über.csv"},
		{`attachment; filename="=?utf-8?Q?=C3=BCber=5Fx.csv?="`, "über_x.csv"},
		{`attachment; filename="=?iso-8859-1?q?=FCber.csv?="`, "über.csv"},
		{`attachment; filename="=?x?y?z.csv"`, "=?x?y?z.csv"},
		{`attachment; filename="na%C3%AFve.csv"`, "naïve.csv"},
		{`attachment; filename="100%.csv"`, "100%.csv"},
		{`attachment; filename="50%FF.csv"`, "50%FF.csv"},
		// Only the last part of a path.
		{`attachment; filename=../../etc/passwd`, "passwd"},
		{`attachment; filename*=UTF-8''..%2F..%2Fx.csv`, "x.csv"},
		{`attachment; filename="..%2f..%5cx.csv"`, "x.csv"},
		{`attachment; filename="C:\data\new\x.csv"`, "x.csv"},
		{`attachment; filename="C:\data\"; filename=x.csv`, "data"},
		{`attachment; filename="/srv/x/"`, "x"},
		{`attachment; filename="/"`, ""},
		{`attachment; filename=`, ""},
		{`attachment; filename`, ""},
		{`attachment`, ""},
		{`;;;=;"`, ""},
		{``, ""},
		// At the limit, and past it.
		{"attachment; filename=" + strings.Repeat("x", maxDisposition-len("attachment; filename=")-2) + ".c", strings.Repeat("x", maxDisposition-len("attachment; filename=")-2) + ".c"},
		{"attachment; filename=" + strings.Repeat("x", maxDisposition-len("attachment; filename=")) + ".c", strings.Repeat("x", maxDisposition-len("attachment; filename="))},
	} {
		if got := disposedName(http.Header{"Content-Disposition": {c.header}}); got != c.want {
			t.Errorf("%.100s: %.100q, want %.100q", c.header, got, c.want)
		}
	}
	if got := disposedName(http.Header{"Content-Disposition": {"attachment", "attachment; filename=b.csv"}}); got != "b.csv" {
		t.Errorf("two fields: %q", got)
	}
}

// Whatever a server sends, a name comes out that can be made safe.
func FuzzContentDisposition(f *testing.F) {
	for _, s := range []string{`attachment; filename="a.csv"; filename*=UTF-8''%C3%BC`, `filename="\"`, `filename*=''%`, `filename="=?utf-8?B?eA?="`, `;"=;`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		name := disposedName(http.Header{"Content-Disposition": {s}})
		if strings.ContainsAny(name, `/\`) || !utf8.ValidString(name) {
			t.Fatalf("%q: %q", s, name)
		}
		safe := fileName(&File{URL: "http://d.example/x", Dataset: &crawl.DatasetInfo{}}, "http://d.example/x", http.Header{"Content-Disposition": {s}})
		if len(safe) > 255-len(mismatchSuffix)-len("-10000") || reserved(safe) || ownSuffix(safe) || strings.HasPrefix(safe, ".") {
			t.Fatalf("%q: %q", s, safe)
		}
	})
}

// Where a name comes from if there are several.
func TestFileNameOfAnAnswer(t *testing.T) {
	const uuid = "0f3a9c01-b7de-4c1f-8a2b-1234567890ab"
	for _, c := range []struct {
		why, url, final, named, media string // of the file; final: after redirects
		disposition, kind             string // of the answer
		want                          string
	}{
		{"the answer's", "http://d.example/x.csv", "", "y.csv", "", `attachment; filename=z.csv`, "text/csv", "z.csv"},
		{"without an extension", "http://d.example/x", "", "", "", `attachment; filename=LICENSE`, "text/plain", "LICENSE"},
		{"reserved", "http://d.example/x", "", "", "", `attachment; filename=SHA256SUMS`, "text/plain", "_SHA256SUMS"},
		{"reserved by another spelling", "http://d.example/x", "", "", "", `attachment; filename="DATAPACKAGE.json"`, "", "_DATAPACKAGE.json"},
		{"like ours", "http://d.example/x", "", "", "", `attachment; filename=".curtsy-book"`, "", "curtsy-book"},
		{"like a part's state", "http://d.example/x", "", "", "", `attachment; filename="x.part.json"`, "", "x.part.json_"},
		{"control characters", "http://d.example/x", "", "", "", `attachment; filename*=UTF-8''a%0a%1b%00b.csv`, "", "a___b.csv"},
		{"written backwards", "http://d.example/x", "", "", "", `attachment; filename*=UTF-8''%E2%80%AEvsc.exe`, "", "_vsc.exe"},
		{"two code points for one letter", "http://d.example/x", "", "", "", `attachment; filename*=UTF-8''u%CC%88.csv`, "", "ü.csv"},
		{"nothing but dots", "http://d.example/x.csv", "", "", "", `attachment; filename=".."`, "", "x.csv"},
		{"poor, and the URL is better", "http://d.example/x.csv", "", "", "", `attachment; filename=download`, "text/csv", "x.csv"},
		{"poor, and nothing is better", "http://d.example/", "", "", "", `attachment; filename=download`, "text/csv", "download.csv"},
		{"nothing at all", "http://d.example/", "", "", "", "", "text/csv", "Rain in May.csv"},
		{"the URL before the catalogue", "http://d.example/x.csv", "", "y.csv", "", "", "text/csv", "x.csv"},
		{"after a redirect to storage", "http://d.example/x.csv", "http://s.example/" + uuid + ".bin", "", "", "", "", "x.csv"},
		{"only after the redirect", "http://d.example/get", "http://s.example/x.csv?sig=1", "", "", "", "", "x.csv"},
		{"only in the catalogue", "http://d.example/download?id=7", "", "x.csv", "", "", "text/csv", "x.csv"},
		{"the catalogue's, by the type", "http://d.example/export?format=csv", "", "Daily rain", "", "", "text/csv; charset=utf-8", "Daily rain.csv"},
		{"a format is no name", "http://d.example/api/3", "", "CSV", "", "", "text/csv", "3.csv"},
		{"content", "http://d.example/files/x/content", "", "", "", "", "text/csv", "content.csv"},
		{"a number", "http://d.example/api/access/datafile/3", "", "", "", "", "application/zip", "3.zip"},
		{"a long number", "http://d.example/" + uuid, "", "", "", "", "application/json", uuid + ".json"},
		{"a version is no extension", "http://d.example/10.5281/zenodo.1234", "", "", "", "", "text/csv", "zenodo.1234.csv"},
		{"a program, by its type", "http://d.example/rain.php?x=1", "", "", "", "", "text/csv", "rain.csv"},
		{"a page of a program", "http://d.example/rain.aspx", "", "", "text/html", "", "text/html", "rain.html"},
		{"a page", "http://d.example/t.html", "", "", "text/html", "", "text/html; charset=utf-8", "t.html"},
		{"a page of three letters", "http://d.example/t.htm", "", "", "", "", "text/html", "t.htm"},
		{"a program's text", "http://d.example/clean.do", "", "", "", "", "text/plain", "clean.do"},
		{"plain text that is a CSV", "http://d.example/rain", "", "", "text/csv", "", "text/plain", "rain.csv"},
		{"JSON that is GeoJSON", "http://d.example/rain", "", "", "application/geo+json", "", "application/json", "rain.geojson"},
		{"XML that is RDF", "http://d.example/rain", "", "", "application/rdf+xml", "", "text/xml", "rain.rdf"},
		{"a ZIP that is a workbook", "http://d.example/rain", "", "", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "", "application/zip", "rain.xlsx"},
		{"a format's name as the type", "http://d.example/rain", "", "", "CSV", "", "application/octet-stream", "rain.csv"},
		{"another type came", "http://d.example/rain", "", "", "text/csv", "", "text/html", "rain.html"},
		{"no type", "http://d.example/rain", "", "", "", "", "", "rain"},
	} {
		f := &File{URL: canon.URL(c.url), About: crawl.DatasetFile{Name: c.named, MediaType: c.media}, Dataset: &crawl.DatasetInfo{ID: "d1", Title: "Rain in May"}}
		final := f.URL
		if c.final != "" {
			final = canon.URL(c.final)
		}
		h := http.Header{}
		for k, v := range map[string]string{"Content-Disposition": c.disposition, "Content-Type": c.kind} {
			if v != "" {
				h.Set(k, v)
			}
		}
		if got := fileName(f, final, h); got != c.want {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
}
