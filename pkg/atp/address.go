package atp

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Address is where agents are accepted: atp://host[:port][/place], or atps:// inside TLS.
type Address struct {
	TLS   bool
	Host  string // in lower case, never empty; an IPv6 address without brackets
	Port  int    // 1 to 65535; the scheme's default if the text has none
	Place string // "" or a path that begins with "/"
}

// ParseAddress parses an address. Scheme and host ignore case. A user, a query or a fragment is an
// error, as nothing could be meant by it.
func ParseAddress(s string) (Address, error) {
	if len(s) > MaxURI {
		return Address{}, fmt.Errorf("%w: an address of more than %d octets", ErrTooLarge, MaxURI)
	}
	u, err := url.Parse(s)
	if err != nil {
		return Address{}, fmt.Errorf("%w: the address cannot be parsed", ErrMalformed)
	}
	a := Address{Host: strings.ToLower(u.Hostname()), Port: Port, Place: u.EscapedPath()}
	switch u.Scheme {
	case "atp":
	case "atps":
		a.TLS, a.Port = true, PortTLS
	default:
		return Address{}, fmt.Errorf("%w: an address begins with atp:// or atps://", ErrMalformed)
	}
	switch {
	case u.User != nil, u.RawQuery != "", u.ForceQuery, u.Fragment != "", strings.HasSuffix(s, "#"):
		return Address{}, fmt.Errorf("%w: an address has no user, query or fragment", ErrMalformed)
	case a.Host == "" || u.Opaque != "":
		return Address{}, fmt.Errorf("%w: the address has no host", ErrMalformed)
	case !validHost(a.Host, strings.HasPrefix(u.Host, "[")):
		return Address{}, fmt.Errorf("%w: the host is neither a name nor an IP address", ErrMalformed)
	}
	if port := u.Port(); port != "" {
		a.Port, err = strconv.Atoi(port)
		if err != nil || a.Port < 1 || a.Port > 65535 {
			return Address{}, fmt.Errorf("%w: a port is a number from 1 to 65535", ErrMalformed)
		}
	}
	return a, nil
}

// validHost accepts what a domain name may consist of, with "_", and in brackets an IPv6 address.
func validHost(host string, brackets bool) bool {
	if brackets {
		a, err := netip.ParseAddr(host)
		return err == nil && a.Is6() && a.Zone() == ""
	}
	for i := range len(host) {
		if c := host[i]; !isAlnum(c) && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

// Scheme is atp or atps.
func (a Address) Scheme() string {
	if a.TLS {
		return "atps"
	}
	return "atp"
}

// HostPort is what a dialer takes.
func (a Address) HostPort() string { return net.JoinHostPort(a.Host, strconv.Itoa(a.Port)) }

// String returns the address as [ParseAddress] reads it, without a port that is the default.
func (a Address) String() string {
	host := a.HostPort()
	if a.Port == Port && !a.TLS || a.Port == PortTLS && a.TLS {
		host = strings.TrimSuffix(host, ":"+strconv.Itoa(a.Port))
	}
	return a.Scheme() + "://" + host + a.Place
}
