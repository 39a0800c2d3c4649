package canon

import (
	"bytes"
	"strconv"
	"strings"
)

// resolve follows the states of the WHATWG basic URL parser for http and https; b is nil for an
// absolute URL. It handles every input and defines the result.
func resolve(b *Base, ref string) (URL, error) { return resolveAs(b, ref, 0) }

// resolveAs is resolve; with asWritten as form, escapes stay as they are written in ref.
func resolveAs(b *Base, ref string, form byteClass) (URL, error) {
	if b != nil && b.scheme == "" {
		b = nil // the base of the zero URL
	}
	ref = trim(ref)
	long := len(ref) > maxRaw
	if long {
		ref = ref[:maxRaw] // enough to distinguish a data: URL from a long link
	}
	ref = dropTabs(ref)

	scheme, rest, ok := cutScheme(ref)
	switch {
	case !ok && b == nil:
		return "", ErrScheme
	case ok && scheme == "":
		return "", ErrScheme
	case long:
		return "", ErrTooLong
	case !ok:
		return relative(b, ref, form)
	case b != nil && scheme == b.scheme && !strings.HasPrefix(rest, "//"):
		// "http:foo" on an http page is the relative link "foo".
		return relative(b, rest, form)
	}
	return absolute(scheme, rest, form)
}

// relative resolves a link without a scheme: the standard's relative, relative slash and special
// authority states.
func relative(b *Base, ref string, form byteClass) (URL, error) {
	if ref != "" && isSlash(ref[0]) {
		if len(ref) > 1 && isSlash(ref[1]) {
			return absolute(b.scheme, ref, form)
		}
		return finish([]byte(b.url[:b.root]), ref, form)
	}
	ref, _, _ = strings.Cut(ref, "#")
	if ref == "" {
		return b.url, nil
	}
	if ref[0] == '?' {
		return withQuery([]byte(b.url[:b.path]), ref[1:], form)
	}
	path, query, _ := strings.Cut(ref, "?")
	buf := appendPath([]byte(b.url[:b.dir]), b.root, path, form)
	return withQuery(buf, query, form)
}

// absolute parses the part after "scheme:". Any number of slashes, even none, may precede the
// authority.
func absolute(scheme, rest string, form byteClass) (URL, error) {
	rest = strings.TrimLeft(rest, `/\`)
	tail := ""
	if i := strings.IndexAny(rest, `/\?#`); i >= 0 {
		rest, tail = rest[:i], rest[i:]
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 {
		rest = rest[at+1:]
	}
	rawHost, rawPort := splitPort(rest)
	host, err := parseHost(rawHost)
	if err != nil {
		return "", err
	}
	port, err := parsePort(rawPort, scheme)
	if err != nil {
		return "", err
	}
	buf := make([]byte, 0, len(scheme)+len("://:65535/")+len(host)+len(tail))
	buf = append(buf, scheme...)
	buf = append(buf, "://"...)
	buf = append(buf, host...)
	if port != 0 {
		buf = append(buf, ':')
		buf = strconv.AppendInt(buf, int64(port), 10)
	}
	return finish(buf, tail, form)
}

// finish appends path and query to scheme://host[:port].
func finish(buf []byte, tail string, form byteClass) (URL, error) {
	tail, _, _ = strings.Cut(tail, "#")
	path, query, _ := strings.Cut(tail, "?")
	if path != "" {
		path = path[1:] // a slash or a backslash
	}
	root := len(buf)
	return withQuery(appendPath(append(buf, '/'), root, path, form), query, form)
}

func withQuery(buf []byte, query string, form byteClass) (URL, error) {
	if query != "" {
		buf = append(buf, '?')
		buf = appendNormal(buf, query, queryByte|form)
	}
	if len(buf) > MaxLen {
		return "", ErrTooLong
	}
	return URL(buf), nil
}

// appendPath appends segments to a path that begins at buf[root] and ends in "/". It resolves dot
// segments, including escaped ones.
func appendPath(buf []byte, root int, path string, form byteClass) []byte {
	for path != "" {
		n := strings.IndexAny(path, `/\`)
		segment, slash := path, n >= 0
		if slash {
			segment, path = path[:n], path[n+1:]
		} else {
			path = ""
		}
		start := len(buf)
		buf = appendNormal(buf, segment, pathByte|form)
		name := string(buf[start:])
		if form != 0 && len(name) <= len("%2e%2e") {
			name = string(appendNormal(nil, segment, pathByte)) // "%2e." is a dot segment, too
		}
		switch name {
		case ".":
			buf = buf[:start]
		case "..":
			buf = buf[:start]
			if start-1 > root { // otherwise it is the root already
				buf = buf[:bytes.LastIndexByte(buf[:start-1], '/')+1]
			}
		default:
			if slash {
				buf = append(buf, '/')
			}
		}
	}
	return buf
}

// appendNormal appends s with its escapes normalised, and escapes every byte that must not stay
// unescaped in this part of a URL.
func appendNormal(buf []byte, s string, part byteClass) []byte {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && is(s[i+1], hexByte) && is(s[i+2], hexByte):
			if part&asWritten != 0 {
				buf = append(buf, s[i:i+3]...)
				i += 2
				continue
			}
			c = unhex(s[i+1])<<4 | unhex(s[i+2])
			i += 2
			if is(c, unreservedByte) {
				buf = append(buf, c)
			} else {
				buf = appendEscape(buf, c)
			}
		case is(c, part&^asWritten), c == '%' && part&asWritten != 0:
			buf = append(buf, c)
		default:
			buf = appendEscape(buf, c)
		}
	}
	return buf
}

func appendEscape(buf []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(buf, '%', digits[c>>4], digits[c&15])
}

// cutScheme splits "scheme:rest". ok means that there is a scheme; its name is "" if it is neither
// http nor https.
func cutScheme(s string) (scheme, rest string, ok bool) {
	if s == "" || !is(s[0], alphaByte) {
		return "", "", false
	}
	for i := 1; i < len(s); i++ {
		if s[i] == ':' {
			return knownScheme(s[:i]), s[i+1:], true
		}
		if !is(s[i], schemeByte) {
			break
		}
	}
	return "", "", false
}

func knownScheme(s string) string {
	switch {
	case len(s) == 4 && strings.EqualFold(s, "http"):
		return "http"
	case len(s) == 5 && strings.EqualFold(s, "https"):
		return "https"
	}
	return ""
}

// trim removes spaces and control characters at both ends.
func trim(s string) string {
	for s != "" && s[0] <= ' ' {
		s = s[1:]
	}
	for s != "" && s[len(s)-1] <= ' ' {
		s = s[:len(s)-1]
	}
	return s
}

// dropTabs removes tabs and newlines, which HTML authors put inside long links.
func dropTabs(s string) string {
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	buf := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '\t' && c != '\n' && c != '\r' {
			buf = append(buf, c)
		}
	}
	return string(buf)
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }
