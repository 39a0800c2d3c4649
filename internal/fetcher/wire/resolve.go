package wire

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// ResolveMap is the value of --resolve: names that lead to a given address instead of that in DNS.
// The guard also applies to this address.
type ResolveMap struct {
	exact    map[string]mapping
	suffixes []suffixMapping // the longest first, so that the first match is the closest
}

type mapping struct {
	addr netip.Addr
	port uint16 // 0: that of the URL
}

type suffixMapping struct {
	suffix string // with its leading dot
	mapping
}

// ParseResolve reads HOST=ADDR[:PORT] and *.NAME=ADDR[:PORT], which is for NAME and all names below
// it. An IPv6 address with a port is in brackets.
func ParseResolve(list []string) (ResolveMap, error) {
	m := ResolveMap{exact: make(map[string]mapping)}
	for _, s := range list {
		host, target, ok := strings.Cut(s, "=")
		host = strings.ToLower(strings.TrimSpace(host))
		if host != "*." {
			host = strings.TrimSuffix(host, ".")
		}
		to, err := parseMapping(strings.TrimSpace(target))
		if !ok || host == "" || err != nil {
			return m, fmt.Errorf("resolve %q: use HOST=ADDRESS, for example www.example.org=127.0.0.1:8080 or *.example.org=[::1]:8080", s)
		}
		if suffix, ok := strings.CutPrefix(host, "*"); ok {
			if suffix == "." || suffix != "" && suffix[0] != '.' { // "*" alone maps every name
				return m, fmt.Errorf("resolve %q: a * stands for whole labels, as in *.example.org", s)
			}
			m.suffixes = append(m.suffixes, suffixMapping{suffix, to})
			continue
		}
		m.exact[host] = to
	}
	slices.SortStableFunc(m.suffixes, func(a, b suffixMapping) int { return len(b.suffix) - len(a.suffix) })
	return m, nil
}

func parseMapping(s string) (mapping, error) {
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return mapping{ap.Addr(), ap.Port()}, nil
	}
	a, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"))
	return mapping{addr: a}, err
}

// target returns what to dial for host:port.
func (m *ResolveMap) target(hostport string) string {
	if len(m.exact) == 0 && len(m.suffixes) == 0 {
		return hostport
	}
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return hostport
	}
	to, ok := m.exact[host]
	for i := 0; i < len(m.suffixes) && !ok; i++ {
		if suffix := m.suffixes[i].suffix; strings.HasSuffix(host, suffix) && len(host) > len(suffix) || len(suffix) > 0 && host == suffix[1:] {
			to, ok = m.suffixes[i].mapping, true
		}
	}
	if !ok {
		return hostport
	}
	if to.port != 0 {
		port = strconv.Itoa(int(to.port))
	}
	return net.JoinHostPort(to.addr.String(), port)
}
