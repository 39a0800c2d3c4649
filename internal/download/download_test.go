package download

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/disk"
	"github.com/curtsy/curtsy/internal/fetcher"
	"github.com/curtsy/curtsy/pkg/canon"
)

// sent is a request as the server saw it.
type sent struct{ Host, Path, Range, IfRange string }

// site serves all hosts, and keeps what was asked of it. It is a Visit and a Getter as well: a visit is one request to one host.
type site struct {
	t      *testing.T
	h      http.HandlerFunc
	srv    *httptest.Server
	client http.Transport

	mu     sync.Mutex
	log    []sent
	visits map[canon.Host]int // under way
	refuse map[canon.URL]error
}

func newSite(t *testing.T, h http.HandlerFunc) *site {
	s := &site{t: t, h: h, visits: map[canon.Host]int{}, refuse: map[canon.URL]error{}}
	s.srv = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, sent{r.Host, r.URL.RequestURI(), r.Header.Get("Range"), r.Header.Get("If-Range")})
		s.mu.Unlock()
		s.h(w, r)
	}))
	t.Cleanup(s.srv.Close)
	return s
}

func (s *site) visit(ctx context.Context, o canon.Origin, do func(Getter) error) error {
	s.mu.Lock()
	s.visits[o.Host]++
	if s.visits[o.Host] > 1 {
		s.t.Errorf("two visits to %s at once", o.Host)
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.visits[o.Host]--
		s.mu.Unlock()
	}()
	return do(hostGetter{s, o.Host})
}

type hostGetter struct {
	s    *site
	host canon.Host
}

// Get does what fetcher.DownloadVisit.Get says, without its politeness.
func (g hostGetter) Get(ctx context.Context, u canon.URL, h http.Header, accept func(int, http.Header) bool, w io.Writer) (got download, err error) {
	s := g.s
	if u.Host() != g.host {
		s.t.Errorf("%s asked for under a visit to %s", u, g.host)
	}
	if err := s.refuse[u]; err != nil {
		return got, err
	}
	return getFrom(ctx, &s.client, s.srv.URL, u, h, accept, w)
}

type download = fetcher.Download

func getFrom(ctx context.Context, client *http.Transport, server string, u canon.URL, h http.Header, accept func(int, http.Header) bool, w io.Writer) (got download, err error) {
	r, err := http.NewRequestWithContext(ctx, "GET", server+u.PathQuery(), nil)
	if err != nil {
		return got, err
	}
	r.Host, r.Header = string(u.Host()), h.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept-Encoding", "identity")
	resp, err := client.RoundTrip(r)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	got.Status, got.Header = resp.StatusCode, resp.Header
	got.Framed = resp.ContentLength >= 0 || len(resp.TransferEncoding) > 0
	if !accept(resp.StatusCode, resp.Header) {
		return got, nil
	}
	got.Bytes, err = io.Copy(struct{ io.Writer }{w}, resp.Body)
	got.Complete = err == nil
	return got, err
}

// take returns what was asked for since it was called last.
func (s *site) take() (all []sent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, s.log = s.log, nil
	return all
}

func rangesOf(all []sent) string {
	var out []string
	for _, q := range all {
		r := strings.TrimPrefix(q.Range, "bytes=")
		if r == "" {
			r = "all"
		}
		if q.IfRange != "" {
			r += "?" + q.IfRange
		}
		out = append(out, r)
	}
	return strings.Join(out, " ")
}

func options(t *testing.T, s *site, dir string) Options {
	return Options{Dir: dir, Visit: s.visit, Piece: 1000, Retry: time.Millisecond, Log: slog.New(slog.DiscardHandler)}
}

func datasetOf(urls ...string) crawl.DatasetInfo {
	d := crawl.DatasetInfo{ID: "d1", Allowed: true, Title: "Rain", Origin: "http://d.example", Type: "files"}
	for _, u := range urls {
		d.Files, d.URLs = append(d.Files, crawl.DatasetFile{URL: u}), append(d.URLs, u)
	}
	return d
}

