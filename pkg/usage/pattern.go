package usage

import "strings"

// maxPattern is the longest pattern that counts, in bytes.
const maxPattern = 8 << 10

// pattern is a path with "*" for any octets and "$" for its end, as in tdmrep.json and RSL. It
// matches every path that begins with it. Both sides are compared with %XX of unreserved characters
// decoded.
type pattern struct {
	text     string
	anchored bool
}

func newPattern(s string) pattern {
	if rest, ok := strings.CutSuffix(s, "$"); ok {
		return pattern{unreserve(rest), true}
	}
	return pattern{unreserve(s), false}
}

// octets determines which of several matching patterns decides.
func (p pattern) octets() int {
	if p.anchored {
		return len(p.text) + 1
	}
	return len(p.text)
}

// match compares a path with query, as unreserve returns it. Each piece between two "*" is searched
// for after the previous one, at the leftmost position, so no backtracking is needed.
func (p pattern) match(s string) bool {
	first, rest, wild := strings.Cut(p.text, "*")
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	if !wild {
		return !p.anchored || s == ""
	}
	for {
		piece, more, again := strings.Cut(rest, "*")
		if !again {
			if p.anchored {
				return strings.HasSuffix(s, piece)
			}
			return strings.Contains(s, piece)
		}
		i := strings.Index(s, piece)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(piece):], more
	}
}

// unreserve decodes %XX of unreserved characters and writes other escapes in upper case.
func unreserve(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '%' || i+2 >= len(s) {
			b = append(b, c)
			continue
		}
		hi, lo := unhex(s[i+1]), unhex(s[i+2])
		if hi < 0 || lo < 0 {
			b = append(b, c)
			continue
		}
		i += 2
		if o := byte(hi<<4 | lo); isUnreserved(o) {
			b = append(b, o)
		} else {
			const digits = "0123456789ABCDEF"
			b = append(b, '%', digits[hi], digits[lo])
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

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '~'
}

// target is the URL that is compared with patterns.
type target struct {
	origin string // scheme://host[:port], without the scheme's default port; "" if unknown
	path   string // with query, unreserved
}

// newTarget accepts an absolute URL, or only a path.
func newTarget(url string) target {
	origin, path := splitURL(url)
	path, _, _ = strings.Cut(path, "#")
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	return target{origin, unreserve(path)}
}

// splitURL splits an absolute http(s) URL before its path; any other text is a path.
func splitURL(url string) (origin, path string) {
	scheme, rest, ok := strings.Cut(url, "://")
	scheme = lower(scheme)
	if !ok || scheme != "http" && scheme != "https" {
		return "", url
	}
	host, path := cutAny(rest, "/?#")
	host = lower(host)
	if port := map[string]string{"http": ":80", "https": ":443"}[scheme]; strings.HasSuffix(host, port) {
		host = strings.TrimSuffix(host, port)
	}
	return scheme + "://" + host, path
}
