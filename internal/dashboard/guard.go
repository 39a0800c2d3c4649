package dashboard

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Limits of what is sent to us. Headers are bounded by the server.
const (
	maxAddress = 8 << 10  // bytes of a path with its query: a URL of a site stands in some
	maxForm    = 64 << 10 // bytes of a form
)

// stranger says why a request is none of ours to answer: it came under a name that is not ours, as
// from a page whose name was made to lead here, or from a page of another origin.
func (w *Web) stranger(r *http.Request) *problem {
	if !w.known(r.Host) {
		return &problem{Status: http.StatusForbidden, Text: "Use an IP address or localhost. Allow other names with --dashboard-hosts NAME."}
	}
	if len(r.URL.Path)+len(r.URL.RawQuery) > maxAddress {
		return &problem{Status: http.StatusRequestURITooLong, Text: "The address is too long."}
	}
	change := r.Method != http.MethodGet && r.Method != http.MethodHead
	if origin := r.Header["Origin"]; len(origin) > 0 {
		if len(origin) != 1 || !sameOrigin(origin[0], r) {
			return &problem{Status: http.StatusForbidden, Text: "The request came from a page of another origin."}
		}
	} else if change && r.URL.Path != mcpPath { // where programs ask by POST, and nothing changes
		return &problem{Status: http.StatusForbidden, Text: "Only pages of this dashboard can change a crawl, and the request has no Origin. Programs use the command curtsy."}
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); {
	case site == "" || site == "same-origin" || site == "none":
	case !change && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document":
		// A link from elsewhere may be followed; nothing of ours may be put into a page of others.
	default:
		return &problem{Status: http.StatusForbidden, Text: "The request came from a page of another site."}
	}
	return nil
}

// known reports whether a Host header names us. Addresses do: no other site can be had by them.
func (w *Web) known(hostport string) bool {
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
	return host == "localhost" || slices.ContainsFunc(w.o.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// sameOrigin reports whether an Origin header is that of the address that is asked. Where we do not
// speak TLS ourselves a proxy before us may.
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.Path != "" || u.User != nil {
		return false
	}
	return strings.EqualFold(u.Host, r.Host) && (u.Scheme == "https" || u.Scheme == "http" && r.TLS == nil)
}
