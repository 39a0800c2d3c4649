package rdf

import "strings"

// reference is an IRI reference, cut into its parts as in RFC 3986, appendix B.
type reference struct {
	scheme, authority, path, query, fragment string
	hasAuthority, hasQuery, hasFragment      bool
}

func parseReference(s string) (r reference) {
	if i := schemeEnd(s); i > 0 {
		r.scheme, s = s[:i], s[i+1:]
	}
	s, r.fragment, r.hasFragment = strings.Cut(s, "#")
	s, r.query, r.hasQuery = strings.Cut(s, "?")
	if rest, ok := strings.CutPrefix(s, "//"); ok {
		r.hasAuthority = true
		i := strings.IndexByte(rest, '/')
		if i < 0 {
			i = len(rest)
		}
		r.authority, s = rest[:i], rest[i:]
	}
	r.path = s
	return r
}

// schemeEnd returns where the colon after a scheme is, or -1.
func schemeEnd(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == ':' && i > 0:
			return i
		case 'a' <= c|0x20 && c|0x20 <= 'z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		default:
			return -1
		}
	}
	return -1
}

func (r *reference) String() string {
	var b strings.Builder
	if r.scheme != "" {
		b.WriteString(r.scheme + ":")
	}
	if r.hasAuthority {
		b.WriteString("//" + r.authority)
	}
	b.WriteString(r.path)
	if r.hasQuery {
		b.WriteString("?" + r.query)
	}
	if r.hasFragment {
		b.WriteString("#" + r.fragment)
	}
	return b.String()
}

// resolver resolves references against a base, as RFC 3986 §5.2 requires. It changes neither the
// case nor the escapes of an IRI, because two IRIs are the same only if their spellings are.
type resolver struct {
	text string
	base reference
}

func newResolver(base string) resolver {
	return resolver{base, parseReference(base)}
}

func (v *resolver) resolve(ref string) string {
	if schemeEnd(ref) > 0 && !strings.Contains(ref, "/.") {
		return ref
	}
	if v.text == "" && schemeEnd(ref) <= 0 {
		return ref
	}
	r, b := parseReference(ref), &v.base
	switch {
	case r.scheme != "":
		r.path = withoutDots(r.path)
	case r.hasAuthority:
		r.scheme, r.path = b.scheme, withoutDots(r.path)
	case r.path == "":
		r.scheme, r.authority, r.hasAuthority, r.path = b.scheme, b.authority, b.hasAuthority, b.path
		if !r.hasQuery {
			r.query, r.hasQuery = b.query, b.hasQuery
		}
	default:
		if r.path[0] != '/' {
			if b.hasAuthority && b.path == "" {
				r.path = "/" + r.path
			} else {
				r.path = b.path[:strings.LastIndexByte(b.path, '/')+1] + r.path
			}
		}
		r.scheme, r.authority, r.hasAuthority, r.path = b.scheme, b.authority, b.hasAuthority, withoutDots(r.path)
	}
	return r.String()
}

// withoutDots removes the segments "." and ".." of a path (RFC 3986 §5.2.4).
func withoutDots(path string) string {
	if !strings.Contains("/"+path, "/.") || path == "" {
		return path
	}
	segments := strings.Split(path, "/")
	out := segments[:0]
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".", "..":
			if s == ".." && len(out) > 0 && (len(out) > 1 || out[0] != "") {
				out = out[:len(out)-1]
			}
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	joined := strings.Join(out, "/")
	if path[0] == '/' && (joined == "" || joined[0] != '/') {
		joined = "/" + joined
	}
	return joined
}
