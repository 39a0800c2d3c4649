package canon

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // bytes of a name, by DNS
	maxLabel = 63
)

// otherDots are what IDNA reads as dots between labels.
const otherDots = "\u3002\uff0e\uff61"

// names maps and validates internationalised names as the URL standard asks; signs and
// lengths are validName's affair. CheckHyphens stands after ValidateLabels, which would
// set it.
var names = idna.New(
	idna.MapForLookup(),
	idna.BidiRule(),
	idna.ValidateLabels(true),
	idna.CheckHyphens(false),
	idna.CheckJoiners(true),
	idna.StrictDomainName(false),
	idna.VerifyDNSLength(false),
	idna.Transitional(false),
)

// splitPort splits host:port at the first colon outside brackets.
func splitPort(s string) (host, port string) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ':':
			if !inside {
				return s[:i], s[i+1:]
			}
		}
	}
	return s, ""
}

// parsePort returns 0 for no port or the scheme's default.
func parsePort(s, scheme string) (int, error) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, ErrSyntax
		}
		if n = n*10 + int(s[i]-'0'); n > 65535 {
			return 0, ErrSyntax
		}
	}
	if s != "" && n == 0 {
		return 0, ErrSyntax
	}
	if n == defaultPort(scheme) {
		return 0, nil
	}
	return n, nil
}

// parseHost is the standard's host parser for special schemes, and refuses names that
// DNS cannot carry.
func parseHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		return parseIPv6(s)
	}
	s = unescape(s)
	if !utf8.ValidString(s) {
		return "", ErrHost
	}
	s, err := toASCII(s)
	if err != nil {
		return "", err
	}
	s = strings.TrimSuffix(s, ".")
	if !validName(s) {
		return "", ErrHost
	}
	if endsInNumber(s) {
		return parseIPv4(s)
	}
	return s, nil
}

// toASCII lower-cases an ASCII name and maps any other to its A-labels.
func toASCII(s string) (string, error) {
	ascii := true
	for i := range len(s) {
		ascii = ascii && s[i] < utf8.RuneSelf
	}
	if ascii {
		s = strings.ToLower(s)
		if !strings.HasPrefix(s, "xn--") && !strings.Contains(s, ".xn--") {
			return s, nil // the standard: IDNA changes nothing else here
		}
	}
	a, err := names.ToASCII(s)
	if err != nil {
		return "", ErrHost
	}
	// A label that maps to nothing ("xn--") must not pass for a final dot, and a mapping
	// that does not settle would give a URL two spellings.
	if strings.HasSuffix(a, ".") && !strings.HasSuffix(s, ".") && !strings.ContainsRune(otherDots, lastRune(s)) {
		return "", ErrHost
	}
	if again, err := names.ToASCII(a); err != nil || again != a {
		return "", ErrHost
	}
	return a, nil
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// validName reports whether DNS can carry a name: labels of 1 to 63 letters, digits,
// hyphens or underscores (underscores are no host names by the book, but they exist).
func validName(s string) bool {
	if len(s) > maxHost {
		return false
	}
	label := 0
	for i := range len(s) {
		switch {
		case s[i] == '.':
			if label == 0 {
				return false
			}
			label = 0
		case !is(s[i], hostByte):
			return false
		default:
			if label++; label > maxLabel {
				return false
			}
		}
	}
	return label > 0
}

// endsInNumber reports whether the last label is one that browsers read as part of an
// IPv4 address: decimal digits, or hexadecimal ones after 0x.
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

// parseIPv4 reads one to four decimal, octal or hexadecimal numbers, the last of which
// fills the bytes that remain.
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

// parseIPv6 reads "[address]" and writes it as the standard does: the longest run of
// two or more zero groups compressed, an embedded IPv4 address in hexadecimal.
func parseIPv6(s string) (string, error) {
	inner, ok := strings.CutSuffix(s[1:], "]")
	if !ok || strings.Contains(inner, "%") {
		return "", ErrHost // a zone means nothing outside the machine that wrote it
	}
	addr, err := netip.ParseAddr(inner)
	if err != nil || !addr.Is6() {
		return "", ErrHost
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

// unescape decodes every escape of a host; a lone "%" stays and is refused later.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	buf := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && is(s[i+1], hexByte) && is(s[i+2], hexByte) {
			buf = append(buf, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		} else {
			buf = append(buf, s[i])
		}
	}
	return string(buf)
}
