package written

import (
	"net/url"
	"strings"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Addresses of files are kept as they are written, except for what browsers change according to
// the URL standard (WHATWG): servers may treat %2b and %2B, or %7E and ~, as different. Package
// canon makes one spelling of them where pages are compared.

// MaxAddress is how long an address may be, in bytes.
const MaxAddress = 2048

// Resolve resolves ref against base as browsers do and removes the fragment. It returns "" if the
// result is not an http(s) URL, or contains a user name.
func Resolve(base *url.URL, ref string) string {
	ref = strings.Trim(ref, spacesAndControls)
	if ref == "" || len(ref) > MaxAddress {
		return ""
	}
	if strings.ContainsAny(ref, "\t\n\r") {
		ref = lineEnds.Replace(ref)
	}
	ref, _, _ = strings.Cut(ref, "#")
	rest, query, hasQuery := strings.Cut(ref, "?")
	scheme, host, path := base.Scheme, base.Host, strings.ReplaceAll(rest, `\`, "/")
	if name, after, ok := strings.Cut(path, ":"); ok && isScheme(name) {
		scheme = strings.ToLower(name)
		if path = after; scheme != base.Scheme || strings.HasPrefix(path, "//") {
			path = "//" + strings.TrimLeft(path, "/")
		}
	}
	switch {
	case strings.HasPrefix(path, "//"):
		host, path, _ = strings.Cut(strings.TrimLeft(path, "/"), "/")
		path = "/" + path
	case strings.HasPrefix(path, "/"):
	case path == "":
		if path = base.EscapedPath(); !hasQuery {
			query, hasQuery = base.RawQuery, base.RawQuery != "" || base.ForceQuery
		}
	default:
		before := base.EscapedPath()
		path = before[:strings.LastIndexByte(before, '/')+1] + path
	}
	if scheme != "http" && scheme != "https" || strings.Contains(host, "@") {
		return ""
	}
	root, err := canon.Parse(scheme + "://" + host + "/")
	if err != nil {
		return ""
	}
	site, path := root[:len(root)-1], escaped(withoutDots(path), "\"<>`{}^")
	if hasQuery {
		return string(site) + path + "?" + escaped(query, "\"<>'")
	}
	return string(site) + path
}

// lineEnds removes the characters that are removed anywhere in an address.
var lineEnds = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// spacesAndControls are the characters that are removed at both ends of an address.
const spacesAndControls = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\t\n\x0b\x0c\r\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f "

// isScheme reports whether a text before a colon is the scheme of an address.
func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// withoutDots removes the segments "." and ".." of a path, also if they are escaped.
func withoutDots(path string) string {
	if !strings.Contains(path, "/.") && !strings.Contains(path, "/%2") {
		return path
	}
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	out := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(s), "%2e", ".") {
		case ".":
		case "..":
			out = out[:max(0, len(out)-1)]
		default:
			out = append(out, s)
			continue
		}
		if last {
			out = append(out, "")
		}
	}
	return "/" + strings.Join(out, "/")
}

// escaped escapes spaces, control characters, all bytes beyond ASCII, and the given characters. A
// per cent sign stays, whatever follows it.
func escaped(s, more string) string {
	if !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(more, c) }) {
		return s
	}
	const digits = "0123456789ABCDEF"
	out := make([]byte, 0, len(s)+16)
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte(more, c) >= 0 {
			out = append(out, '%', digits[c>>4], digits[c&15])
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// HasPrefixFold reports whether s begins with a prefix, in any case.
func HasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
