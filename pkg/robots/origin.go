package robots

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// Origin is a web origin (formats §0). Each has its own robots.txt. Origins can be compared with
// ==.
type Origin struct {
	Scheme string // "http" or "https"
	Host   string // lower case; an IDN in its A-label form (xn--…); IPv6 without brackets
	Port   int    // always explicit: 80 or 443 where the URL has none
}

// ParseOrigin returns the origin of an absolute http or https URL; the part after the port, and a
// user name, are ignored. A host name with non-ASCII characters is an error: it must be in the form
// xn--….
func ParseOrigin(raw string) (Origin, error) {
	u, err := url.Parse(raw)
	if err != nil {
		return Origin{}, fmt.Errorf("origin: %w", err)
	}
	o := Origin{Scheme: u.Scheme, Host: lower(u.Hostname())} // url.Parse lower-cases the scheme
	if o.Port = defaultPort(o.Scheme); o.Port == 0 {
		return Origin{}, fmt.Errorf("origin %q: use http://… or https://…", raw)
	}
	if o.Host == "" {
		return Origin{}, fmt.Errorf("origin %q: no host", raw)
	}
	for i := range len(o.Host) {
		if c := o.Host[i]; c <= ' ' || c >= 0x7f || c == '%' {
			return Origin{}, fmt.Errorf("origin %q: host must be ASCII without escapes (an IDN as xn--…)", raw)
		}
	}
	if p := u.Port(); p != "" {
		if o.Port = parsePort(p); o.Port == 0 {
			return Origin{}, fmt.Errorf("origin %q: port must be 1 to 65535", raw)
		}
	}
	return o, nil
}

// String returns the origin as the beginning of a URL, without a default port:
// https://www.example.org, http://[::1]:8080. ParseOrigin can parse it. For the zero Origin it is
// "".
func (o Origin) String() string {
	if o == (Origin{}) {
		return ""
	}
	host := o.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	s := o.Scheme + "://" + host
	if o.Port != defaultPort(o.Scheme) && o.Port != 0 {
		s += ":" + strconv.Itoa(o.Port)
	}
	return s
}

// RobotsURL returns the address of the origin's robots.txt.
func (o Origin) RobotsURL() string { return o.String() + "/robots.txt" }

// defaultPort returns 0 for schemes other than http and https.
func defaultPort(scheme string) int {
	switch scheme {
	case "http":
		return 80
	case "https":
		return 443
	}
	return 0
}

// parsePort returns 0 unless s is a number from 1 to 65535 with one to five digits.
func parsePort(s string) int {
	if s == "" || len(s) > 5 || !allDigits(s) {
		return 0
	}
	n, _ := strconv.Atoi(s)
	if n > 65535 {
		return 0
	}
	return n
}
