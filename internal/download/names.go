package download

import (
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/curtsy/curtsy/internal/crawl"
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

// fileName makes a safe name for a file of a dataset from its URL. It is not unique.
func fileName(u canon.URL, f *crawl.DatasetFile, d *crawl.DatasetInfo) string {
	name := lastSegment(string(u))
	if path.Ext(name) == "" && path.Ext(f.Name) != "" {
		name = f.Name // such as /download?id=7, where the dataset calls the file rain.csv
	}
	for _, s := range []string{name, f.Name, d.Name, d.ID} {
		if s = safeName(s); s != "" {
			return s
		}
	}
	return "data"
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
	}, strings.ToValidUTF8(s, "_"))
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
