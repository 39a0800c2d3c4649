package archive

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/warc"
)

// unzip reads a ZIP file, and the compression method of each file in it.
func unzip(t *testing.T, path string) (names []string, texts map[string][]byte, methods map[string]uint16) {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	texts, methods = map[string][]byte{}, map[string]uint16{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if texts[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		names, methods[f.Name] = append(names, f.Name), f.Method
	}
	return names, texts, methods
}

// packedWorld is an archive of several files, with more answers than one member of an index has.
func packedWorld(t *testing.T) (w *world, closed []string) {
	w = newWorld(t)
	w.archive.o.MaxFile = 1 << 20
	for from := 0; from < indexBlock+100; from += 200 {
		var batch []pages.Page
		for i := from; i < from+200; i++ {
			u := fmt.Sprintf("http://h%d.example/%d", i%7, i)
			batch = append(batch, page(u, 1, "<p>"+u))
		}
		w.put(batch...)
	}
	w.put(alone("http://h0.example/gone", 1, 1, "HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\n\r\ngone"), page("http://h1.example/1", 2, "<p>http://h1.example/1"))
	w.must(w.archive.Close())
	closed, _, err := Files(w.dir)
	w.must(err)
	if len(closed) < 3 {
		t.Fatalf("%d files", len(closed))
	}
	return w, closed
}

// WACZ 1.1.1, read without any code of this package: WARC files are stored uncompressed; the
// manifest has the size and digest of each file except two, and a digest of its own; the index is
// sorted, its summary has the positions of its members, and its lines lead to complete records of
// their URLs; there is a list of the pages.
func TestWACZ(t *testing.T) {
	w, closed := packedWorld(t)
	out := filepath.Join(t.TempDir(), "a.wacz")
	created := time.Date(2026, 11, 25, 3, 0, 0, 5, time.UTC)
	packed, err := Pack(t.Context(), out, closed, Package{Title: "Docs", Software: "test", Created: created})
	w.must(err)
	names, texts, methods := unzip(t, out)

	var about struct {
		Profile, Title, Created string
		Version                 string `json:"wacz_version"`
		Resources               []struct {
			Name, Path, Hash string
			Bytes            int
		}
	}
	w.must(json.Unmarshal(texts["datapackage.json"], &about))
	if about.Profile != "data-package" || about.Version != "1.1.1" || about.Title != "Docs" || about.Created != "2026-11-25T03:00:00Z" {
		t.Errorf("%+v", about)
	}
	digest := func(b []byte) string { s := sha256.Sum256(b); return "sha256:" + hex.EncodeToString(s[:]) }
	listed := map[string]bool{}
	for _, r := range about.Resources {
		if text, ok := texts[r.Path]; !ok || listed[r.Path] || r.Hash != digest(text) || r.Bytes != len(text) || r.Name == "" || r.Name != strings.ToLower(r.Name) {
			t.Errorf("%+v", r)
		}
		listed[r.Path] = true
	}
	for _, n := range names {
		if !listed[n] && n != "datapackage.json" && n != "datapackage-digest.json" {
			t.Errorf("%s is not named", n)
		}
	}
	var beside struct{ Path, Hash string }
	w.must(json.Unmarshal(texts["datapackage-digest.json"], &beside))
	if beside.Path != "datapackage.json" || beside.Hash != digest(texts["datapackage.json"]) {
		t.Errorf("%+v", beside)
	}
	for _, path := range closed {
		name := "archive/" + filepath.Base(path)
		if text, err := os.ReadFile(path); err != nil || !bytes.Equal(text, texts[name]) || methods[name] != zip.Store {
			t.Errorf("%s is another, or compressed (%v)", name, err)
		}
	}

	summary := strings.Split(strings.TrimSpace(string(texts["indexes/index.idx"])), "\n")
	if summary[0] != `!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}` || len(summary) != 1+2 || methods["indexes/index.cdx.gz"] != zip.Store {
		t.Errorf("%q", summary)
	}
	var lines []string
	end := 0
	for _, s := range summary[1:] {
		var at struct{ Offset, Length int }
		w.must(json.Unmarshal([]byte(s[strings.IndexByte(s, '{'):]), &at))
		text := gunzip(t, texts["indexes/index.cdx.gz"][at.Offset:at.Offset+at.Length])
		if at.Offset != end || !strings.HasPrefix(text, s[:strings.IndexByte(s, '{')]) {
			t.Errorf("%q begins with %.80q", s, text)
		}
		end = at.Offset + at.Length
		lines = append(lines, strings.Split(strings.TrimSpace(text), "\n")...)
	}
	if end != len(texts["indexes/index.cdx.gz"]) || !slices.IsSorted(lines) || len(lines) != packed.Answers || len(lines) != indexBlock+202 {
		t.Errorf("%d lines, %+v, %d of %d bytes", len(lines), packed, end, len(texts["indexes/index.cdx.gz"]))
	}
	for i, l := range lines {
		if i%50 > 0 && i < len(lines)-50 {
			continue // a sample is enough
		}
		var e struct {
			URL, Filename  string
			Offset, Length int `json:",string"`
		}
		w.must(json.Unmarshal([]byte(l[strings.IndexByte(l, '{'):]), &e))
		rec := gunzip(t, texts["archive/"+e.Filename][e.Offset:e.Offset+e.Length])
		if !strings.HasPrefix(rec, "WARC/1.1\r\n") || !strings.Contains(rec, "WARC-Target-URI: "+e.URL+"\r\n") || !strings.HasSuffix(rec, "\r\n\r\n") {
			t.Errorf("%s leads to %.200q", l, rec)
		}
	}

	list := bufio.NewScanner(bytes.NewReader(texts["pages/pages.jsonl"]))
	n, ids := 0, map[string]bool{}
	for ; list.Scan(); n++ {
		var p struct{ Format, ID, URL, TS string }
		w.must(json.Unmarshal(list.Bytes(), &p))
		if n == 0 && p.Format != "json-pages-1.0" || n > 0 && (ids[p.ID] || p.TS != "2026-11-24T03:00:00Z" || !strings.HasPrefix(p.URL, "http://h")) {
			t.Errorf("%s", list.Bytes())
		}
		ids[p.ID] = true
	}
	if n-1 != packed.Pages || packed.Pages != indexBlock+200 || packed.Files != len(closed) {
		t.Errorf("%d lines, %+v", n, packed)
	}
	if v, err := VerifyWACZ(out); err != nil || len(v.Problems) > 0 || v.Answers != packed.Answers || v.Records <= v.Answers {
		t.Errorf("%+v, %v", v, err)
	}
	// An existing file is not overwritten, and an aborted file does not exist.
	if _, err := Pack(t.Context(), out, closed, Package{}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Pack(over, filepath.Join(filepath.Dir(out), "b.wacz"), closed, Package{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(out)); len(left) != 1 || err != nil {
		t.Errorf("%q, %v", left, err)
	}
}

func gunzip(t *testing.T, b []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	z.Multistream(false) // exactly one member
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every change of a WACZ file is found: a changed, missing or additional file, an index that leads
// elsewhere, another manifest.
func TestVerifyWACZ(t *testing.T) {
	w := newWorld(t)
	w.put(page(a1, 1, "one"), page(a2, 1, "two"))
	w.must(w.archive.Close())
	closed, _, err := Files(w.dir)
	w.must(err)
	out := filepath.Join(t.TempDir(), "a.wacz")
	_, err = Pack(t.Context(), out, closed, Package{})
	w.must(err)
	names, texts, _ := unzip(t, out)
	warcName := "archive/" + filepath.Base(closed[0])
	again := func(change func(texts map[string][]byte)) []string {
		t.Helper()
		texts := func() map[string][]byte {
			m := map[string][]byte{}
			for k, v := range texts {
				m[k] = bytes.Clone(v)
			}
			return m
		}()
		change(texts)
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, n := range append(slices.Clone(names), "more.txt") {
			if text, ok := texts[n]; ok {
				f, err := z.CreateHeader(&zip.FileHeader{Name: n, Method: zip.Store})
				w.must(err)
				f.Write(text)
			}
		}
		w.must(z.Close())
		path := filepath.Join(t.TempDir(), "b.wacz")
		w.must(os.WriteFile(path, b.Bytes(), 0o600))
		v, err := VerifyWACZ(path)
		w.must(err)
		return v.Problems
	}
	if p := again(func(map[string][]byte) {}); len(p) > 0 {
		t.Errorf("unchanged: %q", p)
	}
	replace := func(name, old, new string) func(map[string][]byte) {
		return func(texts map[string][]byte) {
			changed := strings.Replace(string(texts[name]), old, new, 1)
			if changed == string(texts[name]) {
				t.Errorf("%s does not hold %q", name, old)
			}
			texts[name] = []byte(changed)
		}
	}
	// undigested takes a digest out of the manifest, and makes the manifest's own digest fit.
	undigested := func(m map[string][]byte, hash string) {
		digest := func() string { s := sha256.Sum256(m[waczManifest]); return hex.EncodeToString(s[:]) }
		before := digest()
		m[waczManifest] = []byte(strings.Replace(string(m[waczManifest]), hash, `"hash": ""`, 1))
		m[waczDigest] = []byte(strings.Replace(string(m[waczDigest]), before, digest(), 1))
	}
	hashOf := regexp.MustCompile(`"hash": "[^"]+"`)
	for what, change := range map[string]func(map[string][]byte){
		"a byte of a record":    func(m map[string][]byte) { m[warcName][len(m[warcName])/2] ^= 1 },
		"half of a WARC file":   func(m map[string][]byte) { m[warcName] = m[warcName][:len(m[warcName])/2] },
		"no WARC file":          func(m map[string][]byte) { delete(m, warcName) },
		"no pages":              func(m map[string][]byte) { delete(m, waczPages) },
		"no manifest":           func(m map[string][]byte) { delete(m, waczManifest) },
		"no JSON":               func(m map[string][]byte) { m[waczManifest] = []byte("{") },
		"a digest of it":        replace(waczDigest, "sha256:", "sha256:0"),
		"another title":         replace(waczManifest, `"software": ""`, `"software": "x"`),
		"a file more":           func(m map[string][]byte) { m["more.txt"] = []byte("x") },
		"an index elsewhere":    func(m map[string][]byte) { m[waczIndex] = []byte("x") },
		"a page that is none":   replace(waczPages, "a.example", "b.example"),
		"no digest":             func(m map[string][]byte) { undigested(m, hashOf.FindString(string(m[waczManifest]))) },
		"no such thing as this": replace(waczManifest, "data-package", "data-packagf"),
	} {
		if p := again(change); len(p) == 0 {
			t.Errorf("%s is not found", what)
		}
	}
	// The digest of the index is correct, but its lines lead elsewhere.
	if p := again(func(m map[string][]byte) {
		index := strings.Replace(gunzip(t, m[waczIndex]), `"offset":"`, `"offset":"1`, 1)
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, index)
		z.Close()
		old := m[waczIndex]
		m[waczIndex] = b.Bytes()
		hex := func(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }
		text := strings.Replace(string(m[waczManifest]), hex(old), hex(b.Bytes()), 1)
		text = strings.Replace(text, fmt.Sprintf(`"bytes": %d`, len(old)), fmt.Sprintf(`"bytes": %d`, b.Len()), 1)
		m[waczDigest] = []byte(strings.Replace(string(m[waczDigest]), hex(m[waczManifest]), hex([]byte(text)), 1))
		m[waczManifest] = []byte(text)
	}); len(p) != 1 || !strings.HasPrefix(p[0], "its index does not list its 2 responses") {
		t.Errorf("%q", p)
	}
	if _, err := VerifyWACZ(closed[0]); err == nil {
		t.Error("a WARC file is a WACZ file")
	}
}

// A regression: the index of files without an answer was no gzip file. So the packed file could
// neither be verified nor opened.
func TestPackWithoutAnswers(t *testing.T) {
	dir := t.TempDir()
	const info = "WARC/1.1\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:uuid:1>\r\n" +
		"WARC-Date: 2026-11-24T03:00:00Z\r\nContent-Length: 0\r\n\r\n\r\n\r\n"
	path, out := filepath.Join(dir, "a.warc"), filepath.Join(dir, "a.wacz")
	if err := os.WriteFile(path, []byte(info), 0o600); err != nil {
		t.Fatal(err)
	}
	if packed, err := Pack(t.Context(), out, []string{path}, Package{}); err != nil || packed != (Packed{Files: 1}) {
		t.Fatalf("%+v, %v", packed, err)
	}
	if v, err := VerifyWACZ(out); err != nil || len(v.Problems) > 0 || v.Records != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	c, err := OpenCollection(out)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Entries(func(e warc.Entry) error { return errors.New(e.URL) }); err != nil {
		t.Error(err)
	}
}

// Digests of other programs are read, and those that we cannot read are not reported as wrong.
func TestIsDigest(t *testing.T) {
	for labelled, want := range map[string]bool{
		"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2N": true, "sha1:aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d": true, "SHA-1:AAF4C61DDCC5E8A2DABEDE0F3B482CD9AEA9434D": true,
		"sha1:VL2MMHO4YXUKFWV63YHTWSBM3GXKSQ2M": false, "sha1:": false, "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824": true,
		"sha256:FTZE3OS7WCRQ4JXIHMVMLOPCTYNRMHS4D6TUEXTTAQZWFE4LTASA====": true, "sha256:2cf24dba": false, "whirlpool:x": true, "": true,
	} {
		if got := isDigest(labelled, []byte("hello")); got != want {
			t.Errorf("%s: %v", labelled, got)
		}
	}
}
