package download

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	answers "github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Other files in the directory.
const (
	sumsName       = "SHA256SUMS"
	packageName    = "datapackage.json"
	partSuffix     = ".part"
	stateSuffix    = ".part.json"
	mismatchSuffix = ".mismatch" // a file whose digest differs from the announced one
	// of files that are not data: a lock, and files without their final names
	ownPrefix    = ".curtsy-"
	maxNameBytes = 120 // suffixes and numbers are added, and file systems allow 255
)

// fileName makes a safe name for a file of a dataset from the answer to a request for it: final is
// the URL of the answer and h its header. It is not unique. The name of the answer's
// Content-Disposition comes first, then the end of a URL with an extension, then the name in the
// catalogue. A name without an extension gets that of the type.
func fileName(f *File, final canon.URL, h http.Header) string {
	given, announced, last := disposedName(h), lastSegment(string(f.URL)), lastSegment(string(final))
	named := f.About.Name
	kind := mediaType(answers.ContentType(h))
	ext := usualExt(kind, extensionOf(f.About.MediaType))
	if given != "" && !poor(given) {
		if s := safeName(given); s != "" {
			return s
		}
	}
	for _, s := range []string{announced, last, named, given} {
		if !hasExt(s) || madeBy(s, kind) {
			continue
		}
		if s = safeName(s); s != "" {
			return s
		}
	}
	for _, s := range []string{named, announced, last} {
		if madeBy(s, kind) {
			s = strings.TrimSuffix(s, path.Ext(s))
		}
		if s == "" || poor(s) {
			continue
		}
		if s = safeName(s); s != "" {
			return safeName(s + ext)
		}
	}
	for _, s := range []string{announced, last, given, title(f.Dataset), f.Dataset.ID} {
		if s = safeName(s); s != "" {
			return safeName(s + ext)
		}
	}
	return "data" + ext
}

// usualExt returns the extension for the type of an answer, or for the announced one if the type
// is none or says less: text/plain for a CSV file.
func usualExt(kind, announced string) string {
	ext := extensions[kind]
	switch {
	case announced == "" || ext == "" || kind == "text/plain":
		return cmp.Or(announced, ext)
	case strings.HasSuffix(kind, "/json") && strings.Contains(announced, "json"):
		return announced
	case strings.HasSuffix(kind, "/xml") && announced != ".csv" && !packed[announced]:
		return announced
	case kind == "application/zip" && zipped[announced]:
		return announced
	}
	return ext
}

// madeBy reports whether the extension of a name is that of a program, such as .php, and an answer
// with this media type was made by it.
func madeBy(name, kind string) bool {
	ext := strings.ToLower(path.Ext(name))
	usual := extensions[kind]
	return programs[ext] && usual != "" && kind != "text/plain" && ext != usual && !(usual == ".html" && ext == ".htm")
}

// poorNames are ends of URLs that many files have.
var poorNames = map[string]bool{"content": true, "contents": true, "export": true, "download": true, "downloads": true, "file": true, "files": true, "data": true,
	"datafile": true, "dataset": true, "datasets": true, "get": true, "raw": true, "view": true, "index": true, "default": true, "attachment": true, "blob": true,
	"bitstream": true, "media": true, "resource": true, "distribution": true, "query": true, "records": true, "rows": true, "items": true, "object": true,
	"access": true, "original": true, "full": true, "latest": true, "main": true, "master": true, "unnamed": true, "untitled": true, "null": true,
	"undefined": true, "unknown": true, "response": true, "result": true, "results": true, "document": true, "link": true}

// poor reports whether a name says nothing: a word of the trade, a format, a number, or a long
// number in hexadecimal digits.
func poor(name string) bool {
	low := strings.ToLower(strings.Trim(name, " ._-"))
	return poorNames[low] || formats[low] || !strings.ContainsFunc(low, unicode.IsLetter) ||
		len(low) >= 16 && strings.Trim(low, "0123456789abcdef-") == ""
}

// lastSegment returns the last non-empty segment of a URL's path, decoded.
func lastSegment(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	p := strings.TrimRight(u.EscapedPath(), "/")
	name, err := url.PathUnescape(p[strings.LastIndexByte(p, '/')+1:])
	if err != nil {
		return ""
	}
	return name
}

// safeName makes a file name that is safe on all common systems from an untrusted text. It returns
// "" if nothing remains.
func safeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError, strings.ContainsRune(`/\<>:"|?*`, r), unicode.IsControl(r), !unicode.IsPrint(r) && r != ' ':
			return '_'
		}
		return r
	}, norm.NFC.String(strings.ToValidUTF8(s, "_"))) // some systems spell ü in two ways
	s = shorten(strings.Trim(s, " ."), maxNameBytes) // these are hidden, or removed by some systems
	if strings.Trim(s, "_") == "" {
		return "" // also if only the shortened name has this form
	}
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "~") {
		s = "_" + s // commands would interpret it as an option or a home directory
	}
	if ownSuffix(s) {
		s += "_"
	}
	if reserved(s) {
		s = "_" + s
	}
	return s
}

// ownSuffix reports whether a name ends like our names for incomplete files.
func ownSuffix(s string) bool {
	low := strings.ToLower(s)
	return strings.HasSuffix(low, partSuffix) || strings.HasSuffix(low, stateSuffix) || strings.HasSuffix(low, mismatchSuffix)
}

// shorten shortens a name before its extension.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	base, ext := splitExt(s)
	if len(ext) > n/2 {
		base, ext = s, ""
	}
	base = base[:n-len(ext)]
	for !utf8.ValidString(base) {
		base = base[:len(base)-1]
	}
	return strings.TrimRight(base, " .") + ext
}

// splitExt separates the extension; .tar.gz and similar ones count as one.
func splitExt(s string) (base, ext string) {
	ext = path.Ext(s)
	base = strings.TrimSuffix(s, ext)
	if inner := path.Ext(base); strings.EqualFold(inner, ".tar") {
		base, ext = strings.TrimSuffix(base, inner), inner+ext
	}
	if base == "" {
		return s, ""
	}
	return base, ext
}

// reserved reports whether a name has a special meaning for us or for a system.
func reserved(s string) bool {
	low := strings.ToLower(s)
	if low == strings.ToLower(sumsName) || low == packageName {
		return true
	}
	device, _, _ := strings.Cut(low, ".")
	switch strings.TrimSpace(device) {
	case "con", "prn", "aux", "nul":
		return true
	}
	port := strings.TrimPrefix(strings.TrimPrefix(device, "com"), "lpt")
	return len(device) == 4 && len(port) == 1 && port >= "0" && port <= "9"
}

// names assigns names that are not used yet, ignoring case. The value is the number to try next
// when a name is needed again: lower numbers are used, and no name becomes free again.
type names map[string]int

func (n names) take(name string) string {
	if n.add(name) {
		return name
	}
	low := strings.ToLower(name)
	base, ext := splitExt(name)
	for i := n[low]; ; i++ {
		if s := fmt.Sprintf("%s-%d%s", base, i, ext); n.add(s) {
			n[low] = i + 1
			return s
		}
	}
}

// add uses a name unchanged, and reports whether it was free.
func (n names) add(name string) bool {
	low := strings.ToLower(name)
	if n[low] > 0 {
		return false
	}
	n[low] = 2 // after the name itself comes name-2
	return true
}
