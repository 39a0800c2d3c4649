package canon

import (
	"strconv"
	"strings"
)

// String returns the URL as text.
func (u URL) String() string { return string(u) }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	switch {
	case strings.HasPrefix(string(u), "https://"):
		return "https"
	case strings.HasPrefix(string(u), "http://"):
		return "http"
	}
	return ""
}

// Host returns the host without its port.
func (u URL) Host() Host {
	h, _ := u.hostPort()
	return Host(h)
}

// Port returns the port number, 80 or 443 when the URL names none.
func (u URL) Port() int {
	if _, p := u.hostPort(); p != "" {
		n, _ := strconv.Atoi(p) // canonical: digits only, at most 65535
		return n
	}
	return defaultPort(u.Scheme())
}

// Origin returns scheme, host and explicit port.
func (u URL) Origin() Origin {
	return Origin{Scheme: u.Scheme(), Host: u.Host(), Port: u.Port()}
}

// Root returns the URL of the origin's root, such as https://example.org/.
func (u URL) Root() URL {
	if u == "" {
		return ""
	}
	return u[:u.pathStart()+1]
}

// PathQuery returns path and query as they are sent in a request and matched by
// robots.txt, such as "/p?q". It begins with "/".
func (u URL) PathQuery() string { return string(u[u.pathStart():]) }

// Path returns the path, which begins with "/".
func (u URL) Path() string {
	p, _, _ := strings.Cut(u.PathQuery(), "?")
	return p
}

// Query returns the query without its "?", or "".
func (u URL) Query() string {
	_, q, _ := strings.Cut(u.PathQuery(), "?")
	return q
}

// authority returns where the host begins.
func (u URL) authority() int {
	if s := u.Scheme(); s != "" {
		return len(s) + len("://")
	}
	return 0
}

// pathStart returns the index of the path's first "/", or len(u) in a URL that is none.
func (u URL) pathStart() int {
	a := u.authority()
	if i := strings.IndexByte(string(u[a:]), '/'); i >= 0 {
		return a + i
	}
	return len(u)
}

func (u URL) hostPort() (host, port string) {
	s := string(u[u.authority():u.pathStart()])
	// A colon inside brackets belongs to an IPv6 address.
	if i := strings.LastIndexByte(s, ':'); i > strings.LastIndexByte(s, ']') {
		return s[:i], s[i+1:]
	}
	return s, ""
}

func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}
