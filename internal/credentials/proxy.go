package credentials

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// Proxy is the proxy through which requests are sent.
type Proxy struct {
	Scheme string // "http", "https" or "socks5"
	Addr   string // host:port
	// Resolves: the proxy resolves names, so we do not know to which addresses it connects.
	Resolves bool
	Login    *Login // nil: no credentials are sent to the proxy
}

// String is the address of the proxy, without credentials.
func (p *Proxy) String() string { return p.Scheme + "://" + p.Addr }

// Host is the proxy's name or address, without its port.
func (p *Proxy) Host() string {
	host, _, _ := net.SplitHostPort(p.Addr)
	return host
}

const proxyExample = "use for example http://127.0.0.1:3128 or socks5://127.0.0.1:1080"

// ParseProxy reads the address of a proxy. An error describes what works, and contains no password.
func ParseProxy(raw string) (*Proxy, error) {
	if strings.Contains(raw, "@") {
		return nil, errors.New("contains a user name or password, which anyone who lists processes could see; write them under proxy: in a file for --credentials instead")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return nil, errors.New("is not the address of a proxy; " + proxyExample)
	}
	switch u.Scheme {
	case "http", "https", "socks5":
	case "socks5h":
		return nil, fmt.Errorf("means that the proxy resolves names; use socks5://%s with --proxy-resolves", u.Host)
	default:
		return nil, errors.New("is not a supported kind of proxy; " + proxyExample)
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil || port == 0 || u.Hostname() == "" {
		return nil, errors.New("has no port; " + proxyExample)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("has text after the port; use %s://%s", u.Scheme, u.Host)
	}
	return &Proxy{Scheme: u.Scheme, Addr: net.JoinHostPort(u.Hostname(), u.Port())}, nil
}
