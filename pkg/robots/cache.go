package robots

import (
	"strconv"
	"strings"
	"time"
)

// Times of formats §1.1. The functions depend only on the time that is passed in.
const (
	// a copy is not used for longer than this without being renewed (RFC 9309 §2.4)
	MaxAge = 24 * time.Hour
	// a copy is not requested more often than this, whatever its headers say
	MinFresh   = 10 * time.Minute
	FirstRetry = 5 * time.Minute // pause after a first failure; doubles with each further one
	MaxRetry   = 6 * time.Hour   // the longest pause after a failure
	// a server that answers only with errors for this long counts as having no robots.txt
	GoneAfter    = 30 * 24 * time.Hour
	MaxRedirects = 5 // redirects followed to robots.txt (RFC 9309 §2.3.1.2)
)

// State is the meaning of an answer to GET /robots.txt (formats §1.1). The zero State is the
// cautious one.
type State int

const (
	Unreachable State = iota // nothing may be fetched
	Parsed                   // the body's rules apply; after 304, those of the copy
	Unavailable              // there is no robots.txt: everything may be fetched
	Redirect                 // follow Location
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case Parsed:
		return "parsed"
	case Unavailable:
		return "unavailable"
	case Redirect:
		return "redirect"
	}
	return "unreachable"
}

// Detail is a property of an answer beyond its status code.
type Detail int

const (
	// the body was cut off by a network error, not by our limit MaxBytes
	BodyCut Detail = iota + 1
	// more than MaxRedirects redirects, a loop, an invalid or missing Location, or neither http nor
	// https
	RedirectLost
	// the target of the redirect is not allowed, such as a private network
	RedirectRefused
	CopyStored // we have a copy that a 304 can renew
)

// StateOf applies the table of formats §1.1 to the status code of an answer and its other
// properties. Code 0 means that there was no answer: a failure of DNS, connect or TLS, a timeout, a
// reset.
func StateOf(status int, details ...Detail) State {
	var cut, lost, refused, stored bool
	for _, d := range details {
		cut = cut || d == BodyCut
		lost = lost || d == RedirectLost
		refused = refused || d == RedirectRefused
		stored = stored || d == CopyStored
	}
	switch {
	case 200 <= status && status <= 299 && !cut:
		return Parsed
	case status == 304 && stored:
		return Parsed
	case status == 304 || refused:
		return Unreachable // there may be rules, and we have not read them
	case 300 <= status && status <= 399 && lost:
		return Unavailable
	case 300 <= status && status <= 399:
		return Redirect
	case status == 402 || status == 429: // it asks for payment, or for patience
		return Unreachable
	case 400 <= status && status <= 499:
		return Unavailable
	default:
		return Unreachable
	}
}

// FreshFor returns how long after fetched a copy may be used without a new request, by its response
// header (an [net/http.Header] can be passed): 24 h, or less according to Cache-Control or Expires,
// but at least 10 min (formats §1.1). A lifetime that cannot be parsed counts as 10 min.
func FreshFor(header map[string][]string, fetched time.Time) time.Duration {
	var lifetime time.Duration
	if d, ok := cacheControlLifetime(values(header, "Cache-Control")); ok {
		lifetime = d - age(header)
	} else if v := values(header, "Expires"); len(v) > 0 {
		expires, ok := parseHTTPTime(v[0])
		if date := values(header, "Date"); len(date) > 0 {
			if t, ok := parseHTTPTime(date[0]); ok {
				fetched = t
			}
		}
		if ok {
			lifetime = expires.Sub(fetched) - age(header)
		}
	} else {
		return MaxAge
	}
	return min(max(lifetime, MinFresh), MaxAge)
}

// cacheControlLifetime returns the shortest lifetime in the directives, if there is one.
func cacheControlLifetime(fields []string) (d time.Duration, ok bool) {
	for _, field := range fields {
		for _, directive := range strings.Split(field, ",") {
			name, value, _ := strings.Cut(trim(directive), "=")
			var this time.Duration
			switch lower(trim(name)) {
			case "no-store", "no-cache":
			case "max-age":
				this = seconds(strings.Trim(trim(value), `"`))
			default:
				continue
			}
			if !ok || this < d {
				d, ok = this, true
			}
		}
	}
	return d, ok
}

// age is how long a cache between us and the server has had the answer.
func age(header map[string][]string) time.Duration {
	if v := values(header, "Age"); len(v) > 0 {
		return seconds(trim(v[0]))
	}
	return 0
}

// seconds parses a number of seconds, or returns 0. A longer time counts as MaxAge.
func seconds(s string) time.Duration {
	if s == "" || !allDigits(s) {
		return 0
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return MaxAge
	}
	return time.Duration(n) * time.Second
}

// values returns a field's values for a name in any case.
func values(header map[string][]string, name string) []string {
	if v, ok := header[name]; ok {
		return v
	}
	for k, v := range header {
		if equalFold(k, name) {
			return v
		}
	}
	return nil
}

// parseHTTPTime parses the three forms of RFC 9110 §5.6.7.
func parseHTTPTime(s string) (time.Time, bool) {
	for _, layout := range []string{"Mon, 02 Jan 2006 15:04:05 GMT", "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
		if t, err := time.Parse(layout, trim(s)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// NextRetry returns how long to wait after this many consecutive failures before requesting
// robots.txt again: 5 min after the first, doubling up to 6 h (formats §1.1).
func NextRetry(failures int) time.Duration {
	d := FirstRetry
	for i := 1; i < failures && d < MaxRetry; i++ {
		d *= 2
	}
	return min(d, MaxRetry)
}
