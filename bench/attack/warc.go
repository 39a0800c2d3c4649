package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// hostileWARC: an archive from a stranger, whose files claim what is not so. Reading it must end,
// within memory, and show nothing from outside of its directory.
func hostileWARC(ctx context.Context, r *Rig) (Row, error) {
	const secret = "the secret beside the archive"
	const url = "http://www.good.example/"
	const surt = "example,good,www)/"
	pack := func(text []byte) []byte {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(text) // a buffer takes everything
		_ = w.Close()
		return b.Bytes()
	}
	record := func(length string, body []byte) []byte {
		return fmt.Appendf(nil, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:6a5c1c3e-0000-4000-8000-000000000001>\r\n"+
			"WARC-Date: 2026-01-01T00:00:00Z\r\nWARC-Target-URI: %s\r\nContent-Type: application/http;msgtype=response\r\nContent-Length: %s\r\n\r\n%s\r\n\r\n",
			url, length, body)
	}
	page := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nhi")
	controls := []byte("HTTP/1.1 200 OK\r\nContent-Type: text/html\x1b]0;owned\x07\r\n\r\n\x1b[2Jhi")
	hidden := pack(record(fmt.Sprint(len(page)+len(secret)-2), bytes.Replace(page, []byte("hi"), []byte(secret), 1)))
	index := func(file string, offset, length string) []byte {
		return fmt.Appendf(nil, `%s 20260101000000 {"url":"%s","mime":"text/html","status":"200","filename":"%s","offset":"%s","length":"%s"}`+"\n", surt, url, file, offset, length)
	}
	huge := bytes.Repeat([]byte("a"), 1<<20)
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(append(bytes.TrimRight(record("2147483648", nil), "\r\n"), "\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"...))
	for range 2 << 10 {
		_, _ = w.Write(huge)
	}
	_ = w.Close()
	var header bytes.Buffer
	w = gzip.NewWriter(&header)
	_, _ = w.Write([]byte("WARC/1.1\r\nWARC-Type: "))
	for range 1 << 10 {
		_, _ = w.Write(huge)
	}
	_ = w.Close()
	cases := map[string]map[string][]byte{
		"bomb":       {"a.warc.gz": bomb.Bytes()},
		"header":     {"a.warc.gz": header.Bytes()},
		"length":     {"a.warc.gz": pack(record("9223372036854775807", page))},
		"negative":   {"a.warc.gz": pack(record("-1", page))},
		"plain":      {"a.warc": record("9223372036854775807", page)},
		"members":    {"a.warc.gz": bytes.Repeat(pack(nil), 1<<18)},
		"http":       {"a.warc.gz": pack(record(fmt.Sprint(len(page)+64<<20), append([]byte("HTTP/1.1 200 OK\r\nX: "), bytes.Repeat([]byte("y"), 64<<20+len(page)-20)...)))},
		"path":       {"a.warc.gz": pack(record(fmt.Sprint(len(page)), page)), "a.warc.gz.cdxj": index("../secret.warc.gz", "0", fmt.Sprint(len(hidden)))},
		"absolute":   {"a.warc.gz": pack(record(fmt.Sprint(len(page)), page)), "a.warc.gz.cdxj": index(filepath.Join(r.Dir, "secret.warc.gz"), "0", fmt.Sprint(len(hidden)))},
		"offset":     {"a.warc.gz": pack(record(fmt.Sprint(len(page)), page)), "a.warc.gz.cdxj": index("a.warc.gz", "9223372036854775807", "9223372036854775807")},
		"index":      {"a.warc.gz": pack(record(fmt.Sprint(len(page)), page)), "a.warc.gz.cdxj": bytes.Repeat(huge, 256)},
		"last":       {"a.warc.gz.cdxj": bytes.Repeat(huge, 64), "a.warc.gz": []byte("\x1f\x8b")},
		"fieldspoof": {"a.warc.gz": pack(record(fmt.Sprint(len(controls)), controls))},
	}
	if err := os.WriteFile(r.File("secret.warc.gz"), hidden, 0o644); err != nil {
		return Row{}, err
	}
	row := Row{}
	var bad []string
	runs := 0
	for name, files := range cases {
		dir := r.File(name)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return row, err
		}
		for file, text := range files {
			row.Took.Bytes += int64(len(text))
			if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
				return row, err
			}
		}
		for _, args := range [][]string{{"verify", dir}, {"list", dir}, {"cat", dir, url}, {"index", dir}, {"wacz", "--out", r.File(name + ".wacz"), dir}} {
			p, err := r.Start(ctx, name+"-"+args[0], append([]string{"archive"}, args...)...)
			if err != nil {
				return row, err
			}
			code := p.Wait(ctx, 20*time.Second)
			t := p.Stop()
			row.Took.CPU, row.Took.RSS, row.Took.Files = row.Took.CPU+t.CPU, max(row.Took.RSS, t.RSS), max(row.Took.Files, t.Files)
			out := p.Output()
			runs++
			add := func(what string) { bad = append(bad, name+" "+args[0]+" "+what) }
			switch {
			case code == -1:
				add("does not end")
			case strings.Contains(out, "goroutine "):
				add("panics")
			case t.RSS > 300<<20:
				add(fmt.Sprintf("takes %d MB", t.RSS>>20))
			case strings.Contains(out, secret):
				add("shows a file beside the archive")
			case args[0] != "cat" && strings.Contains(out, "\x1b"):
				add("writes control characters")
			}
		}
	}
	row.Good = fmt.Sprintf("%d of %d commands are well", runs-len(bad), runs)
	row.Held, row.Because = len(bad) == 0, strings.Join(bad, "; ")
	return row, nil
}
