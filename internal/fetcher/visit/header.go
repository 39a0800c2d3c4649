package visit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/html"
)

const (
	// maxRetryAfter bounds what a Retry-After can ask: a year in a header is a mistake, and a day's
	// rest is patience enough to ask again.
	maxRetryAfter = 24 * time.Hour
	// unreadRetryAfter is waited for a Retry-After that cannot be read: whoever writes one wants to
	// be left alone for longer than usual.
	unreadRetryAfter = 30 * time.Second
)

// retryAfter reads the longest wait the Retry-After lines of an answer ask for: seconds, or a date
// (RFC 9110 §10.2.3), also in the words that servers find for them. A date counts from now, and
// from the answer's own Date if that is longer: our clock need not agree with the server's. 0 means
// that they ask for nothing.
func retryAfter(header http.Header, now time.Time) (wait time.Duration) {
	for _, value := range header["Retry-After"] {
		value = strings.Trim(value, " \t\"'")
		if value == "" {
			continue
		}
		if at, ok := date(value); ok {
			wait = max(wait, at.Sub(now))
			if sent, ok := date(header.Get("Date")); ok {
				wait = max(wait, at.Sub(sent))
			}
			continue
		}
		d, ok := duration(strings.ToLower(value), now)
		if !ok {
			d = max(d, unreadRetryAfter)
		}
		wait = max(wait, d)
	}
	return min(wait, maxRetryAfter)
}

// units are how long the unit is that stands behind a number. Without one it is a second.
var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	"msec": time.Millisecond, "millisecond": time.Millisecond, "sec": time.Second, "second": time.Second, "min": time.Minute, "minute": time.Minute,
	"hr": time.Hour, "hour": time.Hour, "day": 24 * time.Hour, "wk": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"mo": 30 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour, "yr": 365 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
}

// unitOf is how long the unit of that name is, also in the plural.
func unitOf(word string) (unit time.Duration, ok bool) {
	if unit, ok = units[word]; !ok {
		unit, ok = units[strings.TrimSuffix(word, "s")]
	}
	return unit, ok
}

// duration reads numbers of seconds, or of what they say: the sum where each says of what, the
// longest where it is a list of answers. It is in lower case. Where not all of it can be read, d is
// no less than the number of seconds that it begins with.
func duration(value string, now time.Time) (d time.Duration, ok bool) {
	var sum, longest, first time.Duration
	parts, summed := 0, true
	iso, inDays := false, false
	if rest, isPeriod := strings.CutPrefix(value, "p"); isPeriod {
		value, iso, inDays = rest, true, true // ISO 8601: P1DT2H, and an M before the T is a month
	}
	for {
		if value = strings.TrimLeft(value, " \t,;"); iso && strings.HasPrefix(value, "t") {
			value, inDays = value[1:], false
		}
		if rest, ok := strings.CutPrefix(value, "and "); ok && parts > 0 {
			value = strings.TrimLeft(rest, " \t")
		}
		if value == "" {
			break
		}
		digits := spanOf(value, func(c byte) bool { return c >= '0' && c <= '9' || strings.IndexByte(".-+", c) >= 0 })
		n, err := strconv.ParseFloat(value[:digits], 64)
		if err != nil && parts == 0 {
			n, _ = strconv.ParseFloat(value[:spanOf(value, func(c byte) bool { return c >= '0' && c <= '9' })], 64)
			first = times(n, time.Second)
		}
		if err != nil {
			return first, false
		}
		value = strings.TrimLeft(value[digits:], " \t")
		letters := spanOf(value, func(c byte) bool { return c >= 'a' && c <= 'z' })
		if iso {
			letters = min(letters, 1)
		}
		word := value[:letters]
		if word == "and" { // of two numbers without units
			word, letters = "", 0
		}
		if inDays && word == "m" {
			word = "mo"
		}
		if parts++; parts == 1 {
			first = times(n, time.Second)
		}
		unit, known := unitOf(word)
		if !known {
			return first, false
		}
		if word == "" {
			summed = false
			if since := n - float64(now.Unix()); n > 1e9 && since > -3e8 && since < 3e8 {
				n = since // a number that can only be a Unix time is one
			}
		}
		one := times(n, unit)
		sum, longest = min(sum+one, maxRetryAfter), max(longest, one)
		value = value[letters:]
	}
	if summed {
		longest = sum
	}
	return longest, parts > 0
}

// spanOf is how many bytes of a value are of a kind, from its beginning.
func spanOf(value string, of func(byte) bool) int {
	for i := range len(value) {
		if !of(value[i]) {
			return i
		}
	}
	return len(value)
}

// times is n times a unit, no less than 0 and no more than maxRetryAfter.
func times(n float64, unit time.Duration) time.Duration {
	switch seconds := n * unit.Seconds(); {
	case n <= 0:
		return 0
	case seconds < maxRetryAfter.Seconds():
		d := time.Duration(seconds * float64(time.Second))
		return (d + time.Second - 1).Truncate(time.Second) // a moment more is polite
	}
	return maxRetryAfter
}

// layouts are the forms of dates that servers write beside those of RFC 9110.
var layouts = []string{
	time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05",
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", time.RFC822Z, time.RFC822, time.RFC850, time.UnixDate, time.RubyDate, "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
}

// date reads a date. One without a zone is in UTC.
func date(value string) (time.Time, bool) {
	value = strings.TrimSpace(value)
	if at, err := http.ParseTime(value); err == nil {
		return at, true
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, value); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// contentType returns what the Content-Type of an answer says; "" when it says nothing, or nothing
// that is a type. Of several types the last counts, as it does in browsers (WHATWG Fetch, "extract
// a MIME type").
func contentType(h http.Header) (value string) {
	for _, line := range h["Content-Type"] {
		for part := range strings.SplitSeq(line, ",") { // two headers joined by a proxy
			if mediaType(part) != "" {
				value = strings.TrimSpace(part)
			}
		}
	}
	if unknownTypes[mediaType(value)] {
		return ""
	}
	return value
}

// unknownTypes are types that say that there is none (WHATWG MIME Sniffing §7).
var unknownTypes = map[string]bool{"unknown/unknown": true, "application/unknown": true}

// mediaType returns the type of a Content-Type value without parameters, in lower case; "" when
// there is none or it is no type at all.
func mediaType(value string) string {
	value, _, _ = strings.Cut(value, ";")
	value, _, _ = strings.Cut(value, ",")
	value = strings.TrimSpace(value)
	kind, sub, ok := strings.Cut(value, "/")
	if !ok || !isToken(kind) || !isToken(sub) || kind == "*" {
		return ""
	}
	return strings.ToLower(value)
}

// isToken reports whether a word is a token (RFC 9110 §5.6.2).
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

const (
	typeHTML  = "text/html"
	typeXHTML = html.TypeXHTML
	typeText  = "text/plain"

	typeMarkdown = html.TypeMarkdown
)

// sniff is the type that the first bytes of a body look like, for an answer that names none.
func sniff(first []byte) string {
	kind := mediaType(http.DetectContentType(first))
	if kind == "text/xml" && strings.Contains(string(first), "http://www.w3.org/1999/xhtml") {
		return typeXHTML
	}
	return kind
}

// typeDetail is what a refusal by type says: the type, and where the bytes decided what the answer
// called it.
func typeDetail(h http.Header, kind string) string {
	if written := strings.Join(h["Content-Type"], ", "); written != "" && contentType(h) == "" {
		return kind + " by its content; its Content-Type is " + detailText(written)
	}
	return kind
}

// storable reports whether pages of this type can be compared with others.
func storable(mediaType string) bool {
	return mediaType == typeHTML || mediaType == typeXHTML || mediaType == typeText
}

// overloaded reports the statuses by which a server says that it has too much to do.
func overloaded(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}
