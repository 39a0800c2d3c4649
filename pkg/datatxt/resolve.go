package datatxt

import (
	"net/url"
	"path"
	"strings"
)

// resolve makes an absolute URL of a path as written in the file (formats §5.4): RFC 3986 against
// the file's own URL, http and https only, without fragment. problem explains why there is none.
func (f *File) resolve(ref string) (u *url.URL, problem string) {
	ref, _, _ = strings.Cut(strings.Trim(ref, blanks+"\r\n"), "#")
	if ref == "" {
		return nil, "empty"
	}
	if f.base == nil {
		return nil, "there is no URL to resolve against"
	}
	u, err := url.Parse(escape(ref))
	if err != nil {
		return nil, "no URL"
	}
	u = f.base.ResolveReference(u)
	u.Scheme = lower(u.Scheme)
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, "neither http nor https"
	}
	if u.Hostname() == "" {
		return nil, "no host"
	}
	u.Fragment, u.RawFragment = "", ""
	return u, ""
}

// escape %-encodes the characters that may not occur in a URL, mostly spaces. It leaves all other
// characters as they are, and does not change the authority. net/url is no alternative: it refuses
// some of these characters, and decodes others that must stay encoded.
func escape(ref string) string {
	head := ""
	if scheme := schemeOf(ref); strings.HasPrefix(ref[len(scheme):], "//") {
		end := len(ref)
		if i := strings.IndexAny(ref[len(scheme)+2:], "/?"); i >= 0 {
			end = len(scheme) + 2 + i
		}
		head, ref = ref[:end], ref[end:]
	} else if first, _, _ := strings.Cut(ref, "/"); scheme == "" && strings.Contains(first, ":") {
		// "2020-01-01T10:00.csv" has no scheme, but net/url would find one.
		ref = "./" + ref
	}
	var b strings.Builder
	b.WriteString(head)
	for i := range len(ref) {
		switch c := ref[i]; {
		case c == '%' && (i+2 >= len(ref) || unhex(ref[i+1]) < 0 || unhex(ref[i+2]) < 0):
			b.WriteString("%25")
		case c <= ' ' || c >= 0x7F || strings.IndexByte("\"<>[\\]^`{|}", c) >= 0:
			const digits = "0123456789ABCDEF"
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// schemeOf returns a leading scheme with its colon, or "".
func schemeOf(ref string) string {
	for i := range len(ref) {
		switch c := ref[i]; {
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z':
		case i > 0 && ('0' <= c && c <= '9' || c == '+' || c == '-' || c == '.'):
		case i > 0 && c == ':':
			return ref[:i+1]
		default:
			return ""
		}
	}
	return ""
}

// origin returns scheme, host and port; the port is always explicit (formats §0).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
		if lower(u.Scheme) == "http" {
			port = "80"
		}
	}
	host := lower(u.Hostname())
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return lower(u.Scheme) + "://" + host + ":" + port
}

// lastSegment returns the last non-empty segment of a URL's path, decoded. It is the default name
// of a dataset. Only the root has none.
func lastSegment(u *url.URL) string {
	p := strings.TrimRight(u.EscapedPath(), "/")
	name := p[strings.LastIndexByte(p, '/')+1:]
	if decoded, err := url.PathUnescape(name); err == nil && decoded == valid(decoded) {
		return decoded
	}
	return name
}

// hasExtension reports whether the last segment of a path is the name of a file: it has a dot that
// is neither its first nor its last character.
func hasExtension(p string) bool {
	if strings.HasSuffix(p, "/") {
		return false
	}
	ext := path.Ext(p)
	return len(ext) > 1 && len(ext) < len(path.Base(p))
}