func get(t *testing.T, opt Options, d crawl.DatasetInfo) []Result {
	t.Helper()
	files, none := Plan([]crawl.DatasetInfo{d})
	res, err := Get(t.Context(), files, opt)
	if err != nil {
		t.Fatal(err)
	}
	return append(res, none...)
}

// bytesOf are always the same for a length.
func bytesOf(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n)})
	r.Read(b)
	return b
}

func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// checked fails unless the directory verifies, by us and by sha256sum.
func checked(t *testing.T, dir string, files int) {
	t.Helper()
	rep, err := Verify(t.Context(), dir)
	if err != nil || !rep.OK || rep.Files != files {
		t.Errorf("Verify: %+v, %v, want %d files", rep, err, files)
	}
	cmd := exec.Command("sha256sum", "-c", "--strict", sumsName)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("sha256sum -c: %v\n%s", err, out)
	}
}

func has(t *testing.T, dir, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: %d bytes, %v, want %d", name, len(got), err, len(want))
	}
}

// entriesOf are the names in a directory.
func entriesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// content serves b as http.ServeContent does.
func content(tag string, b []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if tag != "" {
			w.Header().Set("ETag", tag)
		}
		w.Header().Set("Content-Type", "text/csv")
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	}
}

func TestGetInPieces(t *testing.T) {
	t.Parallel()
	body := bytesOf(2500)
	s := newSite(t, content(`"v1"`, body))
	dir := t.TempDir()
	by := "CC-BY-4.0"
	d := datasetOf("http://d.example/a/rain%20of%20may.csv?x=1", "http://d.example/b/rain%20of%20may.csv", "http://d.example/a/rain%20of%20may.csv?x=1")
	d.SPDX, d.License, d.Sources = &by, "cc by 4.0", []crawl.DatasetSource{{Document: "http://d.example/data.txt"}}
	d.Files[0].SHA256, d.Files[1].MD5 = sumOf(body), fmt.Sprintf("%x", md5.Sum(body))
	opt := options(t, s, dir)
	var last Progress
	opt.Progress = func(p Progress) { last = p }
	res := get(t, opt, d)
	if len(res) != 2 || res[0] != (Result{"d1", d.URLs[0], "rain of may.csv", 2500, sumOf(body), Done, ""}) || res[1].Path != "rain of may-2.csv" || res[1].Outcome != Done {
		t.Fatalf("%+v", res)
	}
	if last.Files != 2 || last.Over != 2 || last.Bytes != 5000 {
		t.Errorf("progress %+v", last)
	}
	if got, want := rangesOf(s.take()), `0-999 1000-1999?"v1" 2000-2999?"v1" 0-999 1000-1999?"v1" 2000-2999?"v1"`; got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
	has(t, dir, "rain of may.csv", body)
	if got := entriesOf(t, dir); got != "SHA256SUMS datapackage.json rain of may-2.csv rain of may.csv" {
		t.Errorf("there are %s", got)
	}
	checked(t, dir, 2)
	// Once more: nothing is asked for, and nothing changes.
	before, _ := os.ReadFile(filepath.Join(dir, packageName))
	if res := get(t, opt, d); res[0].Outcome != Had || res[1].Outcome != Had || res[0].SHA256 != sumOf(body) || len(s.take()) != 0 {
		t.Errorf("again: %+v", res)
	}
	after, _ := os.ReadFile(filepath.Join(dir, packageName))
	if !bytes.Equal(before, after) {
		t.Error("datapackage.json has changed")
	}
	var p struct {
		Name, Title, Profile string
		Licenses             []struct{ Name string }
		Sources              []struct{ Title, Path string }
		Resources            []struct {
			Name, Path, Hash string
			Bytes            int64
			Licenses         []struct{ Name string }
			Sources          []struct{ Path string }
		}
	}
	if err := json.Unmarshal(after, &p); err != nil {
		t.Fatal(err)
	}
	if p.Name != "rain" || p.Title != "Rain" || len(p.Licenses) != 1 || p.Licenses[0].Name != by || p.Sources[0].Path != "http://d.example/data.txt" || len(p.Resources) != 2 {
		t.Errorf("package %+v", p)
	}
	if r := p.Resources[1]; r.Name != "rain-of-may.csv" || r.Path != "rain of may.csv" || r.Hash != "sha256:"+sumOf(body) || r.Bytes != 2500 ||
		r.Licenses[0].Name != by || r.Sources[0].Path != d.URLs[0] {
		t.Errorf("resource %+v", r)
	}
	// A file that was removed comes back under its name; one that was changed is not touched.
	os.Remove(filepath.Join(dir, "rain of may.csv"))
	os.WriteFile(filepath.Join(dir, "rain of may-2.csv"), []byte("mine"), 0o644)
	if res := get(t, opt, d); res[0].Outcome != Done || res[0].Path != "rain of may.csv" || res[1].Outcome != Failed || !strings.Contains(res[1].Reason, "remove it") {
		t.Errorf("after changes: %+v", res)
	}
	has(t, dir, "rain of may-2.csv", []byte("mine"))
}

