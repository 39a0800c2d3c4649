package fair

import (
	"net/netip"
	"slices"
	"strings"
)

// Client is the address of the client that sent a request. remote is the other end of the
// connection, forwarded the values of X-Forwarded-For. If the connection comes from one of the
// proxies, the client is the last forwarded address that does not belong to a proxy: anyone could
// have written the addresses before it. It is the zero Addr if remote is no address.
func Client(proxies []netip.Prefix, remote string, forwarded []string) netip.Addr {
	client := AddrOf(remote)
	if !client.IsValid() || !contain(proxies, client) {
		return client
	}
	addresses := strings.Split(strings.Join(forwarded, ","), ",")
	for _, address := range slices.Backward(addresses) {
		a, err := netip.ParseAddr(strings.TrimSpace(address))
		if err != nil {
			break
		}
		if client = a.Unmap().WithZone(""); !contain(proxies, client) {
			break
		}
	}
	return client
}

func contain(proxies []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(proxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Trusted reports whether a connection comes from one of the proxies.
func Trusted(proxies []netip.Prefix, remote string) bool { return contain(proxies, AddrOf(remote)) }
