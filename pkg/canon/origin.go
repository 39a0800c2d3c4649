package canon

import (
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Origin identifies a site: robots.txt files, cookies and connections belong to one. It is
// comparable.
type Origin struct {
	Scheme string // "http" or "https"
	Host   Host
	Port   int // explicit: 80 or 443 by default; 0 means the scheme's default
}

// String returns scheme://host, with :port if it is not the scheme's default.
func (o Origin) String() string {
	s := o.Scheme + "://" + string(o.Host)
	if o.Port != 0 && o.Port != defaultPort(o.Scheme) {
		s += ":" + strconv.Itoa(o.Port)
	}
	return s
}

// URL returns the URL of a path and query, such as "/p?q", on the origin. If pathQuery does not
// begin with "/", the error is ErrSyntax; if the host is not canonical, it is ErrHost. Other errors
// are those of Parse.
func (o Origin) URL(pathQuery string) (URL, error) {
	if !strings.HasPrefix(pathQuery, "/") {
		return "", ErrSyntax
	}
	u, err := Parse(o.String() + pathQuery)
	if err != nil {
		return "", err
	}
	if u.Host() != o.Host {
		return "", ErrHost // such as "", "a/b" or "me@a"
	}
	return u, nil
}

// FromParts makes a URL from its parts; port 0 means the scheme's default. Its errors are those of
// Origin.URL.
func FromParts(scheme string, host Host, port int, pathQuery string) (URL, error) {
	return Origin{scheme, host, port}.URL(pathQuery)
}

// Host is a lower-case A-label or an IP literal (IPv6 in brackets), without a port.
type Host string

// ParseHost returns the canonical spelling of a host as people write it, such as "Bücher.example"
// or "[::1]", without scheme and port. The error is ErrHost.
func ParseHost(raw string) (Host, error) {
	h, err := parseHost(raw)
	return Host(h), err
}

// String returns the host as text.
func (h Host) String() string { return string(h) }

// IsIP reports whether the host is an IPv4 or IPv6 literal.
func (h Host) IsIP() bool {
	if strings.HasPrefix(string(h), "[") {
		return true
	}
	// Canonical names never end in a number; such names became IPv4 addresses.
	return endsInNumber(string(h))
}

// Addr returns the address of an IP literal.
func (h Host) Addr() (addr netip.Addr, ok bool) {
	if !h.IsIP() {
		return netip.Addr{}, false
	}
	s := strings.TrimSuffix(strings.TrimPrefix(string(h), "["), "]")
	addr, err := netip.ParseAddr(s)
	return addr, err == nil
}

// IsPublicSuffix reports whether the host is in the public suffix list, so that anybody may have a
// name below it, such as org, co.uk and github.io. A single label that is not in the list, such as
// localhost, is not a public suffix.
func (h Host) IsPublicSuffix() bool {
	if h == "" || h.IsIP() {
		return false
	}
	suffix, icann := publicsuffix.PublicSuffix(string(h))
	return suffix == string(h) && (icann || strings.Contains(suffix, "."))
}

// Registered returns the registered domain by the public suffix list, including its private
// section: example.co.uk for www.example.co.uk, me.github.io for me.github.io. For an IP literal, a
// single label and a public suffix, it is the host itself. It takes about 100 ns and an allocation,
// so loops over links should remember the result.
func (h Host) Registered() string {
	s := string(h)
	if h.IsIP() {
		return s
	}
	suffix, _ := publicsuffix.PublicSuffix(s)
	cut := len(s) - len(suffix) - 1 // the dot before the suffix
	if cut <= 0 {
		return s
	}
	return s[1+strings.LastIndexByte(s[:cut], '.'):]
}
