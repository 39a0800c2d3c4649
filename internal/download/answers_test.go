package download

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// answerCase is a server, what is announced of its file, and what becomes of it.
type answerCase struct {
	name    string
	h       func(i int, w http.ResponseWriter, r *http.Request) // i: number of the request
	url     string                                              // "": http://d.example/f.csv
	about   crawl.DatasetFile
	change  func(*Options)
	asked   string // "": not compared
	outcome Outcome
	reason  string // or the remark, if the outcome is Done
	path    string // "": not compared
	body    []byte
}

func (c answerCase) run(t *testing.T) {
	t.Run(c.name, func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) {
			i := 0
			s := newSite(t, nil)
			s.h = func(w http.ResponseWriter, r *http.Request) {
				i++
				c.h(i-1, w, r)
			}
			if c.url == "" {
				c.url = "http://d.example/f.csv"
			}
			if c.outcome == "" {
				c.outcome = Done
			}
			dir := t.TempDir()
			opt, d := options(t, s, dir), datasetOf(c.url)
			c.about.URL = c.url
			d.Files[0] = c.about
			if c.change != nil {
				c.change(&opt)
			}
			res := get(t, opt, d)
			said := res[0].Reason + res[0].Remark
			if len(res) != 1 || res[0].Outcome != c.outcome || !strings.Contains(said, c.reason) || c.reason == "" && said != "" {
				t.Fatalf("%+v, want %s: %s", res, c.outcome, c.reason)
			}
			if got := rangesOf(s.take()); c.asked != "" && got != c.asked {
				t.Errorf("asked for %s, want %s", got, c.asked)
			}
			if c.path != "" && res[0].Path != c.path {
				t.Errorf("it is called %s, want %s", res[0].Path, c.path)
			}
			if c.outcome != Done {
				return
			}
			has(t, dir, res[0].Path, c.body)
			if got := entriesOf(t, dir); strings.Count(got, " ") != 2 {
				t.Errorf("there are %s", got)
			}
			// What was remarked is known later.
			rep, err := Verify(t.Context(), dir)
			if err != nil || rep.OK != (c.reason == "") || c.reason != "" && (len(rep.Problems) != 1 || rep.Problems[0].Problem != "doubtful" || !strings.Contains(rep.Problems[0].Detail, c.reason)) {
				t.Errorf("Verify: %+v, %v", rep, err)
			}
			if again := get(t, opt, d); again[0].Outcome != Had || again[0].Remark != res[0].Remark || again[0].Path != res[0].Path || len(s.take()) != 0 {
				t.Errorf("again: %+v", again)
			}
		})
	})
}

// serve answers every request alike. The fields are "Name: value".
func serve(status int, body []byte, fields ...string) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, w http.ResponseWriter, _ *http.Request) {
		w.Header()["Content-Type"] = nil
		for _, f := range fields {
			name, value, _ := strings.Cut(f, ": ")
			w.Header().Add(name, value)
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.WriteHeader(status)
		w.Write(body)
	}
}

