// Package canon gives every web address one spelling.
//
// A crawler finds the same page under many spellings; the seen set, the page store and robots.txt
// matching need one. Parse and Base.Join read links as browsers do (the WHATWG URL standard) and
// return a URL:
//
//   - only http and https; user name, password and fragment are removed;
//   - the host is a lower-case A-label (IDNA), a dotted IPv4 address or an IPv6
//     address in brackets; a final dot and a default port are removed;
//   - dot segments are resolved, an empty path is "/", an empty query loses its "?",
//     the order of a query is kept;
//   - escapes of letters, digits and - . _ ~ are decoded, all others are kept with
//     upper-case digits; a "%" that begins no escape becomes %25;
//   - at most MaxLen bytes.
//
// Five rules are stricter than the standard. An IPv4-mapped IPv6 address is spelled as the IPv4
// address that it leads to, so that one machine is one host. Host names that DNS cannot carry are
// refused (empty or too long labels, characters other than letters, digits, - and _, port 0),
// because requests to them could only fail. In a path | and ^ are escaped, because net/http would
// escape them anyway, and robots.txt rules must see what is sent. A single "%" is escaped so that
// decoding its neighbours can never make a new escape. Bytes that are not UTF-8 are escaped as they
// are and do not become U+FFFD, which no server would recognise.
//
// reference_test.go compares all this with whatwg-url, another implementation of the standard, by
// fuzzing.
//
// All functions are safe for concurrent use; none does any I/O.
package canon

import "errors"

const (
	// Version is the version of the rules above. Files that store URLs also store it: URLs made by
	// another version may be spelled differently. Version 1 did not convert IPv4-mapped IPv6
	// addresses.
	Version = 2

	// OldestVersion is the first version whose URLs may be mixed with those of Version: a URL that
	// it spelled is still a URL of the same page.
	OldestVersion = 1

	// MaxLen is the longest URL, in bytes of its canonical spelling.
	MaxLen = 2048

	// maxRaw limits the work for one raw spelling. Dot segments, escapes, user info and fragments
	// make a URL shorter, but no real link becomes this much shorter.
	maxRaw = 8 * MaxLen
)

// Errors of Parse and Join. They are returned unchanged and without allocation, because pages have
// many mailto: links; callers add the URL.
var (
	// ErrScheme: mailto:, ftp: and others, or no scheme and no base with a scheme.
	ErrScheme = errors.New("not an absolute http or https URL")
	// ErrHost: no host, or one that DNS cannot carry and that is not an IP address.
	ErrHost = errors.New("the host is missing or invalid")
	// ErrSyntax: a port that is not a number from 1 to 65535, or a path without its "/".
	ErrSyntax = errors.New("the port or the path is malformed")
	// ErrTooLong: more than MaxLen bytes, or a raw spelling that is far too long.
	ErrTooLong = errors.New("the URL is longer than 2048 bytes")
)

// URL is a canonical absolute http or https URL. Only Parse, Join and FromParts make one from
// outside text. A string that this package has made, stored with Version, may be converted back
// unchanged. The zero URL means "no URL": its accessors return zero values.
type URL string

// Parse returns the canonical spelling of an absolute URL, or one of ErrScheme,
// ErrHost, ErrSyntax, ErrTooLong. Leading and trailing spaces and control characters
// and all tabs and newlines are ignored, as in browsers. The result may share memory
// with raw: a canonical raw costs no allocation.
func Parse(raw string) (URL, error) {
	if u, ok, err := parseFast(raw); ok {
		return u, err
	}
	return resolve(nil, raw)
}
