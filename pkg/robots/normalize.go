package robots

// The percent normal form of formats §1.4 gives a path one spelling, so that rule and URL can be
// compared octet by octet:
//
//  - octets that may not occur in a URL become %XX;
//  - %XX of an unreserved character becomes that character; any other keeps its octet, in
//    upper-case hex;
//  - "%" that begins no escape becomes %25, as in canonical URLs;
//  - reserved characters stay unchanged, raw or encoded: "/" is not %2F;
//  - "*" and "$" become %2A and %24, except for the wildcard and the end anchor of a rule.
//
// A normalised URL path therefore contains no raw "*" or "$" that could be mistaken for those of a
// rule.

// maxPattern is the longest pattern a rule may have after normalisation, in bytes (formats §1.2.8).
// A longer one is dropped, never shortened: a shorter pattern matches more.
const maxPattern = 8 << 10

// Handling of an octet by normalize.
const (
	keep    = iota // unchanged
	encode         // becomes %XX
	percent        // may begin an escape
	star           // becomes %2A, unless it is a wildcard
)

var octets = func() (t [256]uint8) {
	for c := range t {
		if c <= ' ' || c >= 0x7f {
			t[c] = encode
		}
	}
	for _, c := range []byte("\"<>[\\]^{|}`$") {
		t[c] = encode
	}
	t['%'] = percent
	t['*'] = star
	return t
}()

func isUnreserved(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '-' || c == '.' || c == '_' || c == '~'
}

// normalize returns s in normal form. If s is already in normal form, it returns s itself without
// allocating. With wild set, "*" stays.
func normalize(s string, wild bool) string {
	for i := 0; i < len(s); i++ {
		switch octets[s[i]] {
		case keep:
		case star:
			if !wild {
				return normalizeFrom(s, i, wild)
			}
		case percent:
			if !normalEscape(s[i:]) {
				return normalizeFrom(s, i, wild)
			}
			i += 2
		default:
			return normalizeFrom(s, i, wild)
		}
	}
	return s
}

// normalEscape reports whether s begins with an escape that the normal form keeps.
func normalEscape(s string) bool {
	if len(s) < 3 || !isHex(s[1]) || !isHex(s[2]) || s[1] >= 'a' || s[2] >= 'a' {
		return false
	}
	return !isUnreserved(unhex(s[1])<<4 | unhex(s[2]))
}

const upperHex = "0123456789ABCDEF"

// normalizeFrom normalises s, which is normal up to index from. A "%" that begins no escape counts
// as %25.
func normalizeFrom(s string, from int, wild bool) string {
	b := append(make([]byte, 0, len(s)+32), s[:from]...)
	for i := from; i < len(s); i++ {
		c := s[i]
		switch octets[c] {
		case keep:
			b = append(b, c)
			continue
		case percent:
			if i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
				c = unhex(s[i+1])<<4 | unhex(s[i+2])
				i += 2
				if isUnreserved(c) {
					b = append(b, c)
					continue
				}
			}
		case star:
			if wild {
				b = append(b, c)
				continue
			}
		}
		b = append(b, '%', upperHex[c>>4], upperHex[c&15])
	}
	return string(b)
}
