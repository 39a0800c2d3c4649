package site

import (
	"fmt"
	"path"
	"strings"
)

// maxEscaped is the longest path that is announced, in bytes of its %-encoded form: no line of a
// report may be longer than 900 bytes (formats §6.4).
const maxEscaped = 860

// names decides which paths below the root are announced, and with which URL. Paths are relative,
// with slashes; "" is the root.
type names struct {
	index  string   // name of index files; "" for none
	ignore []string // patterns as of path.Match, each for one element of a path
}

// DefaultIgnore returns the patterns of temporary files of editors, uploads and version control.
// Hidden files are ignored in any case.
func DefaultIgnore() []string {
	return []string{"*~", "#*#", "*.swp", "*.swx", "*.tmp", "*.bak", "*.part", "*.filepart", "4913", "___jb_tmp___", "___jb_old___", "CVS"}
}

func newNames(index string, ignore []string) (names, error) {
	if strings.ContainsAny(index, "/\x00") {
		return names{}, fmt.Errorf("index file %q: must be a name without a slash, for example index.html", index)
	}
	for _, p := range ignore {
		if _, err := path.Match(p, ""); err != nil || strings.Contains(p, "/") {
			return names{}, fmt.Errorf("ignore pattern %q: must match one name, for example *.tmp", p)
		}
	}
	return names{index, ignore}, nil
}

// element reports whether name, in the directory dir, may be part of an announced path.
func (n names) element(dir, name string) bool {
	if name == "" || name[0] == '.' {
		return false
	}
	if dir == "" && (name == "robots.txt" || name == "rupinfo.txt") {
		return false // these are for robots, which request them without an announcement
	}
	for _, p := range n.ignore {
		if ok, _ := path.Match(p, name); ok {
			return false
		}
	}
	return true
}

// announced reports whether rel, as a file, has a URL that robots may learn.
func (n names) announced(rel string) bool {
	dir := ""
	for rest := rel; ; {
		name, more, deeper := strings.Cut(rest, "/")
		if !n.element(dir, name) {
			return false
		}
		if !deeper {
			return len(escape(rel)) <= maxEscaped
		}
		dir, rest = join(dir, name), more
	}
}

// url returns rel's path below the site's base, %-encoded. It is "" for the index file of the root.
func (n names) url(rel string) string {
	dir, name := split(rel)
	if n.index != "" && name == n.index {
		if dir == "" {
			return ""
		}
		return escape(dir) + "/"
	}
	return escape(rel)
}

// escape encodes a path as links in pages do. It keeps letters, digits and the characters that RFC
// 3986 allows in a path. Every other byte becomes %XX, because a file name need not be UTF-8. The
// comma, which separates paths in a report, is escaped too (formats §6.4).
func escape(rel string) string {
	const keep, hex = "-._~!$&'()*+;=:@/", "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(rel) {
		c := rel[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func split(rel string) (dir, name string) {
	i := strings.LastIndexByte(rel, '/')
	return rel[:max(i, 0)], rel[i+1:]
}

// key returns the database key of rel. It has a zero byte between the elements, which no file name
// contains. The order of the keys is therefore the order of a walk that sorts the names of each
// directory, and the contents of a directory are consecutive.
func key(rel string) []byte { return []byte(strings.ReplaceAll(rel, "/", "\x00")) }

func unkey(k []byte) string { return strings.ReplaceAll(string(k), "\x00", "/") }
