package canon

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const (
	maxHost  = 253 // bytes of a name, by DNS
	maxLabel = 63
)

// otherDots are the characters that IDNA treats as dots between labels.
const otherDots = "\u3002\uff0e\uff61"

// names maps and validates internationalised names as the URL standard requires. validName checks
// characters and lengths. CheckHyphens comes after ValidateLabels, because that would set it.
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

// parseHost is the standard's host parser for special schemes. In addition, it refuses names that
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
	// A label that maps to nothing ("xn--") must not become a final dot, and a mapping that is not
	// stable would give a URL two spellings.
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

// validName reports whether DNS can carry a name: labels of 1 to 63 letters, digits, hyphens or
// underscores. (Underscores are not allowed in host names, but such hosts exist.)
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

// unescape decodes every escape of a host. A single "%" stays and is refused later.
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
