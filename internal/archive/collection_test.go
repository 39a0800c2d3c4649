package archive

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/warc"
	"github.com/curtsy/curtsy/pkg/canon"
)

// rezipped copies a WACZ file. change returns the new content of each file in it, or nil to leave
// it out.
func rezipped(t *testing.T, path string, method uint16, change func(name string, text []byte) []byte) string {
	t.Helper()
	names, texts, _ := unzip(t, path)
	out := filepath.Join(t.TempDir(), "other.wacz")
	f, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, name := range names {
		text := change(name, texts[name])
		if text == nil {
			continue
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(z.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// A regression: a capture whose time has milliseconds, as other programs write it, was later than
// its own second.
func TestUntilWithMilliseconds(t *testing.T) {
	for until, want := range map[string]bool{
		"": true, "2024": true, "20240101000000": true, "20240101000000123": true, "20240101000000122": false,
		"20240102": true, "20231231235959": false,
	} {
		n := newer{key: "k", limit: limitOf(until)}
		n.look(located{Entry: warc.Entry{Key: "k", Time: "20240101000000123"}})
		if n.found != want {
			t.Errorf("until %q: found %v", until, n.found)
		}
	}
}

// The answers of a directory are also found in the WACZ file made of it, even if the WARC files in
// that were compressed again by others.
func TestCollection(t *testing.T) {
	w, closed := packedWorld(t)
	out := filepath.Join(t.TempDir(), "a.wacz")
	titled := 0
	_, err := Pack(t.Context(), out, closed, Package{Created: time.Now(), TitleOf: func(rec *warc.Record) string {
		titled++
		text, err := io.ReadAll(rec)
		_, body, _ := strings.Cut(string(text), "<p>")
		w.must(err)
		return "of " + body
	}})
	w.must(err)
	_, texts, _ := unzip(t, out)
	if list := string(texts[waczPages]); titled != indexBlock+200 || !strings.Contains(list, `"url":"http://h3.example/3","ts":"2026-11-24T03:00:00Z","title":"of http://h3.example/3"}`) {
		t.Errorf("%d titles", titled)
	}
	same := func(_ string, text []byte) []byte { return text }
	all := func(name string) (lines []string, c *Collection) {
		c, err := OpenCollection(name)
		w.must(err)
		t.Cleanup(func() { c.Close() })
		w.must(c.Entries(func(e warc.Entry) error { lines = append(lines, string(e.Append(nil))); return nil }))
		slices.Sort(lines)
		return lines, c
	}
	wanted, dir := all(w.dir)
	answer := func(c *Collection, u, until string, body bool) string {
		got := ""
		err := c.Find(canon.URL(u).SURT(), until, body, func(rec *warc.Record) error {
			text, err := io.ReadAll(rec)
			got = rec.Type() + " " + string(text)
			return err
		})
		return fmt.Sprint(got, errors.Is(err, fs.ErrNotExist))
	}
	for _, name := range []string{out, rezipped(t, out, zip.Deflate, same)} {
		lines, c := all(name)
		if !slices.Equal(lines, wanted) || len(lines) != indexBlock+202 {
			t.Errorf("%s: %d answers, want %d", name, len(lines), len(wanted))
		}
		for _, q := range []struct {
			u, until string
			body     bool
		}{{"http://h1.example/1", "", true}, {"http://h1.example/1", "", false}, {"http://h1.example/1", "2025", true}, {"http://h0.example/gone", "2026", true}, {"http://h2.example/3000", "", true}} {
			if got, want := answer(c, q.u, q.until, q.body), answer(dir, q.u, q.until, q.body); got != want {
				t.Errorf("%s: %v: %q, want %q", name, q, got, want)
			}
		}
	}
}

// A file that is not a WACZ file, or an index that leads nowhere, is reported as an error.
func TestCollectionDamaged(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"))
	w.close()
	closed, _, err := Files(w.dir)
	w.must(err)
	out := filepath.Join(t.TempDir(), "a.wacz")
	_, err = Pack(t.Context(), out, closed, Package{Created: time.Now()})
	w.must(err)
	without := func(prefix string) string {
		return rezipped(t, out, zip.Store, func(name string, text []byte) []byte {
			if strings.HasPrefix(name, prefix) {
				return nil
			}
			return text
		})
	}
	for _, name := range []string{without(waczArchive), without("indexes/index.cdx")} {
		if _, err := OpenCollection(name); !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	none := filepath.Join(t.TempDir(), "none.wacz")
	w.must(os.WriteFile(none, []byte("PK"), 0o600))
	if _, err := OpenCollection(none); !errors.Is(err, zip.ErrFormat) {
		t.Error(err)
	}
	for what, line := range map[string]string{
		"another file": `{"url": "http://a.example/1", "offset": "0", "length": "9", "filename": "x.warc.gz"}`,
		"its end":      `{"url": "http://a.example/1", "offset": "99999999", "length": "9", "filename": "` + filepath.Base(closed[0]) + `"}`,
		"no record":    `{"url": "http://a.example/1", "offset": "1", "length": "9", "filename": "` + filepath.Base(closed[0]) + `"}`,
	} {
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			c, err := OpenCollection(rezipped(t, out, method, func(name string, text []byte) []byte {
				if name != waczIndex {
					return text
				}
				var packed bytes.Buffer
				z := gzip.NewWriter(&packed)
				io.WriteString(z, canon.URL(a1).SURT()+" 20261124030000 "+line+"\n")
				z.Close()
				return packed.Bytes()
			}))
			w.must(err)
			if err := c.Find(canon.URL(a1).SURT(), "", true, func(*warc.Record) error { return nil }); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: %v", what, err)
			}
			c.Close()
		}
	}
}

// A revisit is replaced by the answer that it refers to, even if that is of another URL, as other
// programs write it, or is not the newest.
func TestCollectionRevisits(t *testing.T) {
	var b bytes.Buffer
	var enc warc.Encoder
	record := func(kind, u string, day int, text string, more ...warc.Field) {
		block := "HTTP/1.1 200 OK\r\n\r\n"
		if kind == warc.Response {
			block += text
		}
		fields := append([]warc.Field{{Name: "WARC-Type", Value: kind}, {Name: "WARC-Record-ID", Value: warc.ID(u, fmt.Sprint(day))}, {Name: "WARC-Target-URI", Value: u},
			{Name: "WARC-Date", Value: fmt.Sprintf("2026-01-%02dT00:00:00Z", day)}, {Name: "WARC-Payload-Digest", Value: warc.Digest([]byte(text))}}, more...)
		if err := enc.Append(&b, fields, warc.Piece{Text: []byte(block)}); err != nil {
			t.Fatal(err)
		}
	}
	refers := func(u string, day int) []warc.Field {
		return []warc.Field{{Name: "WARC-Profile", Value: warc.ProfileIdentical}, {Name: "WARC-Refers-To-Target-URI", Value: u}, {Name: "WARC-Refers-To-Date", Value: fmt.Sprintf("2026-01-%02dT00:00:00Z", day)}}
	}
	const c1 = "http://c.example/"
	record(warc.Response, a1, 1, "one")
	record(warc.Revisit, b1, 2, "one", refers(a1, 1)...)
	record(warc.Response, a1, 3, "other")
	record(warc.Revisit, a1, 4, "one", refers(a1, 1)...)
	record(warc.Revisit, a2, 5, "one", warc.Field{Name: "WARC-Profile", Value: warc.ProfileIdentical})
	record(warc.Response, c1, 6, "at hand")
	record(warc.Revisit, c1, 7, "lost", refers(a1, 7)...)
	record(warc.Revisit, "http://d.example/", 8, "lost", refers(a1, 7)...)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.warc.gz"), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCollection(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []struct{ u, until, want string }{
		{b1, "", "one"}, {a1, "", "one"}, {a1, "20260103", "other"}, {a2, "", "one"}, {a2, "20260104", ""}, {c1, "", "at hand"}, {"http://d.example/", "", ""},
	} {
		got := ""
		err := c.Find(warc.Key(q.u), q.until, true, func(rec *warc.Record) error {
			text, err := io.ReadAll(rec)
			_, got, _ = strings.Cut(string(text), "\r\n\r\n")
			return err
		})
		if got != q.want || (got == "") != errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v: %q, %v", q, got, err)
		}
	}
}
