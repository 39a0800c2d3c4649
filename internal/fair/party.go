package fair

import (
	"net/netip"

	"github.com/curtsy/curtsy/pkg/canon"
)

// Party is somebody who gets one share: whoever owns a registered domain, or whoever has a block of
// addresses. A stranger can have as many names and ports as it likes, but each domain costs money,
// and so does each block. Parties are comparable. The zero Party is nobody: it has no limit.
type Party struct {
	domain string
	block  netip.Prefix
}

// DomainOf is the party of a host name: its registered domain by the public suffix list. For an IP
// literal it is the block of the address.
func DomainOf(h canon.Host) Party {
	if a, ok := h.Addr(); ok {
		return BlockOf(a)
	}
	if h == "" {
		return Party{}
	}
	return Party{domain: h.Registered()}
}

// Registered is the party of a registered domain that is already known, as DomainOf returns it.
func Registered(domain string) Party { return Party{domain: domain} }

// nat64 is the prefix under which IPv4 addresses are written as IPv6 addresses (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// BlockOf is the party of an address. It is the address itself for IPv4, also if it is written as
// an IPv6 address, and the /64 for IPv6, which is what one customer has.
func BlockOf(a netip.Addr) Party {
	a = a.Unmap().WithZone("")
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return Party{}
	}
	return Party{block: p}
}

// IsZero reports whether the party is nobody.
func (p Party) IsZero() bool { return p == Party{} }

// String returns the registered domain, or the block as an address or a prefix. It is "" for
// nobody.
func (p Party) String() string {
	switch {
	case p.domain != "":
		return p.domain
	case !p.block.IsValid():
		return ""
	case p.block.IsSingleIP():
		return p.block.Addr().String()
	}
	return p.block.String()
}
