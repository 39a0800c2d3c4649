package canon

import (
	"strconv"
	"strings"
)

// String returns the URL as text.
func (u URL) String() string { return string(u) }

// Scheme returns "http" or "https".
func (u URL) Scheme() string {
	switch u.hostStart() {
	case len("http://"):
		return "http"
	case len("https://"):
		return "https"
	}
	return ""
}

// Host returns the host without its port.
func (u URL) Host() Host {
	host, _ := u.hostPort()
	return Host(host)
}

// Port returns the port number, 80 or 443 if the URL names none.
func (u URL) Port() int {
	_, port := u.hostPort()
	return portNumber(port, u.Scheme())
}

// Origin returns scheme, host and explicit port.
func (u URL) Origin() Origin {
	scheme := u.Scheme()
	host, port := u.hostPort()
	return Origin{Scheme: scheme, Host: Host(host), Port: portNumber(port, scheme)}
}

// Root returns the URL of the origin's root, such as https://example.org/.
func (u URL) Root() URL {
	if i := u.pathStart(); i < len(u) {
		return u[:i+1]
	}
	return u
}

// PathQuery returns path and query as they are sent in a request and matched by
// robots.txt, such as "/p?q". It begins with "/".
func (u URL) PathQuery() string { return string(u[u.pathStart():]) }

// Path returns the path, which begins with "/".
func (u URL) Path() string {
	path, _, _ := strings.Cut(u.PathQuery(), "?")
	return path
}

// Query returns the query without its "?", or "".
func (u URL) Query() string {
	_, query, _ := strings.Cut(u.PathQuery(), "?")
	return query
}

// hostStart returns where the host begins, or 0 in a string that is not a URL.
func (u URL) hostStart() int {
	switch {
	case strings.HasPrefix(string(u), "https://"):
		return len("https://")
	case strings.HasPrefix(string(u), "http://"):
		return len("http://")
	}
	return 0
}

// pathStart returns where the path begins, or len(u) in a string that is not a URL.
func (u URL) pathStart() int {
	start := u.hostStart()
	if i := strings.IndexByte(string(u[start:]), '/'); i >= 0 {
		return start + i
	}
	return len(u)
}

func (u URL) hostPort() (host, port string) {
	s := string(u[u.hostStart():])
	if i := strings.IndexByte(s, '/'); i >= 0 {
		s = s[:i]
	}
	i := strings.LastIndexByte(s, ':')
	if i < 0 || s[len(s)-1] == ']' {
		return s, "" // colons inside brackets belong to an IPv6 address
	}
	return s[:i], s[i+1:]
}

// portNumber parses a canonical port: digits only, at most 65535.
func portNumber(port, scheme string) int {
	if port == "" {
		return defaultPort(scheme)
	}
	n, _ := strconv.Atoi(port)
	return n
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
