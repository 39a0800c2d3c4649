package canon

import (
	"net/netip"
	"strconv"
	"strings"
)

// endsInNumber reports whether browsers read the last label as part of an IPv4 address: decimal
// digits, or hexadecimal ones after 0x.
func endsInNumber(s string) bool {
	last := s[1+strings.LastIndexByte(s, '.'):]
	if last == "" {
		return false
	}
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		for i := range len(hex) {
			if !is(hex[i], hexByte) {
				return false
			}
		}
		return true
	}
	for i := range len(last) {
		if last[i] < '0' || last[i] > '9' {
			return false
		}
	}
	return true
}

// parseIPv4 reads one to four decimal, octal or hexadecimal numbers. The last one fills the
// remaining bytes.
func parseIPv4(s string) (string, error) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return "", ErrHost
	}
	var addr uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		left := 4 - i // bytes not yet filled
		switch {
		case !ok:
			return "", ErrHost
		case i == len(parts)-1:
			if n >= 1<<(8*left) {
				return "", ErrHost
			}
			addr |= n
		case n > 255:
			return "", ErrHost
		default:
			addr |= n << (8 * (left - 1))
		}
	}
	return netip.AddrFrom4([4]byte{byte(addr >> 24), byte(addr >> 16), byte(addr >> 8), byte(addr)}).String(), nil
}

// parseNumber reads a part of an IPv4 address; "0x" alone is 0.
func parseNumber(s string) (n uint64, ok bool) {
	base := 10
	if hex, found := strings.CutPrefix(s, "0x"); found {
		if hex == "" {
			return 0, true
		}
		s, base = hex, 16
	} else if len(s) > 1 && s[0] == '0' {
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 33)
	return n, err == nil
}

// parseIPv6 reads "[address]" and writes it as the standard requires: the longest run of two or
// more zero groups is compressed, and an embedded IPv4 address is written in hexadecimal. An
// IPv4-mapped address becomes the IPv4 address that a connection to it would reach, because one
// machine must not count as two hosts.
func parseIPv6(s string) (string, error) {
	inner, ok := strings.CutSuffix(s[1:], "]")
	if !ok || strings.Contains(inner, "%") {
		return "", ErrHost // a zone has no meaning on other machines
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() {
		return "", ErrHost
	}
	if addr.Is4In6() {
		return addr.Unmap().String(), nil
	}
	a := addr.As16()
	var group [8]uint16
	best, bestLen := -1, 1
	for i, run := 0, 0; i < 8; i++ {
		group[i] = uint16(a[2*i])<<8 | uint16(a[2*i+1])
		if group[i] != 0 {
			run = 0
		} else if run++; run > bestLen {
			best, bestLen = i-run+1, run
		}
	}
	buf := append(make([]byte, 0, len("[ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]")), '[')
	for i := 0; i < 8; i++ {
		switch {
		case i == best:
			buf = append(buf, ':', ':')
			i += bestLen - 1
			continue
		case i > 0 && buf[len(buf)-1] != ':':
			buf = append(buf, ':')
		}
		buf = strconv.AppendUint(buf, uint64(group[i]), 16)
	}
	return string(append(buf, ']')), nil
}
