// Package canon gives every web address one spelling.
//
// A crawler meets the same page under many spellings; the seen set, the page
// store and robots.txt matching need one. Parse and Base.Join read what people
// write in pages as browsers do (the WHATWG URL standard) and return a URL:
//
//   - only http and https; user name, password and fragment are dropped;
//   - the host is a lower-case A-label (IDNA), a dotted IPv4 address or an IPv6
//     address in brackets; a final dot and a default port are dropped;
//   - dot segments are resolved, an empty path is "/", an empty query loses its "?",
//     the order of a query is kept;
//   - escapes of letters, digits and - . _ ~ are decoded, all others are kept with
//     upper-case digits; a "%" that begins no escape becomes %25;
//   - at most MaxLen bytes.
//
// Five rules are ours where the standard is laxer, and each has a reason. An IPv4-mapped IPv6
// address is spelled as the IPv4 address it leads to: one machine is one host. Host names
// DNS cannot carry are refused (empty or over-long labels, signs other than - and _,
// port 0): they could only fail later. In a path | and ^ are escaped, because net/http
// would escape them anyway: what robots.txt rules see is what goes over the wire. A
// lone "%" is escaped so that decoding its neighbours can never make a new escape.
// Bytes that are not UTF-8 are escaped as they stand instead of becoming U+FFFD, which
// no server would recognise.
//
// reference_test.go holds all this against whatwg-url, another implementation of
// the standard, by fuzzing.
//
// All functions are safe for concurrent use; none does any I/O.
package canon

import "errors"

const (
	// Version numbers the rules above. Files that store a URL keep it: URLs made by
	// another version may be spelled differently. Version 1 spelled IPv4-mapped IPv6
	// addresses as such.
	Version = 2

	// OldestVersion is the first version whose URLs may stand beside those of Version: what
	// was spelled by it is still a URL of the same page.
	OldestVersion = 1

	// MaxLen is the longest URL, in bytes of its canonical spelling.
	MaxLen = 2048

	// maxRaw bounds the work on one raw spelling. Dot segments, escapes, user info and
	// fragments may shrink; nothing real shrinks this much.
	maxRaw = 8 * MaxLen
)

// Why Parse and Join refuse. They are returned as they are, without allocation, since
// pages are full of mailto: links; callers add the subject.
var (
	// ErrScheme: mailto:, ftp: and the like, or no scheme and no base to take one from.
	ErrScheme = errors.New("not an absolute http or https URL")
	// ErrHost: no host, or one that DNS cannot carry and that is no IP address.
	ErrHost = errors.New("the host is missing or invalid")
	// ErrSyntax: a port that is no number from 1 to 65535, or a path without its "/".
	ErrSyntax = errors.New("the port or the path is malformed")
	// ErrTooLong: more than MaxLen bytes, or a raw spelling beyond all measure.
	ErrTooLong = errors.New("the URL is longer than 2048 bytes")
)

// URL is a canonical absolute http or https URL. Only Parse, Join and FromParts make
// one from outside text; a string this package once made, stored with Version, may be
// converted back as it is. The zero URL is "no URL": its accessors return zero values.
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