// cutAfter sends the head of an answer and so much of the body, and ends the connection.
func cutAfter(w http.ResponseWriter, n int, body []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// What servers do with a Range, and what comes of it.
func TestServers(t *testing.T) {
	t.Parallel()
	a, b := bytesOf(2500), bytesOf(2600)
	old := time.Now().Add(-time.Hour)
	n := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Range"), "bytes=") }
	for _, c := range []struct {
		name    string
		h       func(i int, w http.ResponseWriter, r *http.Request) // i counts requests
		asked   string
		outcome Outcome
		reason  string
		body    []byte
		change  func(*Options, *crawl.DatasetInfo)
	}{
		{name: "strong by age", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", old, bytes.NewReader(a))
		}, asked: "0-999 1000-1999?" + old.UTC().Format(http.TimeFormat) + " 2000-2999?" + old.UTC().Format(http.TimeFormat), body: a},
		{name: "too young to be strong", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Now().Add(-20*time.Second), bytes.NewReader(a))
		}, asked: "0-999 all", body: a},
		{name: "weak ETag", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `W/"1"`)
			http.ServeContent(w, r, "", old, bytes.NewReader(a))
		}, asked: "0-999 all", body: a},
		{name: "no validator, but small", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a[:1000]))
		}, asked: "0-999", body: a[:1000]},
		{name: "no ranges", h: func(_ int, w http.ResponseWriter, r *http.Request) { w.Write(a) }, asked: "0-999", body: a},
		{name: "no ranges, chunked", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.(http.Flusher).Flush()
			w.Write(a)
		}, asked: "0-999", body: a},
		{name: "no ranges, cut off twice", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i < 2 {
				cutAfter(w, 2000, a)
			}
			w.Write(a)
		}, asked: "0-999 0-999 0-999", body: a},
		{name: "no ranges, never whole", h: func(_ int, w http.ResponseWriter, r *http.Request) { cutAfter(w, 2000, a) },
			asked: "0-999 0-999 0-999 0-999 0-999", outcome: Failed, reason: "begun anew 3 times: the server sends no ranges"},
		{name: "a whole one, cut off, goes on by ranges", h: func(i int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			if i == 0 {
				cutAfter(w, 1200, a)
			}
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a))
		}, asked: `0-999 1200-2199?"1" 2200-3199?"1"`, body: a},
		{name: "changed between", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i < 2 {
				content(`"1"`, a)(w, r)
			} else {
				content(`"2"`, b)(w, r)
			}
		}, asked: `0-999 1000-1999?"1" 2000-2999?"1"`, body: b},
		{name: "changed, and If-Range not looked at", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			if i < 2 {
				content(`"1"`, a)(w, r)
			} else {
				content(`"2"`, b)(w, r)
			}
		}, asked: `0-999 1000-1999?"1" 2000-2999?"1" 0-999 1000-1999?"2" 2000-2999?"2"`, body: b},
		{name: "changed length, no validator in the piece", h: func(i int, w http.ResponseWriter, r *http.Request) {
			from := n(r)
			switch {
			case i == 0:
				content(`"1"`, a)(w, r)
			case from == "0-999":
				content(`"2"`, b[:900])(w, r)
			default:
				w.Header().Set("Content-Range", "bytes 1000-1999/2600")
				w.WriteHeader(206)
				w.Write(b[1000:2000])
			}
		}, asked: `0-999 1000-1999?"1" 0-999`, body: b[:900]},
		{name: "always changing", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			content(fmt.Sprintf(`"%d"`, i), a)(w, r)
		}, asked: `0-999 1000-1999?"0" 0-999 1000-1999?"2" 0-999 1000-1999?"4" 0-999 1000-1999?"6"`, outcome: Failed, reason: "another copy each time"},
		{name: "412", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i == 1 {
				w.WriteHeader(412)
				return
			}
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1000-1999?"1" 0-999 1000-1999?"1" 2000-2999?"1"`, body: a},
		{name: "length not said", h: func(i int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			var from int
			fmt.Sscanf(n(r), "%d-", &from)
			if from >= 2000 {
				w.Header().Set("Content-Range", "bytes */2000")
				w.WriteHeader(416)
				return
			}
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/*", from, from+999))
			w.WriteHeader(206)
			w.Write(a[from : from+1000])
		}, asked: `0-999 1000-1999?"1" 2000-2999?"1"`, body: a[:2000]},
		{name: "shorter than it was", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Del("If-Range")
			if i < 1 {
				content(`"1"`, a)(w, r)
			} else {
				content(`"1"`, a[:700])(w, r)
			}
		}, asked: `0-999 1000-1999?"1" 0-999`, body: a[:700]},
		{name: "empty", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", "bytes */0")
				w.WriteHeader(416)
			}
		}, asked: "0-999 all", body: []byte{}},
		{name: "shorter pieces", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			var from int
			fmt.Sscanf(n(r), "%d-", &from)
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+799))
			content(`"1"`, a)(w, r)
		}, asked: `0-999 800-1799?"1" 1600-2599?"1" 2400-3399?"1"`, body: a},
		{name: "tiny pieces", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			var from int
			fmt.Sscanf(n(r), "%d-", &from)
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from))
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1-1000?"1" 2-1001?"1" 3-1002?"1" 4-1003?"1"`, outcome: Failed, reason: "tiny pieces"},
		{name: "another piece", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=5-9")
			content(`"1"`, a)(w, r)
		}, asked: `0-999`, outcome: Failed, reason: "bytes 5-9 for 0-999"},
		{name: "more than the piece", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", "bytes 0-999/2500")
			w.WriteHeader(206)
			w.(http.Flusher).Flush()
			w.Write(a[:1001])
		}, asked: "0-999", outcome: Failed, reason: "more than the 1000 bytes"},
		{name: "less than the piece", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i > 0 {
				content(`"1"`, a)(w, r)
				return
			}
			w.Header().Set("ETag", `"1"`)
			w.Header().Set("Content-Range", "bytes 0-999/2500")
			w.WriteHeader(206)
			w.(http.Flusher).Flush()
			w.Write(a[:900])
		}, asked: `0-999 900-1899?"1" 1900-2899?"1"`, body: a},
		{name: "several pieces at once", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=0-9,20-29")
			content(`"1"`, a)(w, r)
		}, asked: "0-999", outcome: Failed, reason: "wrong piece: Content-Range"},
		{name: "encoded", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(a)
		}, asked: "0-999", outcome: Failed, reason: `Content-Encoding "gzip" although asked not to`},
		{name: "an encoded piece", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			content(`"1"`, a)(w, r)
		}, asked: "0-999", outcome: Failed, reason: `"br"`},
		{name: "a gzip file that is called encoded", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "x-gzip")
			w.Header().Set("Content-Length", fmt.Sprint(len(a)))
			w.Write(a)
		}, asked: "0-999", body: a, change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].URL = "http://d.example/f.tar.gz" }},
		{name: "no end", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			buf.WriteString("HTTP/1.0 200 OK\r\n\r\n")
			buf.Write(a)
			buf.Flush()
			conn.Close()
		}, asked: "0-999", outcome: Failed, reason: "how long it is"},
		{name: "gone", h: func(_ int, w http.ResponseWriter, r *http.Request) { http.Error(w, "", 404) }, asked: "0-999", outcome: Failed, reason: "HTTP 404 Not Found"},
		{name: "busy at first", h: func(i int, w http.ResponseWriter, r *http.Request) {
			if i < 3 {
				http.Error(w, "", 503)
				return
			}
			content(`"1"`, a[:500])(w, r)
		}, asked: "0-999 0-999 0-999 0-999", body: a[:500]},
		{name: "busy for ever", h: func(_ int, w http.ResponseWriter, r *http.Request) { http.Error(w, "", 429) },
			asked: "0-999 0-999 0-999 0-999 0-999", outcome: Failed, reason: "HTTP 429 Too Many Requests, 5 times in a row"},
		{name: "too large", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a)(w, r) }, asked: "0-999", outcome: Limited,
			reason: "2500 bytes, more than --max-size", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize = 2499 }},
		{name: "just not too large", h: func(_ int, w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(a) }, asked: "0-999", body: a,
			change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize, o.MaxTotal = 2500, 2500 }},
		{name: "too large, as it turns out", h: func(_ int, w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(a) }, asked: "0-999",
			outcome: Limited, reason: "more than the 2499 bytes", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize = 2499 }},
		{name: "too much in all", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a)(w, r) }, asked: "0-999", outcome: Limited,
			reason: "--max-total", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxTotal = 2499 }},
		{name: "another digest", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "kept as f.bin.mismatch", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].SHA256 = sumOf(a) }},
		{name: "another MD5", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "its MD5 is", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].MD5 = strings.Repeat("0", 32) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i := 0
			s := newSite(t, nil)
			s.h = func(w http.ResponseWriter, r *http.Request) {
				i++
				c.h(i-1, w, r)
			}
			dir := t.TempDir()
			opt, d := options(t, s, dir), datasetOf("http://d.example/f.bin")
			if c.change != nil {
				c.change(&opt, &d)
			}
			if c.outcome == "" {
				c.outcome = Done
			}
			res := get(t, opt, d)
			if len(res) != 1 || res[0].Outcome != c.outcome || !strings.Contains(res[0].Reason, c.reason) {
				t.Fatalf("%+v, want %s: %s", res, c.outcome, c.reason)
			}
			if got := rangesOf(s.take()); got != c.asked {
				t.Errorf("asked for %s, want %s", got, c.asked)
			}
			if c.outcome == Done {
				has(t, dir, res[0].Path, c.body)
				checked(t, dir, 1)
				if res[0].SHA256 != sumOf(c.body) || res[0].Bytes != int64(len(c.body)) {
					t.Errorf("%+v", res[0])
				}
				return
			}
			if _, err := os.Stat(filepath.Join(dir, "f.bin")); err == nil || strings.Contains(entriesOf(t, dir), sumsName) {
				t.Errorf("there are %s", entriesOf(t, dir))
			}
			if res[0].Path != "" {
				if _, err := os.Stat(filepath.Join(dir, res[0].Path)); err != nil {
					t.Error(err)
				}
			} else if got := entriesOf(t, dir); got != "" {
				t.Errorf("there are %s", got)
			}
		})
	}
}

