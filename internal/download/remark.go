package download

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	answers "github.com/curtsy/curtsy/internal/fetcher/answer"
)

// headBytes is how much of a file is read to find out what it is.
const headBytes = 1 << 10

// remark returns why a complete file may not be the announced one, or "". A file with the announced
// digest always is. Sites answer with a login page, a note or nothing, and with status 200.
func (t *transfer) remark() (string, error) {
	p, about := t.p, &t.file.About
	if p.compare(about) == fits {
		return "", nil
	}
	head := make([]byte, headBytes)
	n, err := p.f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return "", err
	}
	var all []string
	switch {
	case about.Bytes != nil && *about.Bytes != p.n:
		all = append(all, fmt.Sprintf("it has %d bytes, not %d as announced", p.n, *about.Bytes))
	case about.BytesAbout != nil && (p.n < *about.BytesAbout/2 || p.n/2 > *about.BytesAbout):
		all = append(all, fmt.Sprintf("it has %d bytes, not about %d as announced", p.n, *about.BytesAbout))
	case p.n == 0 && about.Bytes == nil:
		all = append(all, "it is empty (0 bytes)")
	}
	if why := contradiction(expected(t.file, p.name), head[:n]); p.n > 0 && why != "" {
		all = append(all, why)
	}
	return strings.Join(all, "; "), nil
}

// expected returns the extensions of what a file is announced as, without those of programs.
func expected(f *File, name string) (exts []string) {
	if ext := extensionOf(f.About.MediaType); ext != "" {
		exts = append(exts, ext)
	}
	for _, s := range []string{lastSegment(string(f.URL)), f.About.Name, name} {
		if ext := strings.ToLower(path.Ext(s)); hasExt(s) && !programs[ext] && (len(exts) == 0 || s != name) {
			exts = append(exts, ext)
		}
	}
	return exts
}

// kind is what the first bytes of a file look like.
type kind int

const (
	other kind = iota
	page       // HTML
	xmlText
	jsonText
	plainText
)

// kindOf recognises web pages and the forms of error messages.
func kindOf(head []byte) kind {
	text := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	low := bytes.ToLower(text)
	for bytes.HasPrefix(low, []byte("<!--")) { // a comment may stand before a page
		end := bytes.Index(low, []byte("-->"))
		if end < 0 {
			break
		}
		low = bytes.TrimLeft(low[end+len("-->"):], " \t\r\n")
	}
	switch {
	case len(text) == 0:
		return other
	case bytes.HasPrefix(low, []byte("<!doctype html")), beginsTag(low, "html"), beginsTag(low, "head"), beginsTag(low, "body"):
		return page
	case bytes.HasPrefix(low, []byte("<?xml")):
		if i := bytes.Index(low, []byte("<html")); i >= 0 && beginsTag(low[i:], "html") {
			return page
		}
		return xmlText
	case beginsTag(low, "error"):
		return xmlText
	case text[0] == '{' && (json.Valid(text) || bytes.HasPrefix(bytes.TrimLeft(text[1:], " \t\r\n"), []byte(`"`))):
		return jsonText
	case strings.HasPrefix(answers.Sniff(head), "text/plain"):
		return plainText
	}
	return other
}

// beginsTag reports whether text begins with this tag.
func beginsTag(text []byte, name string) bool {
	rest, ok := bytes.CutPrefix(text, []byte("<"+name))
	return ok && len(rest) > 0 && strings.IndexByte(" \t\r\n/>", rest[0]) >= 0
}

// signatures are the first bytes of files that are not text.
var signatures = map[string][]string{
	".zip": {"PK"}, ".xlsx": {"PK", "\xd0\xcf\x11\xe0"}, ".ods": {"PK"}, ".docx": {"PK"}, ".odt": {"PK"}, ".kmz": {"PK"},
	".gz": {"\x1f\x8b"}, ".tgz": {"\x1f\x8b"}, ".7z": {"7z\xbc\xaf"}, ".bz2": {"BZh"}, ".xz": {"\xfd7zXZ"}, ".zst": {"\x28\xb5\x2f\xfd"}, ".rar": {"Rar!"},
	".parquet": {"PAR1"}, ".nc": {"CDF", "\x89HDF"}, ".h5": {"\x89HDF"}, ".gpkg": {"SQLite"}, ".sqlite": {"SQLite"},
	".png": {"\x89PNG"}, ".jpg": {"\xff\xd8"}, ".jpeg": {"\xff\xd8"}, ".tif": {"II", "MM"}, ".tiff": {"II", "MM"}, ".gif": {"GIF8"}, ".pdf": {"%PDF"},
	".xls": {}, ".doc": {}, ".shp": {}, ".mp3": {}, ".mp4": {}, ".wav": {}, ".webp": {}, ".tar": {},
}

// texts are the extensions of files that may begin like a JSON or XML document, or like a page.
var texts = map[kind][]string{
	page:     {".html", ".htm", ".xhtml", ".md"},
	xmlText:  {".xml", ".rdf", ".gml", ".kml", ".gpx", ".atom", ".svg", ".xhtml", ".html", ".htm", ".xls", ".doc", ".xsd", ".owl", ".rss", ".txt", ".md"},
	jsonText: {".json", ".geojson", ".jsonld", ".ndjson", ".jsonl", ".topojson", ".txt", ".yaml", ".trig", ".ttl", ".md", ".ipynb"},
}

// contradiction returns what the first bytes of a file are, if they cannot belong to a file with
// one of these extensions.
func contradiction(exts []string, head []byte) string {
	if len(exts) == 0 {
		return ""
	}
	is := kindOf(head)
	may := func(ext string) bool {
		begins, binary := signatures[ext]
		if slices.Contains(texts[is], ext) {
			return true
		}
		if binary {
			return is == other || slices.ContainsFunc(begins, func(s string) bool { return bytes.HasPrefix(head, []byte(s)) }) ||
				ext == ".pdf" && bytes.Contains(head, []byte("%PDF")) || is == plainText && len(begins) == 0
		}
		// A format that is not known here may begin with anything but a page.
		known := formats[strings.TrimPrefix(ext, ".")]
		return is == other || is == plainText || is != page && !known
	}
	if slices.ContainsFunc(exts, may) {
		return ""
	}
	came := map[kind]string{page: "an HTML page", xmlText: "XML", jsonText: "JSON", plainText: "text"}[is]
	return fmt.Sprintf("%s came, not %s as announced", came, strings.TrimPrefix(exts[0], "."))
}