func packedBy(t *testing.T, coding string, b []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	var err error
	switch coding {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zlib":
		w = zlib.NewWriter(&buf)
	case "deflate":
		w, err = flate.NewWriter(&buf, 5)
	case "br":
		w = brotli.NewWriter(&buf)
	case "zstd":
		w, err = zstd.NewWriter(&buf)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// Answers with a Content-Encoding, although the request asks for none.
func TestContentEncodings(t *testing.T) {
	plain := []byte(strings.Repeat("a,b\n1,2\n", 300))
	pack := func(coding string) []byte { return packedBy(t, coding, plain) }
	size := func(b []byte) *int64 { n := int64(len(b)); return &n }
	tar := append([]byte("some.file\x00"), bytesOf(3000)...)
	tgz := packedBy(t, "gzip", tar)
	for _, c := range []answerCase{
		{name: "gzip", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), body: plain},
		{name: "x-gzip", h: serve(200, pack("gzip"), "Content-Encoding: X-GZIP"), body: plain},
		{name: "gzip of two members", h: serve(200, append(pack("gzip"), pack("gzip")...), "Content-Encoding: gzip"), body: append(bytes.Clone(plain), plain...)},
		{name: "deflate", h: serve(200, pack("zlib"), "Content-Encoding: deflate"), body: plain},
		{name: "deflate without its frame", h: serve(200, pack("deflate"), "Content-Encoding: deflate"), body: plain},
		{name: "br", h: serve(200, pack("br"), "Content-Encoding: br"), body: plain},
		{name: "zstd", h: serve(200, pack("zstd"), "Content-Encoding: zstd"), body: plain},
		{name: "two codings", h: serve(200, packedBy(t, "br", pack("gzip")), "Content-Encoding: gzip, br"), body: plain},
		{name: "two fields", h: serve(200, packedBy(t, "gzip", pack("gzip")), "Content-Encoding: gzip", "Content-Encoding: gzip"), body: plain},
		{name: "chunked", h: func(_ int, w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.(http.Flusher).Flush()
			w.Write(pack("gzip"))
		}, body: plain},
		{name: "words that are no codings", h: serve(200, plain, "Content-Encoding: utf-8, none", "Content-Encoding: binary, identity, csv"), body: plain},
		{name: "gzip, but the body is not", h: serve(200, plain, "Content-Encoding: gzip"), body: plain},
		{name: "gzip, but the body is a ZIP", h: serve(200, append([]byte("PK\x03\x04"), tar...), "Content-Encoding: gzip"), url: "http://d.example/f.zip", body: append([]byte("PK\x03\x04"), tar...)},
		{name: "nothing", h: serve(200, nil, "Content-Encoding: gzip"), reason: "it is empty", body: nil},
		// Which bytes are meant.
		{name: "the digest of the file", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), about: crawl.DatasetFile{SHA256: sumOf(plain)}, body: plain},
		{name: "the digest of the packed file", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), about: crawl.DatasetFile{SHA256: sumOf(pack("gzip"))}, body: pack("gzip")},
		{name: "the size of the file", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), about: crawl.DatasetFile{Bytes: size(plain)}, body: plain},
		{name: "the size of the packed file", h: serve(200, pack("zstd"), "Content-Encoding: zstd"), about: crawl.DatasetFile{Bytes: size(pack("zstd"))}, body: pack("zstd")},
		{name: "the size of neither", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), about: crawl.DatasetFile{Bytes: size(plain[:9])}, reason: "it has 2400 bytes, not 9 as announced", body: plain},
		{name: "the digest of neither", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), about: crawl.DatasetFile{SHA256: sumOf(nil)}, outcome: Failed, reason: "its SHA-256 is " + sumOf(plain), path: "f.csv.mismatch"},
		{name: "a gzip file", h: serve(200, tgz, "Content-Encoding: gzip"), url: "http://d.example/f.tar.gz", body: tgz},
		{name: "a gzip file by its type", h: serve(200, tgz, "Content-Encoding: gzip", "Content-Type: application/gzip"), url: "http://d.example/f", path: "f.gz", body: tgz},
		{name: "a gzip file by its announced type", h: serve(200, tgz, "Content-Encoding: x-gzip"), url: "http://d.example/f", about: crawl.DatasetFile{MediaType: "application/x-gzip"}, path: "f.gz", body: tgz},
		{name: "a gzip file whose digest is that of its content", h: serve(200, tgz, "Content-Encoding: gzip"), url: "http://d.example/f.tar.gz", about: crawl.DatasetFile{SHA256: sumOf(tar)}, body: tar},
		{name: "a gzip file, packed again", h: serve(200, packedBy(t, "gzip", tgz), "Content-Encoding: gzip"), url: "http://d.example/f.tar.gz", body: tgz},
		// What cannot be decoded is stored as it came.
		{name: "compress", h: serve(200, pack("gzip"), "Content-Encoding: compress"), reason: "Content-Encoding compress and cannot be decoded", body: pack("gzip")},
		{name: "cut off inside", h: serve(200, pack("gzip")[:40], "Content-Encoding: gzip"), reason: "cannot be decoded", body: pack("gzip")[:40]},
		{name: "three codings", h: serve(200, pack("gzip"), "Content-Encoding: gzip, gzip, gzip"), reason: "cannot be decoded", body: pack("gzip")},
		// Limits.
		{name: "decoded, just not too large", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), change: func(o *Options) { o.MaxSize = 2400 }, body: plain},
		{name: "decoded, too large", h: serve(200, pack("gzip"), "Content-Encoding: gzip"), change: func(o *Options) { o.MaxSize = 2399 }, outcome: Limited, reason: "larger than the 2399 bytes"},
		{name: "a bomb", h: serve(200, packedBy(t, "gzip", make([]byte, freeGrowth+1)), "Content-Encoding: gzip"), outcome: Failed, reason: "decodes to more than 256 times its size"},
		{name: "just no bomb", h: serve(200, packedBy(t, "gzip", make([]byte, freeGrowth)), "Content-Encoding: gzip"), url: "http://d.example/f.bin", body: make([]byte, freeGrowth)},
		// Pieces.
		{name: "pieces of an encoded file", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			content(`"1"`, tgz)(w, r)
		}, asked: `0-999 1000-1999?"1" 2000-2999?"1" 3000-3999?"1"`, body: tar, url: "http://d.example/f.bin"},
		{name: "a coding that comes and goes", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 0 {
				w.Header().Set("Content-Encoding", "gzip")
				content(`"1"`, tgz)(w, r)
				return
			}
			content(`"1"`, tar)(w, r)
		}, asked: `0-999 1000-1999?"1" 0-999 1000-1999?"1" 2000-2999?"1" 3000-3999?"1"`, body: tar, url: "http://d.example/f.bin"},
		{name: "each piece encoded by itself", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			body := plain
			if r.Header.Get("Range") != "" {
				body = plain[:1000]
				w.Header().Set("ETag", `"1"`)
				w.Header().Set("Content-Range", "bytes 0-999/2400")
				w.WriteHeader(206)
			}
			w.Write(packedBy(t, "gzip", body))
		}, asked: "0-999 all", body: plain},
		{name: "encoded without a validator", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			content("", tgz)(w, r)
		}, asked: "0-999 all", body: tar, url: "http://d.example/f.bin"},
	} {
		c.run(t)
	}
}