func TestRedirects(t *testing.T) {
	t.Parallel()
	body := bytesOf(2500)
	gone := false
	s := newSite(t, nil)
	s.h = func(w http.ResponseWriter, r *http.Request) {
		to := map[string]string{
			"/moved": "http://k.example/b", "/b": "/c?grant=1", "/loop": "/pool", "/pool": "/loop", "/ftp": "ftp://k.example/x", "/closed": "http://k.example/shut",
			"/1": "/2", "/2": "/3", "/3": "/4", "/4": "/5", "/5": "/6", "/6": "/c", "/none": "",
		}
		switch next, ok := to[r.URL.Path]; {
		case ok:
			w.Header().Set("Location", next)
			w.WriteHeader(307)
		case r.URL.Path == "/c" && gone:
			gone = false
			http.Error(w, "grant is over", 403)
		default:
			if r.Header.Get("Range") == "bytes=0-999" {
				gone = true
			}
			content(`"1"`, body)(w, r)
		}
	}
	s.refuse["http://k.example/shut"] = fmt.Errorf("get: %w: line 2: Disallow: /shut", fetcher.ErrRobots)
	dir := t.TempDir()
	opt := options(t, s, dir)
	res := get(t, opt, datasetOf("http://d.example/moved"))
	if res[0].Outcome != Done || res[0].Path != "moved" {
		t.Fatalf("%+v", res)
	}
	var asked []string
	for _, q := range s.take() {
		asked = append(asked, q.Host+q.Path+" "+q.Range)
	}
	// The grant ran out after the first piece: the way was gone once more, and the file went on.
	if got, want := strings.Join(asked, ", "), "d.example/moved bytes=0-999, k.example/b bytes=0-999, k.example/c?grant=1 bytes=0-999, k.example/c?grant=1 bytes=1000-1999, "+
		"d.example/moved bytes=0-999, k.example/b bytes=0-999, k.example/c?grant=1 bytes=1000-1999, k.example/c?grant=1 bytes=2000-2999"; got != want {
		t.Errorf("asked for %s,\nwant %s", got, want)
	}
	checked(t, dir, 1)
	if p, err := readPackage(dir); err != nil || p.Resources[0].Curtsy.Final != "http://k.example/c?grant=1" || p.Resources[0].Curtsy.URL != "http://d.example/moved" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, c := range []struct {
		url     string
		outcome Outcome
		reason  string
	}{
		{"http://d.example/loop", Failed, "in a circle, to http://d.example/loop"}, {"http://d.example/ftp", Failed, "redirected to \"ftp:"},
		{"http://d.example/closed", Refused, "line 2: Disallow: /shut"}, {"http://d.example/1", Failed, "more than 5 times"},
		{"http://d.example/none", Failed, "to nowhere"}, {"http://d.example/2", Done, ""},
	} {
		gone = false
		if res := get(t, opt, datasetOf(c.url)); res[0].Outcome != c.outcome || !strings.Contains(res[0].Reason, c.reason) {
			t.Errorf("%s: %+v", c.url, res)
		}
	}
}

