package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Limits of what clients send. The server limits header fields.
const (
	maxAddress = 8 << 10  // bytes of a path with its query: some contain the URL of a page
	maxForm    = 64 << 10 // bytes of a form
)

// foreign returns why a request is refused before anything else is looked at: because its Host is
// not ours, as when the name of another site was made to resolve to our address, or because a page
// of another origin sent it. asksByPost reports that programs send their questions to this path by
// POST, and nothing changes there.
func (s *Server) foreign(r *http.Request, asksByPost bool) *Problem {
	if !s.known(r.Host) {
		return &Problem{Status: http.StatusForbidden, Text: "Use an IP address or localhost. Allow other names with --dashboard-hosts NAME."}
	}
	if len(r.URL.Path)+len(r.URL.RawQuery) > maxAddress {
		return &Problem{Status: http.StatusRequestURITooLong, Text: "The address is too long."}
	}
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	if origin := r.Header["Origin"]; len(origin) > 0 {
		if len(origin) != 1 || !sameOrigin(origin[0], r) {
			return &Problem{Status: http.StatusForbidden, Text: "The request came from a page of another origin."}
		}
	} else if change && !asksByPost {
		return &Problem{Status: http.StatusForbidden, Text: "Only pages of this dashboard can change a crawl, and the request has no Origin. Programs use the command curtsy."}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "same-origin" || site == "none":
	case !change && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document":
		// A link on another site may lead here, but no page there may embed one of ours.
	default:
		return &Problem{Status: http.StatusForbidden, Text: "The request came from a page of another site."}
	}
	return nil
}

// known reports whether a Host field names us. An IP address always does, because a browser that
// uses it cannot mean another site.
func (s *Server) known(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = hostport
		if inner, ok := strings.CutPrefix(host, "["); ok && strings.HasSuffix(inner, "]") {
			host = strings.TrimSuffix(inner, "]")
		}
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || slices.ContainsFunc(s.o.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// sameOrigin reports whether an Origin field is that of the requested address. If we do not use TLS
// ourselves, a proxy in front of us may.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) && (u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil)
}
