package datatxt

import (
	"slices"
	"strings"
)

// rules are the Allow and Disallow lines of the record that applies to us. The first line in file
// order whose path is a prefix of the subject decides (formats §5.3). To find it without trying all
// of them, they are sorted, and each has the index of the next shorter rule that is a prefix of it.
type rules struct {
	sorted []rule
	own    []string // normal forms of paths that are always allowed
}

type rule struct {
	path   string // in normal form
	allow  bool
	line   int
	order  int // position in the file
	parent int // index of the longest rule that is a proper prefix of it, or -1
	first  int // index of the rule earliest in the file among this one and its parents
}

// Allowed reports whether the record that applies to us allows a path, as it is written in a URL,
// and which line decides; line 0 means that no line does (formats §5.3). A query or fragment is not
// compared. The file's own path, /data.txt and /robots.txt are always allowed, and so is everything
// in the YAML form. The rules apply to fetches of datasets only, and never allow what robots.txt
// forbids.
func (f *File) Allowed(path string) (allowed bool, line int) {
	if f.rules == nil {
		return true, 0
	}
	return f.rules.match(normalPath(path))
}

// newRules sorts rules that are given in file order.
func newRules(list []rule, own ...string) *rules {
	r := &rules{sorted: list}
	for _, path := range own {
		r.own = append(r.own, normalPath(path))
	}
	for i := range list {
		list[i].order = i
	}
	slices.SortStableFunc(list, func(a, b rule) int { return strings.Compare(a.path, b.path) })
	// Of equal paths only the earliest can decide.
	r.sorted = slices.CompactFunc(list, func(a, b rule) bool { return a.path == b.path })
	open := -1 // innermost rule that may be a prefix of the next
	for i := range r.sorted {
		this := &r.sorted[i]
		for open >= 0 && !strings.HasPrefix(this.path, r.sorted[open].path) {
			open = r.sorted[open].parent
		}
		this.parent, this.first = open, i
		if open >= 0 {
			if f := r.sorted[open].first; r.sorted[f].order < this.order {
				this.first = f
			}
		}
		open = i
	}
	return r
}

// match finds the deciding rule. Any rule that is a prefix of the subject is also a prefix of the
// last rule that does not sort after the subject, so it is one of that rule's parents.
func (r *rules) match(subject string) (allowed bool, line int) {
	if slices.Contains(r.own, subject) {
		return true, 0
	}
	i, found := slices.BinarySearchFunc(r.sorted, subject, func(a rule, s string) int { return strings.Compare(a.path, s) })
	if !found {
		i--
	}
	if i < 0 {
		return true, 0
	}
	common := commonPrefix(r.sorted[i].path, subject)
	for i >= 0 && len(r.sorted[i].path) > common {
		i = r.sorted[i].parent
	}
	if i < 0 {
		return true, 0
	}
	first := r.sorted[r.sorted[i].first]
	return first.allow, first.line
}

func commonPrefix(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// normalPath converts a path to octets that are compared by formats §5.3: %xx is decoded, except an
// encoded slash, which differs from "/"; a path without a leading slash gets one; query and
// fragment are cut. An encoded slash becomes two octets that cannot occur otherwise, so that
// prefixes stay prefixes.
func normalPath(path string) string {
	if i := strings.IndexAny(path, "?#"); i >= 0 {
		path = path[:i]
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	if strings.IndexByte(path, '%') < 0 && strings.IndexByte(path, 0xFF) < 0 {
		return path
	}
	b := make([]byte, 0, len(path))
	for i := 0; i < len(path); i++ {
		c := path[i]
		if c == '%' && i+2 < len(path) {
			if hi, lo := unhex(path[i+1]), unhex(path[i+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				i += 2
				if c == '/' {
					b = append(b, 0xFF, '/')
					continue
				}
			}
		}
		b = append(b, c)
		if c == 0xFF {
			b = append(b, 0xFF)
		}
	}
	return string(b)
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
