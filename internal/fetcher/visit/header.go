package visit

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/mdhtml"
	"github.com/curtsy/curtsy/internal/xhtml"
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
		if d, ok := duration(value, now); ok {
			wait = max(wait, d)
			continue
		}
		at, ok := date(value)
		if !ok {
			wait = max(wait, unreadRetryAfter)
			continue
		}
		wait = max(wait, at.Sub(now))
		if sent, ok := date(header.Get("Date")); ok {
			wait = max(wait, at.Sub(sent))
		}
	}
	return min(wait, maxRetryAfter)
}

// units are how long the unit is that stands behind a number, by its first letters. Without one it
// is a second.
var units = []struct {
	name string
	unit time.Duration
}{{"ms", time.Millisecond}, {"milli", time.Millisecond}, {"s", time.Second}, {"m", time.Minute}, {"h", time.Hour}, {"d", 24 * time.Hour}}

// duration reads a number of seconds, or of what it says. A number that can only be a Unix time is
// one.
func duration(value string, now time.Time) (d time.Duration, ok bool) {
	value = strings.ToLower(value)
	digits := strings.IndexFunc(value, func(r rune) bool { return (r < '0' || r > '9') && r != '.' && r != '-' && r != '+' })
	if digits < 0 {
		digits = len(value)
	}
	n, err := strconv.ParseFloat(value[:digits], 64)
	if err != nil {
		return 0, false
	}
	unit := time.Second
	if word := strings.TrimLeft(value[digits:], " \t"); word != "" {
		i := 0
		for i < len(units) && !strings.HasPrefix(word, units[i].name) {
			i++
		}
		if i == len(units) || strings.ContainsAny(word, "0123456789:") {
			return 0, false
		}
		unit = units[i].unit
	} else if since := n - float64(now.Unix()); n > 1e9 && since > -3e8 && since < 3e8 {
		n = since
	}
	if n <= 0 {
		return 0, true
	}
	if seconds := n * unit.Seconds(); seconds < maxRetryAfter.Seconds() {
		d = time.Duration(seconds * float64(time.Second))
		return (d + time.Second - 1).Truncate(time.Second), true // a moment more is polite
	}
	return maxRetryAfter, true
}

// layouts are the forms of dates that servers write beside those of RFC 9110.
var layouts = []string{
	time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05",
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	"2006-01-02 15:04:05", "2006-01-02 15:04", time.RFC822Z, time.RFC822, time.RFC850, time.UnixDate, time.RubyDate, "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
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
	typeXHTML = xhtml.MediaType
	typeText  = "text/plain"

	typeMarkdown = mdhtml.MediaType
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
		return kind + " by its bytes; its Content-Type is " + detailText(written)
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
