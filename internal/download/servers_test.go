package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/fetcher/visit"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
)

// cutAfter sends the head of an answer and n bytes of the body, and closes the connection.
func cutAfter(w http.ResponseWriter, n int, body []byte) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:n])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// The reactions of servers to a Range, and the results.
func TestServers(t *testing.T) {
	a, b := bytesOf(2500), bytesOf(2600)
	old := time.Date(1999, 12, 31, 23, 0, 0, 0, time.UTC) // an hour before a synctest bubble begins
	n := func(r *http.Request) string { return strings.TrimPrefix(r.Header.Get("Range"), "bytes=") }
	for _, c := range []struct {
		name    string
		h       func(i int, w http.ResponseWriter, r *http.Request) // i: number of the request
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
			asked: "0-999 0-999 0-999 0-999 0-999", outcome: Failed, reason: "restarted 3 times: the server sends no ranges"},
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
		{name: "unknown length", h: func(i int, w http.ResponseWriter, r *http.Request) {
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
		}, asked: "0-999 all", body: []byte{}, change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].Bytes = new(int64) }},
		{name: "shorter pieces", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			var from int
			fmt.Sscanf(n(r), "%d-", &from)
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from+799))
			content(`"1"`, a)(w, r)
		}, asked: `0-999 800-1799?"1" 1600-2599?"1" 2400-3399?"1"`, body: a},
		{name: "tiny ranges", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			var from int
			fmt.Sscanf(n(r), "%d-", &from)
			r.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", from, from))
			content(`"1"`, a)(w, r)
		}, asked: `0-999 1-1000?"1" 2-1001?"1" 3-1002?"1" 4-1003?"1"`, outcome: Failed, reason: "tiny ranges"},
		{name: "another piece", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=5-9")
			content(`"1"`, a)(w, r)
		}, asked: `0-999 all`, outcome: Failed, reason: "wrong range: no range was requested"},
		{name: "a longer piece", h: func(i int, w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Range", "bytes=0-1000")
			content(`"1"`, a)(w, r)
		}, asked: `0-999 all`, outcome: Failed, reason: "wrong range: no range was requested"},
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
		}, asked: "0-999 all", outcome: Failed, reason: "wrong range: Content-Range"},
		{name: "no end", h: func(_ int, w http.ResponseWriter, r *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			buf.WriteString("HTTP/1.0 200 OK\r\n\r\n")
			buf.Write(a)
			buf.Flush()
			conn.Close()
		}, asked: "0-999", outcome: Failed, reason: "does not send its length"},
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
			reason: "2500 bytes is more than --max-size", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize = 2499 }},
		{name: "just not too large", h: func(_ int, w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(a) }, asked: "0-999", body: a,
			change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize, o.MaxTotal = 2500, 2500 }},
		{name: "too large, as it turns out", h: func(_ int, w http.ResponseWriter, r *http.Request) { w.(http.Flusher).Flush(); w.Write(a) }, asked: "0-999",
			outcome: Limited, reason: "larger than the 2499 bytes", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxSize = 2499 }},
		{name: "too much in all", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a)(w, r) }, asked: "0-999", outcome: Limited,
			reason: "--max-total", change: func(o *Options, _ *crawl.DatasetInfo) { o.MaxTotal = 2499 }},
		{name: "another digest", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "stored as f.bin.mismatch", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].SHA256 = sumOf(a) }},
		{name: "another MD5", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "its MD5 is", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].MD5 = strings.Repeat("0", 32) }},
		{name: "another SHA-1", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "its SHA-1 is", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].SHA1 = strings.Repeat("0", 40) }},
		{name: "another SHA-512", h: func(_ int, w http.ResponseWriter, r *http.Request) { content(`"1"`, a[:500])(w, r) }, asked: "0-999", outcome: Failed,
			reason: "its SHA-512 is", change: func(_ *Options, d *crawl.DatasetInfo) { d.Files[0].SHA512 = strings.Repeat("0", 128) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
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
		})
	}
}

