package rup

import (
	"errors"
	"net/url"
	"strings"
)

// base is the URLBase of a report, in normal form.
type base struct {
	origin string // scheme://host, and a port unless it is the scheme's default
	dir    string // path that begins and ends with a slash
}

func (b *base) String() string { return b.origin + b.dir }

// parseBase parses a URLBase: an absolute http or https URL, which gets a final slash if it has
// none (formats §6.4).
func parseBase(raw string) (*base, error) {
	scheme, rest := cutScheme(raw)
	if scheme != "http" && scheme != "https" || !strings.HasPrefix(rest, "//") {
		return nil, errors.New("it is not an absolute http or https URL")
	}
	origin, rest, err := cutOrigin(scheme, rest)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxURL {
		return nil, errors.New("it is too long")
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i] // it has no meaning for the position of pages
	}
	dir := cleanPath(escape("/" + strings.TrimPrefix(rest, "/")))
	if !strings.HasSuffix(dir, "/") {
		dir += "/"
	}
	return &base{origin, dir}, nil
}

// resolve makes an absolute URL of a path in a report, or returns why the path is refused: it must
// be below the base (formats §6.4). Blanks and other characters that are not allowed in URLs are
// %-encoded. Encoded dots count as dots, because a program that fetches the URL later may decode
// them, and must not leave the base in this way.
func (b *base) resolve(ref string) (string, error) {
	origin, path := b.origin, ref
	if scheme, rest := cutScheme(ref); scheme != "" {
		if scheme != "http" && scheme != "https" || !strings.HasPrefix(rest, "//") {
			return "", errors.New("it is neither a path nor an http URL")
		}
		var err error
		if origin, path, err = cutOrigin(scheme, rest); err != nil {
			return "", err
		}
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
	} else if strings.HasPrefix(ref, "//") {
		var err error
		scheme, _, _ := strings.Cut(b.origin, ":")
		if origin, path, err = cutOrigin(scheme, ref); err != nil {
			return "", err
		}
		if !strings.HasPrefix(path, "/") {
			path = "/" + path
		}
	}
	path, _, _ = strings.Cut(path, "#")
	path, query, hasQuery := strings.Cut(path, "?")
	if !strings.HasPrefix(path, "/") {
		path = b.dir + path
	}
	path = cleanPath(escape(path))
	if origin != b.origin || !strings.HasPrefix(path, b.dir) {
		return "", errors.New("it is outside URLBase")
	}
	u := origin + path
	if hasQuery {
		u += "?" + escape(query)
	}
	if len(u) > maxURL {
		return "", errors.New("it is too long")
	}
	return u, nil
}

// cutScheme separates a leading scheme in lower case; "" if there is none.
func cutScheme(s string) (scheme, rest string) {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return lower(s[:i]), s[i+1:]
		default:
			return "", s
		}
	}
	return "", s
}

// cutOrigin separates the authority after a scheme, and returns the origin in normal form.
func cutOrigin(scheme, s string) (origin, rest string, err error) {
	s = strings.TrimPrefix(s, "//")
	end := len(s)
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		end = i
	}
	authority := lower(s[:end])
	for i := range len(authority) {
		if c := authority[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("@\\%\"<>^`{|}", c) >= 0 {
			return "", "", errors.New("it is not a plain host name (write an IDN as xn--…)")
		}
	}
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil || u.Hostname() == "" {
		return "", "", errors.New("it has no host")
	}
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && !(scheme == "http" && port == "80") && !(scheme == "https" && port == "443") {
		host += ":" + port
	}
	return scheme + "://" + host, s[end:], nil
}

// escape converts a path or query to normal form: characters that are not allowed in URLs are
// %-encoded, %xx of an unreserved character is decoded, others keep their octet in upper case.
func escape(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	put := func(c byte) {
		const digits = "0123456789ABCDEF"
		b.Write([]byte{'%', digits[c>>4], digits[c&15]})
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '%' && i+2 < len(s) && unhex(s[i+1]) >= 0 && unhex(s[i+2]) >= 0:
			c = byte(unhex(s[i+1])<<4 | unhex(s[i+2]))
			i += 2
			if unreserved(c) {
				b.WriteByte(c)
			} else {
				put(c)
			}
		case c <= ' ' || c >= 0x7F || strings.IndexByte("\"%<>[\\]^`{|}", c) >= 0:
			put(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

// cleanPath removes dot segments from a path that begins with a slash, as in RFC 3986. Empty
// segments are kept.
func cleanPath(path string) string {
	if !strings.Contains(path, "/.") {
		return path
	}
	segments := strings.Split(path[1:], "/")
	kept := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".", "..":
			if s == ".." && len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
			if last {
				kept = append(kept, "")
			}
		default:
			kept = append(kept, s)
		}
	}
	return "/" + strings.Join(kept, "/")
}