// Servers that do not want the field Range.
func TestRangeRefused(t *testing.T) {
	a := []byte(strings.Repeat("a,b\n1,2\n", 300))
	whole := func(w http.ResponseWriter) { w.Write(a) }
	toRange := func(status int, fields ...string) func(int, http.ResponseWriter, *http.Request) {
		return func(i int, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				serve(status, nil, fields...)(i, w, r)
				return
			}
			whole(w)
		}
	}
	var all []answerCase
	for _, status := range []int{400, 403, 405, 406, 416, 500, 501} {
		all = append(all, answerCase{name: fmt.Sprint(status), h: toRange(status), asked: "0-999 all", body: a})
	}
	for _, c := range append(all, []answerCase{
		{name: "404", h: toRange(404), asked: "0-999", outcome: Failed, reason: "HTTP 404"},
		{name: "403 to both", h: serve(403, nil), asked: "0-999 all", outcome: Failed, reason: "HTTP 403"},
		{name: "500 to both", h: serve(500, nil), asked: "0-999 all 0-999 0-999 0-999 0-999", outcome: Failed, reason: "HTTP 500 Internal Server Error, 5 times in a row"},
		{name: "500 at first", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i < 2 {
				w.WriteHeader(500)
				return
			}
			content(`"1"`, a)(w, r)
		}, asked: `0-999 all 0-999 1000-1999?"1" 2000-2999?"1"`, body: a},
		{name: "500 in between", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 1 {
				w.WriteHeader(500)
				return
			}
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1000-1999?"1" 1000-1999?"1" 2000-2999?"1"`, body: a},
		{name: "403 after a piece is a refusal", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 1 {
				w.WriteHeader(403)
				return
			}
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1000-1999?"1"`, outcome: Failed, reason: "HTTP 403"},
		{name: "501 to the rest of a whole answer that was cut off", h: func(i int, w http.ResponseWriter, r *http.Request) {
			switch {
			case i == 0:
				w.Header().Set("ETag", `"1"`)
				cutAfter(w, 1200, a)
			case r.Header.Get("Range") != "":
				w.WriteHeader(501)
			default:
				whole(w)
			}
		}, asked: `0-999 1200-2199?"1" all`, body: a},
		{name: "the total is a star", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/*", len(a[:800])-1))
			w.WriteHeader(206)
			w.Write(a[:800])
		}, asked: "0-999 all", body: a[:800]},
		{name: "the total is a star, with a validator", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/*", len(a[:800])-1))
			w.WriteHeader(206)
			w.Write(a[:800])
		}, asked: `0-999 800-1799?"1" all`, body: a[:800]},
		{name: "only a star", h: toRange(206, "Content-Range: *"), asked: "0-999 all", body: a},
		{name: "no Content-Range", h: toRange(206), asked: "0-999 all", body: a},
		{name: "multipart/byteranges", h: toRange(206, "Content-Type: multipart/byteranges; boundary=x"), asked: "0-999 all", body: a},
		{name: "another range", h: toRange(206, "Content-Range: bytes 5-9/2400"), asked: "0-999 all", body: a},
		{name: "a range after the end", h: toRange(206, "Content-Range: bytes 9-5/2400"), asked: "0-999 all", body: a},
		{name: "another range in between", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 1 {
				r.Header.Set("Range", "bytes=0-9")
			}
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1000-1999?"1" all`, body: a},
		{name: "203 in place of 200", h: serve(203, a), asked: "0-999", body: a},
		{name: "206 to both, of a part", h: serve(206, a[:100], "Content-Range: bytes 0-99/2400"), asked: "0-999 all", outcome: Failed, reason: "no range was requested"},
	}...) {
		c.run(t)
	}
}

// Servers that ask to wait.
func TestServersThatPrepareAFile(t *testing.T) {
	a := []byte("a,b\n1,2\n")
	var began time.Time
	accepted := func(times int, fields ...string) func(int, http.ResponseWriter, *http.Request) {
		return func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 0 {
				began = time.Now()
			}
			if i < times {
				serve(202, []byte("please wait"), fields...)(i, w, r)
				return
			}
			w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=after-%d.csv", int(time.Since(began).Seconds())))
			w.Write(a)
		}
	}
	for _, c := range []answerCase{
		{name: "twice a second", h: accepted(2, "Retry-After: 1"), asked: "0-999 0-999 0-999", path: "after-2.csv", body: a},
		{name: "without a time", h: accepted(4), path: "after-30.csv", body: a},
		{name: "a time of zero", h: accepted(1, "Retry-After: 0"), path: "after-2.csv", body: a},
		{name: "a date", h: accepted(1, "Retry-After: Sat, 01 Jan 2000 00:00:09 GMT"), path: "after-9.csv", body: a},
		{name: "the longest", h: accepted(3, "Retry-After: 600"), path: "after-1800.csv", body: a},
		{name: "longer than we wait for one answer", h: accepted(1, "Retry-After: 601"), outcome: Failed, reason: "still preparing it (HTTP 202) after 0s, and asks to wait for 10m1s"},
		{name: "for ever", h: accepted(1e9, "Retry-After: 600"), asked: "0-999 0-999 0-999 0-999", outcome: Failed, reason: "still preparing it (HTTP 202) after 30m0s"},
		{name: "behind a redirect", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/f.csv" {
				http.Redirect(w, r, "/job/7", 302)
				return
			}
			accepted(2, "Retry-After: 5")(max(i-1, 0), w, r)
		}, body: a},
	} {
		c.run(t)
	}
}

// What is not the announced file.
func TestRemarks(t *testing.T) {
	login := []byte("\n<!-- x --><HTML><body>please log in</body></html>")
	csv := []byte("a,b\n1,2\n")
	zip := append([]byte("PK\x03\x04"), bytesOf(200)...)
	fail := []byte(`{"error": "no such file"}`)
	denied := []byte(`<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>`)
	n := func(n int64) *int64 { return &n }
	html, asCSV := "Content-Type: text/html", "Content-Type: text/csv"
	media := func(m string) crawl.DatasetFile { return crawl.DatasetFile{MediaType: m} }
	for _, c := range []answerCase{
		{name: "a page for a CSV", h: serve(200, login, html), about: media("text/csv"), reason: "an HTML page came, not csv as announced", body: login},
		{name: "a page for a CSV by its URL", h: serve(200, login, html), reason: "HTML", body: login},
		{name: "a page for a ZIP", h: serve(200, login, html), url: "http://d.example/f?x=1", about: media("application/zip"), reason: "an HTML page came, not zip", path: "f.html", body: login},
		{name: "a page for JSON", h: serve(200, login, html), url: "http://d.example/f", about: media("application/json"), reason: "HTML", body: login},
		{name: "a page for a format by its name", h: serve(200, login, html), url: "http://d.example/f", about: media("XLSX"), reason: "HTML", body: login},
		{name: "a page that is called a CSV", h: serve(200, login, asCSV), reason: "HTML", body: login},
		{name: "a page in XHTML", h: serve(200, []byte(`<?xml version="1.0"?><html xmlns="x">`), asCSV), reason: "HTML", body: []byte(`<?xml version="1.0"?><html xmlns="x">`)},
		{name: "a page, announced as one", h: serve(200, login, html), url: "http://d.example/t.html", about: media("text/html"), path: "t.html", body: login},
		{name: "a page at a URL that announces nothing", h: serve(200, login, html), url: "http://d.example/rain", body: login},
		{name: "a page at the URL of a program, announced as CSV", h: serve(200, login, html), url: "http://d.example/rain.php", about: media("text/csv"), reason: "HTML", body: login},
		{name: "a CSV that is called a page", h: serve(200, csv, html), path: "f.csv", body: csv},
		{name: "a page with the announced digest", h: serve(200, login, html), about: crawl.DatasetFile{SHA256: sumOf(login)}, body: login},
		{name: "JSON for a ZIP", h: serve(200, fail, "Content-Type: application/json"), url: "http://d.example/f.zip", reason: "JSON came, not zip", body: fail},
		{name: "JSON for a CSV", h: serve(200, fail, asCSV), reason: "JSON came, not csv", body: fail},
		{name: "JSON for GeoJSON", h: serve(200, fail, "Content-Type: application/json"), about: media("application/geo+json"), body: fail},
		{name: "XML for a Parquet file", h: serve(200, denied, "Content-Type: application/xml"), url: "http://d.example/f.parquet", reason: "XML came, not parquet", body: denied},
		{name: "XML for KML", h: serve(200, denied, "Content-Type: application/xml"), url: "http://d.example/f.kml", body: denied},
		{name: "text for a PDF", h: serve(200, []byte("not found"), "Content-Type: text/plain"), url: "http://d.example/f.pdf", reason: "text came, not pdf", body: []byte("not found")},
		{name: "a ZIP for a ZIP", h: serve(200, zip), url: "http://d.example/f.zip", body: zip},
		{name: "a ZIP with a CSV in it", h: serve(200, zip, "Content-Type: application/zip"), url: "http://d.example/f.csv.zip", about: media("text/csv"), body: zip},
		{name: "an old workbook that is text", h: serve(200, csv), url: "http://d.example/f.xls", body: csv},
		{name: "JSON in a format that is not known", h: serve(200, fail), url: "http://d.example/f.model", body: fail},
		{name: "8 bytes for 99", h: serve(200, csv, asCSV), about: crawl.DatasetFile{Bytes: n(99)}, reason: "it has 8 bytes, not 99 as announced", body: csv},
		{name: "8 bytes for 7", h: serve(200, csv, asCSV), about: crawl.DatasetFile{Bytes: n(7)}, reason: "not 7", body: csv},
		{name: "8 bytes for 8", h: serve(200, csv, asCSV), about: crawl.DatasetFile{Bytes: n(8)}, body: csv},
		{name: "8 bytes for 99 with the announced digest", h: serve(200, csv, asCSV), about: crawl.DatasetFile{Bytes: n(99), SHA256: sumOf(csv)}, body: csv},
		{name: "nothing", h: serve(200, nil, asCSV), reason: "it is empty (0 bytes)", body: nil},
		{name: "nothing for 99", h: serve(200, nil, asCSV), about: crawl.DatasetFile{Bytes: n(99)}, reason: "it has 0 bytes, not 99", body: nil},
		{name: "nothing for nothing", h: serve(200, nil, asCSV), about: crawl.DatasetFile{Bytes: n(0)}, body: nil},
		{name: "8 bytes for about 16", h: serve(200, csv, asCSV), about: crawl.DatasetFile{BytesAbout: n(16)}, body: csv},
		{name: "8 bytes for about 18", h: serve(200, csv, asCSV), about: crawl.DatasetFile{BytesAbout: n(18)}, reason: "not about 18 as announced", body: csv},
		{name: "8 bytes for about 4", h: serve(200, csv, asCSV), about: crawl.DatasetFile{BytesAbout: n(4)}, body: csv},
		{name: "8 bytes for about 3", h: serve(200, csv, asCSV), about: crawl.DatasetFile{BytesAbout: n(3)}, reason: "not about 3 as announced", body: csv},
		{name: "a page of another size", h: serve(200, login, html), about: crawl.DatasetFile{Bytes: n(99)}, reason: "not 99 as announced; an HTML page came", body: login},
		{name: "204", h: serve(204, nil), outcome: Failed, reason: "HTTP 204"},
	} {
		c.run(t)
	}
}

// signedSite redirects /get to an address that is valid for some requests.
type signedSite struct {
	uses    int // requests for which an address is valid
	expired func(w http.ResponseWriter, r *http.Request)
	to      func(n int) string // the n-th address
	file    http.HandlerFunc

	given, used int
	valid       string
}

func (s *signedSite) answer(_ int, w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasPrefix(r.URL.Path, "/get"):
		s.given, s.used = s.given+1, 0
		s.valid = s.to(s.given)
		w.Header().Set("Location", s.valid)
		w.WriteHeader(302)
	case "http://"+r.Host+r.RequestURI != s.valid || s.used >= s.uses:
		s.expired(w, r)
	default:
		s.used++
		s.file(w, r)
	}
}

func TestSignedAddresses(t *testing.T) {
	a := bytesOf(5500)
	status := func(code int) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<Error>", code) }
	}
	sig := func(n int) string { return fmt.Sprintf("http://s.example/o/f.bin?sig=%d%%2b%%2F", n) }
	const url = "http://d.example/get/f.bin"
	var all []answerCase
	for _, code := range []int{400, 401, 403, 404, 410} {
		s := &signedSite{uses: 2, to: sig, file: content(`"1"`, a), expired: status(code)}
		all = append(all, answerCase{name: fmt.Sprint(code), h: s.answer, body: a})
	}
	for _, c := range append(all, []answerCase{
		{name: "one request each", h: (&signedSite{uses: 1, to: sig, file: content(`"1"`, a), expired: status(403)}).answer, body: a},
		{name: "with a path for each", h: (&signedSite{uses: 3, to: func(n int) string { return fmt.Sprintf("http://s.example/%d/f.bin", n) }, file: content(`"01234567"`, a), expired: status(403)}).answer, body: a},
		{name: "with a path for each, and a tag that others may have", h: (&signedSite{uses: 1, to: func(n int) string { return fmt.Sprintf("http://s.example/%d/f.bin", n) }, file: content(`"0123456"`, a), expired: status(403)}).answer,
			outcome: Failed, reason: "restarted 3 times"},
		{name: "a login page when it has expired", h: (&signedSite{uses: 2, to: sig, file: content(`"1"`, a), expired: func(w http.ResponseWriter, _ *http.Request) {
			serve(200, []byte("<html>log in"), "Content-Type: text/html")(0, w, nil)
		}}).answer, body: a},
		{name: "no ranges, and one request each", h: (&signedSite{uses: 1, to: sig, expired: status(403), file: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(501)
				return
			}
			w.Write(a)
		}}).answer, asked: "0-999 0-999 all all all", body: a},
		{name: "no ranges, and two requests each", h: (&signedSite{uses: 2, to: sig, expired: status(403), file: func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(403)
				return
			}
			w.Write(a)
		}}).answer, asked: "0-999 0-999 all", body: a},
		{name: "valid at the third attempt", h: func() func(int, http.ResponseWriter, *http.Request) {
			s := &signedSite{uses: 9, to: sig, file: content(`"1"`, a[:900])}
			s.expired = status(404)
			return func(i int, w http.ResponseWriter, r *http.Request) {
				if s.uses = 9; s.given < 3 {
					s.uses = 0
				}
				s.answer(i, w, r)
			}
		}(), asked: "0-999 0-999 0-999 0-999 0-999 0-999", body: a[:900]},
		{name: "never valid", h: (&signedSite{uses: 0, to: sig, expired: status(404)}).answer, asked: "0-999 0-999 0-999 0-999 0-999 0-999", outcome: Failed, reason: "HTTP 404"},
		{name: "no longer valid after a piece", h: func() func(int, http.ResponseWriter, *http.Request) {
			s := &signedSite{uses: 1, to: sig, file: content(`"1"`, a), expired: status(404)}
			return func(i int, w http.ResponseWriter, r *http.Request) {
				if s.given > 0 {
					s.uses = 0
				}
				if s.given == 1 && s.used == 0 {
					s.uses = 1
				}
				s.answer(i, w, r)
			}
		}(), outcome: Failed, reason: "HTTP 404", path: "f.bin.part"},
	}...) {
		c.url = url
		c.run(t)
	}
}

// The addresses of a redirect and of a catalogue are requested as they are written, but the rules
// are those of the canonical ones.
func TestAddressesAsWritten(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		var closed []canon.URL
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/get" {
				w.Header().Set("Location", "//s.example/%7ef%2fg.csv?sig=a%2Fb%2b1")
				w.WriteHeader(307)
				return
			}
			w.Write([]byte("a,b\n"))
		})
		opt := options(t, s, t.TempDir())
		opt.Closed = func(_ context.Context, u canon.URL) (string, error) {
			closed = append(closed, u)
			return "", nil
		}
		if res := get(t, opt, datasetOf("http://d.example/get?key=%2b")); res[0].Outcome != Done {
			t.Fatalf("%+v", res)
		}
		if all := s.take(); len(all) != 2 || all[0].Path != "/get?key=%2b" || all[1].Path != "/%7ef%2fg.csv?sig=a%2Fb%2b1" {
			t.Errorf("requested %+v", all)
		}
		if len(closed) != 2 || closed[0] != "http://d.example/get?key=%2B" || closed[1] != "http://s.example/~f%2Fg.csv?sig=a%2Fb%2B1" {
			t.Errorf("asked whether %v are closed", closed)
		}
	})
}

// A new file has its name from its first answer on, whatever ends the process.
func TestNameOutlivesTheProcess(t *testing.T) {
	body := bytesOf(2500)
	for _, at := range []int{1, 2, 3} { // requests that were answered
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				name := "first.bin"
				s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Disposition", "attachment; filename="+name)
					content(`"1"`, body)(w, r)
				})
				dir := t.TempDir()
				opt := options(t, s, dir)
				killed := opt
				n := 0
				stop := errors.New("killed")
				killed.Visit = func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
					if n++; n > at {
						return stop
					}
					err := s.visit(ctx, o, do)
					if at == 1 { // as if it were killed before anything was safe on disk
						os.Truncate(filepath.Join(dir, "first.bin.part"), 0)
					}
					return err
				}
				files, _ := Plan([]crawl.DatasetInfo{datasetOf("http://d.example/3"), datasetOf("http://d.example/4")})
				Get(t.Context(), files[:1], killed)
				name = "second.bin"
				res, err := Get(t.Context(), files, opt)
				if err != nil || res[0].Path != "first.bin" || res[0].SHA256 != sumOf(body) || res[1].Path != "second.bin" {
					t.Fatalf("%+v, %v", res, err)
				}
				checked(t, dir, 2)
			})
		})
	}
}

// Files of one directory have different names on every system.
func TestNamesOfServersCollide(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		given := map[string]string{"/1": "Rain.csv", "/2": "rain.CSV", "/3": "rain.csv", "/4": "r%C3%A4in.csv", "/5": "ra%CC%88in.csv", "/6": "rain.csv.part", "/7": "datapackage.json"}
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Disposition", "attachment; filename*=UTF-8''"+given[r.URL.Path])
			w.Write([]byte(`{"a": 1}`))
		})
		dir := t.TempDir()
		opt := options(t, s, dir)
		var urls []string
		for i := range given {
			urls = append(urls, "http://d.example/"+fmt.Sprint(len(urls)+1)+i[:0])
		}
		var names []string
		for _, r := range get(t, opt, datasetOf(urls...)) {
			names = append(names, r.Path)
		}
		if got := strings.Join(names, " "); got != "Rain.csv rain-2.CSV rain-3.csv räin.csv räin-2.csv rain.csv.part_ _datapackage.json" {
			t.Errorf("named %s", got)
		}
	})
}

// What is still to come of several datasets is known from the beginning: sizes of the catalogue,
// until the server has others, and the number of the other files.
func TestProgressOverAllFiles(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytesOf(2500)
		s := newSite(t, content(`"1"`, body))
		opt := options(t, s, t.TempDir())
		opt.Hosts = 1
		var seen []string
		opt.Progress = func(p Progress) {
			if text := fmt.Sprintf("%d/%d: %d and %d", p.Over, p.Files, p.Left, p.Unknown); len(seen) == 0 || seen[len(seen)-1] != text {
				seen = append(seen, text)
			}
		}
		exact, about := int64(2400), int64(9000)
		one, two := datasetOf("http://d.example/a.csv", "http://d.example/b.csv"), datasetOf("http://d.example/c.csv")
		one.Files[0].Bytes, two.Files[0].BytesAbout, two.ID = &exact, &about, "d2"
		files, _ := Plan([]crawl.DatasetInfo{one, two})
		if o := Look(files); o.Bytes != 11400 || o.Unknown != 1 {
			t.Errorf("before: %+v", o)
		}
		if _, err := GetFolders(t.Context(), files, opt); err != nil {
			t.Fatal(err)
		}
		want := "0/3: 11400 and 1, 0/3: 10500 and 1, 0/3: 9500 and 1, 0/3: 9000 and 1, 1/3: 9000 and 1, 1/3: 10500 and 0, 1/3: 9500 and 0, 1/3: 9000 and 0, 2/3: 9000 and 0, " +
			"2/3: 1500 and 0, 2/3: 500 and 0, 2/3: 0 and 0, 3/3: 0 and 0"
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("%s,\nwant %s", got, want)
		}
	})
}