func TestRedirects(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytesOf(2500)
		gone := false
		s := newSite(t, nil)
		s.h = func(w http.ResponseWriter, r *http.Request) {
			to := map[string]string{
				"/moved": "http://k.example/b", "/b": "/c?grant=1", "/loop": "/pool", "/pool": "/loop", "/ftp": "ftp://k.example/x", "/closed": "http://k.example/shut",
				"/1": "/2", "/2": "/3", "/3": "/4", "/4": "/5", "/5": "/6", "/6": "/c", "/none": "", "/quiet": "http://k.example/quiet",
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
		s.refuse["http://k.example/shut"] = fmt.Errorf("get: %w: line 2: Disallow: /shut", visit.ErrRobots)
		dir := t.TempDir()
		opt := options(t, s, dir)
		res := get(t, opt, datasetOf("http://d.example/moved"))
		if res[0].Outcome != Done || res[0].Path != "moved.csv" {
			t.Fatalf("%+v", res)
		}
		var asked []string
		for _, q := range s.take() {
			asked = append(asked, q.Host+q.Path+" "+q.Range)
		}
		// The grant expired after the first piece: the redirects were followed again, and the file
		// was continued.
		if got, want := strings.Join(asked, ", "), "d.example/moved bytes=0-999, k.example/b bytes=0-999, k.example/c?grant=1 bytes=0-999, k.example/c?grant=1 bytes=1000-1999, "+
			"d.example/moved bytes=0-999, k.example/b bytes=0-999, k.example/c?grant=1 bytes=1000-1999, k.example/c?grant=1 bytes=2000-2999"; got != want {
			t.Errorf("asked for %s,\nwant %s", got, want)
		}
		checked(t, dir, 1)
		if p, err := readPackage(dir); err != nil || p.Resources[0].Curtsy.Final != "http://k.example/c?grant=1" || p.Resources[0].Curtsy.URL != "http://d.example/moved" {
			t.Errorf("%+v, %v", p, err)
		}
		opt.Closed = func(_ context.Context, u canon.URL) (string, error) {
			switch u {
			case "http://k.example/quiet":
				return "data.txt line 7 closes " + string(u), nil
			case "http://d.example/unknown":
				return "", errors.New("no answer")
			}
			return "", nil
		}
		s.take()
		for _, c := range []struct {
			url     string
			outcome Outcome
			reason  string
		}{
			{"http://d.example/loop", Failed, "in a circle, to http://d.example/loop"}, {"http://d.example/ftp", Failed, "redirected to \"ftp:"},
			{"http://d.example/closed", Refused, "line 2: Disallow: /shut"}, {"http://d.example/1", Failed, "more than 5 times"},
			{"http://d.example/quiet", Refused, "data.txt line 7 closes http://k.example/quiet"}, {"http://d.example/unknown", Failed, "requested: no answer"},
			{"http://d.example/none", Failed, "without a target"}, {"http://d.example/2", Done, ""},
		} {
			gone = false
			if res := get(t, opt, datasetOf(c.url)); res[0].Outcome != c.outcome || !strings.Contains(res[0].Reason, c.reason) {
				t.Errorf("%s: %+v", c.url, res)
			}
		}
		for _, q := range s.take() {
			if q.Host == "k.example" && q.Path == "/quiet" || q.Path == "/unknown" {
				t.Errorf("asked for http://%s%s", q.Host, q.Path)
			}
		}
	})
}

// A slow server is asked for only as much as it can send within Span.
func TestSlowServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		body := bytesOf(12_800)
		s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("ETag", `"1"`)
			http.ServeContent(&slowWriter{w, 1000, func() { time.Sleep(2 * time.Second) }}, r, "", time.Time{}, bytes.NewReader(body))
		})
		opt := options(t, s, t.TempDir())
		opt.Piece, opt.Span = 6400, 10*time.Second
		if res := get(t, opt, datasetOf("http://d.example/f")); res[0].Outcome != Done || res[0].SHA256 != sumOf(body) {
			t.Fatalf("%+v", res)
		}
		// 6,400 bytes take 12 s.
		if got := rangesOf(s.take()); got != `0-6399 6400-11732?"1" 11733-17065?"1"` {
			t.Errorf("asked for %s", got)
		}
		o := &Options{Piece: 6400, Span: 10 * time.Second}
		for _, c := range []struct {
			n    int64
			took time.Duration
			want int64
		}{{6400, 0, 6400}, {6400, 10 * time.Second, 6400}, {6400, 20 * time.Second, 3200}, {640, 10 * time.Second, 640}, {640, 5 * time.Second, 1280}, {1, time.Minute, 50}, {0, 0, 50}} {
			if got := nextPiece(c.n, c.took, o); got != c.want {
				t.Errorf("%d bytes in %v: %d next, want %d", c.n, c.took, got, c.want)
			}
		}
	})
}
