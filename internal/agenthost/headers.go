package agenthost

import (
	"errors"
	"fmt"
	"net/textproto"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/curtsy/curtsy/pkg/robots"
)

// Header is a line that the web server adds to the head of some answers. The files of a document
// root do not show it, so its owner states it.
type Header struct {
	Pattern     string // of paths, as in a rule of robots.txt
	Name, Value string
}

// maxHeader is how many octets an entry may have, and maxHeaders all of them together.
const (
	maxHeader  = 2 << 10
	maxHeaders = maxHead / 2
)

// ParseHeader parses an entry PATTERN NAME: VALUE, such as "/*.pdf$ X-Robots-Tag: noindex".
func ParseHeader(entry string) (Header, error) {
	pattern, line, _ := strings.Cut(strings.Trim(entry, " \t"), " ")
	name, value, ok := strings.Cut(line, ":")
	h := Header{pattern, textproto.CanonicalMIMEHeaderKey(strings.Trim(name, " \t")), strings.Trim(value, " \t")}
	switch {
	case len(entry) > maxHeader:
		return Header{}, fmt.Errorf("it has more than %d octets", maxHeader)
	case !ok || !strings.HasPrefix(pattern, "/") || strings.ContainsAny(pattern, "#\t"):
		return Header{}, fmt.Errorf("%q is not a path, a blank and a header line; use for example %q", entry, "/private/ X-Robots-Tag: noindex")
	case !httpguts.ValidHeaderFieldName(h.Name) || !httpguts.ValidHeaderFieldValue(h.Value) || h.Value == "":
		return Header{}, fmt.Errorf("%q is not a header line; use for example %q", line, "X-Robots-Tag: noindex")
	case slices.Contains([]string{"Status", "Content-Type", "Content-Length", "Last-Modified"}, h.Name):
		return Header{}, fmt.Errorf("agenthost itself states %s; remove this entry", h.Name)
	}
	return h, nil
}

// String returns the entry.
func (h Header) String() string { return h.Pattern + " " + h.line() }

func (h Header) line() string { return h.Name + ": " + h.Value }

// headers are the lines that are added, in the order of the settings. They do not change.
type headers []headerRule

type headerRule struct {
	line  string        // without its LF
	paths *robots.Rules // that close the paths of the pattern
}

func newHeaders(list []Header, origin robots.Origin) (headers, error) {
	var hs headers
	size := 0
	for _, h := range list {
		if size += len(h.line()) + 1; size > maxHeaders {
			return nil, errors.New("the entries of header are too long together")
		}
		// A pattern means what it means in robots.txt, so the same code decides.
		file := robots.Parse([]byte("User-agent: *\nDisallow: " + h.Pattern + "\n"))
		hs = append(hs, headerRule{h.line(), file.Rules("curtsy", origin)})
	}
	return hs, nil
}

// add appends the lines for a path to a head.
func (hs headers) add(head []byte, path string) []byte {
	for _, h := range hs {
		if !h.paths.Match(path).Allowed {
			head = append(append(head, h.line...), '\n')
		}
	}
	return head
}
