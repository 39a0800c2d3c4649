package answer

import (
	"net/http"
	"strings"

	"github.com/curtsy/curtsy/internal/html"
)

// The media types of pages.
const (
	HTML     = "text/html"
	XHTML    = html.TypeXHTML
	Text     = "text/plain"
	Markdown = html.TypeMarkdown
)

// ContentType returns the value of an answer's Content-Type with its parameters. It is empty if
// there is none, or none that is a media type. If there are several, the last one counts, as in
// browsers (WHATWG Fetch, "extract a MIME type").
func ContentType(h http.Header) (value string) {
	for _, line := range h["Content-Type"] {
		for part := range strings.SplitSeq(line, ",") { // a proxy may have joined two fields
			if MediaType(part) != "" {
				value = strings.TrimSpace(part)
			}
		}
	}
	if unknownTypes[MediaType(value)] {
		return ""
	}
	return value
}

// unknownTypes are the types that stand for "no type" (WHATWG MIME Sniffing §7).
var unknownTypes = map[string]bool{"unknown/unknown": true, "application/unknown": true}

// MediaType returns the type of a Content-Type value, in lower case and without parameters. It is
// empty if the value does not begin with a type.
func MediaType(value string) string {
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, ",")
	value = strings.TrimSpace(value)
	kind, sub, ok := strings.Cut(value, "/")
	if !ok || !isToken(kind) || !isToken(sub) || kind == "*" {
		return ""
	}
	return strings.ToLower(value)
}

// isToken reports whether a word is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// Charset returns the charset parameter of an answer's Content-Type, or an empty string.
func Charset(h http.Header) string {
	_, params, _ := strings.Cut(ContentType(h), ";")
	for p := range strings.SplitSeq(params, ";") {
		if k, value, ok := strings.Cut(p, "="); ok && strings.EqualFold(strings.TrimSpace(k), "charset") {
			return strings.Trim(strings.TrimSpace(value), `"'`)
		}
	}
	return ""
}

// Sniff returns the media type that the first bytes of a body look like, for an answer without a
// Content-Type.
func Sniff(first []byte) string {
	kind := MediaType(http.DetectContentType(first))
	if kind == "text/xml" && strings.Contains(string(first), "http://www.w3.org/1999/xhtml") {
		return XHTML
	}
	return kind
}

// TypeDetail describes the media type for people who ask why a page was refused. If the
// Content-Type was not a type, it says that the bytes decided.
func TypeDetail(h http.Header, kind string) string {
	if written := strings.Join(h["Content-Type"], ", "); written != "" && ContentType(h) == "" {
		return kind + " by its content; its Content-Type is " + Quote(written)
	}
	return kind
}