// A Get that was ended in the middle is gone on with, from what was safe.
func TestResume(t *testing.T) {
	t.Parallel()
	body := bytesOf(5500)
	for _, c := range []struct {
		name  string
		spoil func(t *testing.T, dir string)
		asked string // first
	}{
		{"nothing happened", func(*testing.T, string) {}, `2000-2999?"1"`},
		{"bytes that nobody vouches for", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "f.bin.part"), os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString("rubbish")
			f.Close()
		}, `2000-2999?"1"`},
		{"a part that is shorter than it was", func(t *testing.T, dir string) {
			if err := os.Truncate(filepath.Join(dir, "f.bin.part"), 1500); err != nil {
				t.Fatal(err)
			}
		}, "0-999"},
		{"a part that is another", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "f.bin.part"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteAt([]byte("?"), 700)
			f.Close()
		}, "0-999"},
		{"a part that is gone", func(t *testing.T, dir string) { os.Remove(filepath.Join(dir, "f.bin.part")) }, "0-999"},
		{"half a file on its way to its name", func(t *testing.T, dir string) {
			os.WriteFile(filepath.Join(dir, ".curtsy-1.new"), []byte("{"), 0o600)
		}, `2000-2999?"1"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, content(`"1"`, body))
			dir := t.TempDir()
			opt := options(t, s, dir)
			d := datasetOf("http://d.example/f.bin")
			files, _ := Plan([]crawl.DatasetInfo{d})
			ctx, cancel := context.WithCancel(t.Context())
			stopping := opt
			n := 0
			stopping.Visit = func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
				if n++; n == 3 {
					cancel()
					return ctx.Err()
				}
				return s.visit(ctx, o, do)
			}
			if _, err := Get(ctx, files, stopping); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if got := entriesOf(t, dir); got != "f.bin.part f.bin.part.json" {
				t.Fatalf("there are %s", got)
			}
			s.take()
			c.spoil(t, dir)
			if res := get(t, opt, d); res[0].Outcome != Done || res[0].SHA256 != sumOf(body) {
				t.Fatalf("%+v", res)
			}
			if got := rangesOf(s.take()[:1]); got != c.asked {
				t.Errorf("went on with %s, want %s", got, c.asked)
			}
			checked(t, dir, 1)
		})
	}
}

// Each place between the last byte and the end at which a process may be killed: the next Get, of whatever, puts it in order
// without asking for anything of that file.
func TestKilledAtTheEnd(t *testing.T) {
	t.Parallel()
	body := bytesOf(500)
	for name, undo := range map[string]func(dir string){
		"no state any more": func(string) {},
		"not in the book":   func(dir string) { os.Remove(filepath.Join(dir, packageName)); os.Remove(filepath.Join(dir, sumsName)) },
		"in the sums only":  func(dir string) { os.Remove(filepath.Join(dir, packageName)) },
		"without its name": func(dir string) {
			os.Remove(filepath.Join(dir, packageName))
			os.Rename(filepath.Join(dir, "f.bin"), filepath.Join(dir, "f.bin.part"))
		},
		"not yet said to be done": func(dir string) {
			os.Remove(filepath.Join(dir, packageName))
			os.Rename(filepath.Join(dir, "f.bin"), filepath.Join(dir, "f.bin.part"))
			st, _ := readState(dir, "f.bin")
			st.Done, st.Resource = false, nil
			b, _ := json.Marshal(st)
			os.WriteFile(filepath.Join(dir, "f.bin.part.json"), b, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, content(`"1"`, body))
			dir := t.TempDir()
			opt, d := options(t, s, dir), datasetOf("http://d.example/f.bin")
			get(t, opt, d)
			p, err := readPackage(dir)
			if err != nil {
				t.Fatal(err)
			}
			st := state{URL: d.URLs[0], Final: d.URLs[0], Validator: `"1"`, Length: 500, Written: 500, SHA256: sumOf(body), Done: true, Resource: &p.Resources[0]}
			if name != "no state any more" {
				b, _ := json.Marshal(st)
				if err := os.WriteFile(filepath.Join(dir, "f.bin.part.json"), b, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			undo(dir)
			s.take()
			if res := get(t, opt, d); res[0].Outcome != Had && res[0].Outcome != Done || res[0].SHA256 != sumOf(body) {
				t.Errorf("%+v", res)
			}
			if all := s.take(); len(all) != 0 {
				t.Errorf("asked for %v", all)
			}
			if got := entriesOf(t, dir); got != "SHA256SUMS datapackage.json f.bin" {
				t.Errorf("there are %s", got)
			}
			checked(t, dir, 1)
		})
	}
}

// What stands in the directory already is not touched, and no link is followed out of it.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	s := newSite(t, content(`"1"`, bytesOf(500)))
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	for name, text := range map[string]string{"A.CSV": "mine", "b.csv.part": "mine, too"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"c.csv", "d.csv.part", "e.csv.part.json"} {
		if err := os.Symlink(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	d := datasetOf("http://d.example/a.csv", "http://d.example/b.csv", "http://d.example/c.csv", "http://d.example/d.csv", "http://d.example/e.csv",
		"http://d.example/x/..%2f..%2fetc", "http://d.example/SHA256SUMS", "http://d.example/y.part")
	opt := options(t, s, dir)
	var paths []string
	for _, r := range get(t, opt, d) {
		if r.Outcome != Done {
			t.Errorf("%+v", r)
		}
		paths = append(paths, r.Path)
	}
	if got := strings.Join(paths, " "); got != "a-2.csv b-2.csv c-2.csv d-2.csv e-2.csv _.._etc _SHA256SUMS y.part_" {
		t.Errorf("named %s", got)
	}
	has(t, dir, "A.CSV", []byte("mine"))
	has(t, dir, "b.csv.part", []byte("mine, too"))
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a link was followed")
	}
	// A link in place of a part, after its state was written.
	slow := newSite(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "", 404) })
	dir = t.TempDir()
	st, _ := json.Marshal(state{URL: "http://d.example/f", Length: 9, Validator: `"1"`})
	os.WriteFile(filepath.Join(dir, "f.part.json"), st, 0o644)
	os.WriteFile(outside, []byte("precious"), 0o644)
	os.Symlink(outside, filepath.Join(dir, "f.part"))
	files, _ := Plan([]crawl.DatasetInfo{datasetOf("http://d.example/f")})
	if _, err := Get(t.Context(), files, options(t, slow, dir)); err == nil || !strings.Contains(err.Error(), "no ordinary file") {
		t.Errorf("a link in place of a part: %v", err)
	}
	if b, _ := os.ReadFile(outside); string(b) != "precious" {
		t.Errorf("it was written through: %q", b)
	}
	// Somebody else's package.
	dir = t.TempDir()
	os.WriteFile(filepath.Join(dir, packageName), []byte(`{"name":"x"}`), 0o644)
	if _, err := Get(t.Context(), files, options(t, s, dir)); err == nil || !strings.Contains(err.Error(), "--dir") {
		t.Errorf("somebody else's package: %v", err)
	}
}

func TestHostThatIsNotToBeHad(t *testing.T) {
	t.Parallel()
	s := newSite(t, content(`"1"`, bytesOf(500)))
	opt := options(t, s, t.TempDir())
	opt.MaxWait = 20 * time.Millisecond
	opt.Visit = func(ctx context.Context, o canon.Origin, do func(Getter) error) error {
		if o.Host == "d.example" {
			return s.visit(ctx, o, do)
		}
		<-ctx.Done()
		return ctx.Err()
	}
	res := get(t, opt, datasetOf("http://busy.example/f", "http://d.example/f"))
	if res[0].Outcome != Failed || !strings.Contains(res[0].Reason, "left alone") || res[1].Outcome != Done {
		t.Errorf("%+v", res)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newSite(t, content(`"1"`, bytesOf(500)))
	dir := t.TempDir()
	free, _, err := disk.Space(dir)
	if err != nil {
		t.Fatal(err)
	}
	opt := options(t, s, dir)
	if opt.Floor, err = disk.New(dir, 4*free); err != nil {
		t.Fatal(err)
	}
	if res := get(t, opt, datasetOf("http://d.example/f")); res[0].Outcome != Limited || !strings.Contains(res[0].Reason, "--min-free") {
		t.Errorf("%+v", res)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	closed, place, page := datasetOf("http://d.example/a"), datasetOf("http://d.example/dir/"), datasetOf()
	closed.Allowed, closed.DataTxt, closed.Line = false, "http://d.example/data.txt", 3
	place.Files[0].Directory = true
	page.Page = "http://d.example/about"
	both := datasetOf("http://d.example/b", "http://d.example/b/1.csv")
	both.Files[0].Directory = true
	files, none := Plan([]crawl.DatasetInfo{closed, place, page, datasetOf(), datasetOf("http://d.example/a"), both})
	var why []string
	for _, r := range none {
		if r.Outcome != Refused {
			t.Errorf("%+v", r)
		}
		why = append(why, r.Reason)
	}
	if len(files) != 2 || files[1].URL != "http://d.example/b/1.csv" || !slices.Equal(why, []string{"http://d.example/data.txt line 3 closes it to us", "it is a place under which datasets lie, not a file",
		"no document names a file of it; its page is http://d.example/about", "no document names a file of it"}) {
		t.Errorf("%v, %q", files, why)
	}
}
