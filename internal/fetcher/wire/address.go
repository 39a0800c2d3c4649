package wire

import (
	"fmt"
	"net/netip"
	"os"
	"strings"

	"github.com/curtsy/curtsy/internal/credentials"
)

// Reach is the kind of address that a connection would lead to.
type Reach uint8

const (
	Public Reach = iota // the internet
	// Loopback, private networks, and all else that is not the internet.
	private
	// Never dialled, whatever the configuration is: link-local addresses, metadata services,
	// multicast.
	forbidden
)

// The blocks below are those of the IANA special-purpose registries to which a connection could be
// attempted at all.
var (
	forbiddenBlocks = prefixes(
		"169.254.0.0/16",     // link-local; 169.254.169.254 is the metadata service of clouds
		"fe80::/10",          // link-local
		"fec0::/10",          // site-local, the same before 2004
		"fd00:ec2::254/128",  // AWS metadata
		"fd20:ce::254/128",   // Google Cloud metadata
		"100.100.100.200/32", // Alibaba metadata
		"192.0.0.192/32",     // Oracle metadata
		// Azure's wire server: a public address that always means the host of the own machine
		"168.63.129.16/32",
		"224.0.0.0/4", // multicast
		"ff00::/8",
		"0.0.0.0/32", // unspecified; the kernel connects to this host
		"::/128",
		"255.255.255.255/32", // broadcast
	)
	privateBlocks = prefixes(
		"127.0.0.0/8", "::1/128", // loopback
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
		"100.64.0.0/10",                                     // carriers' NAT
		"fc00::/7",                                          // unique local
		"0.0.0.0/8",                                         // this network
		"192.0.0.0/24",                                      // protocol assignments
		"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", // documentation
		"2001:db8::/32", "3fff::/20",
		"198.18.0.0/15",              // benchmarks
		"192.88.99.0/24",             // 6to4 relays, retired
		"240.0.0.0/4",                // reserved
		"100::/64", "100:0:0:1::/64", // discard, dummy
		"2001::/23", // protocol assignments: Teredo, ORCHID, benchmarks
		"5f00::/16", // segment routing
	)
	// Blocks whose addresses contain an IPv4 address, and at which of the sixteen bytes it begins.
	carriers = []struct {
		block netip.Prefix
		at    int
	}{
		{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible, retired
		{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated (SIIT)
		{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
		// NAT64 of a single network; other prefix lengths are refused below
		{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
		{netip.MustParsePrefix("2002::/16"), 2}, // 6to4
	}
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	unicast6   = netip.MustParsePrefix("2000::/3") // all IPv6 addresses of the internet
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(list ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(list))
	for i, s := range list {
		out[i] = netip.MustParsePrefix(s)
	}
	return out
}

// ReachOf classifies an address. An IPv6 address that contains an IPv4 address has the stricter
// kind of the two.
func ReachOf(a netip.Addr) Reach {
	if !a.IsValid() {
		return forbidden
	}
	a = a.Unmap().WithZone("")
	for _, p := range forbiddenBlocks {
		if p.Contains(a) {
			return forbidden
		}
	}
	r := Public
	for _, p := range privateBlocks {
		if p.Contains(a) {
			r = private
			break
		}
	}
	if !a.Is6() {
		return r
	}
	if !unicast6.Contains(a) && !nat64.Contains(a) || localNAT64.Contains(a) {
		r = private // it is not delegated, so an answer from there is not from the internet
	}
	b := a.As16()
	for _, c := range carriers {
		if c.block.Contains(a) && a != netip.IPv6Loopback() {
			r = max(r, ReachOf(netip.AddrFrom4([4]byte(b[c.at:c.at+4]))))
		}
	}
	return r
}

// addressError says that an address must not be dialled, and which option allows it.
type addressError struct {
	addr netip.Addr
	hint string
}

func (e *addressError) Error() string { return fmt.Sprintf("address %s refused: %s", e.addr, e.hint) }

// guard decides whether an address, which is of kind r, may be dialled. It is called for the
// address to which a socket is about to connect. So it covers redirects, --resolve, and names whose
// addresses change.
func guard(a netip.Addr, r Reach, allowPrivate, contact bool) (isPrivate bool, err error) {
	switch r {
	case Public:
		if !contact {
			return false, &addressError{a, "public sites are crawled only with a contact, so that webmasters can reach you; add --contact you@example.org"}
		}
		return false, nil
	case private:
		if !allowPrivate {
			return true, &addressError{a, "it is loopback, private or reserved; add --allow-private to crawl your own network"}
		}
		return true, nil
	}
	return true, &addressError{a, "Curtsy never connects to link-local, metadata, multicast and broadcast addresses"}
}

// ProxyWord says which environment variables name a proxy, that they are not used, and which option
// uses it. It is empty if there are none. A proxy that was once set for other programs must not
// decide how sites see us.
func ProxyWord() string {
	var set []string
	proxy := ""
	for _, name := range [...]string{"HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"} {
		for _, name := range [...]string{name, strings.ToLower(name)} {
			value := os.Getenv(name)
			if value == "" {
				continue
			}
			set = append(set, name)
			if proxy == "" {
				proxy = proxyArgument(value)
			}
		}
	}
	if len(set) == 0 {
		return ""
	}
	return fmt.Sprintf("%s is set but not used: requests go directly to sites; to use a proxy, add --proxy %s", strings.Join(set, ", "), proxy)
}

// proxyArgument returns the option for a variable's value, which may contain a password.
func proxyArgument(value string) string {
	scheme, rest, ok := strings.Cut(value, "://")
	if !ok {
		scheme, rest = "http", value
	}
	if p, err := credentials.ParseProxy(scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]); err == nil {
		return p.String()
	}
	return "http://HOST:PORT"
}
