package site

import (
	"fmt"
	"path"
	"strings"
)

// maxEscaped is the longest path, %-encoded, that is announced: no line of a report is
// over 900 bytes (formats §6.4).
const maxEscaped = 860

// names says which paths below the root are announced, and as what. Paths are relative, with
// slashes, "" for the root.
type names struct {
	index  string   // name of index files; "" for none
	ignore []string // patterns as of path.Match, each for one element of a path
}

// DefaultIgnore lists the names that editors, uploads and version control leave behind. Hidden ones
// are ignored in any case.
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
		return false // these speak to robots, and robots ask for them by themselves
	}
	for _, p := range n.ignore {
		if ok, _ := path.Match(p, name); ok {
			return false
		}
	}
	return true
}

// announced reports whether rel, as a file, has a URL that is told to robots.
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

// url is rel's path below the site's base, %-encoded; "" for the index file of the root.
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

// escape spells a path as links in pages do: letters, digits and what RFC 3986 allows in a path
// stay, all else is %XX, byte by byte, since a file name need not be UTF-8. The comma, which
// separates paths in a report, is escaped too (formats §6.4).
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

// key is rel as it stands in the database: with 0, which no file name holds, between its elements.
// Then the keys' order is the one in which a walk meets the files, each directory's names sorted,
// and what is below a directory stands together.
func key(rel string) []byte { return []byte(strings.ReplaceAll(rel, "/", "\x00")) }

func unkey(k []byte) string { return strings.ReplaceAll(string(k), "\x00", "/") }
