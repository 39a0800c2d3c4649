package answer

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// MaxRetryAfter is the longest wait that a Retry-After can ask for: a year is a mistake, and
	// after a day a site can be asked again.
	MaxRetryAfter = 24 * time.Hour
	// unreadRetryAfter is the wait for a Retry-After that cannot be read: a site that sends one
	// wants a longer pause than usual.
	unreadRetryAfter = 30 * time.Second
)

// RetryAfter returns the longest wait that the Retry-After lines of an answer ask for: seconds or a
// date (RFC 9110 §10.2.3), and other forms that servers use. The wait for a date is counted from
// now, and from the answer's own Date if that gives a longer one, because our clock need not agree
// with the server's. It is at most MaxRetryAfter; 0 means that they ask for no wait.
func RetryAfter(header http.Header, now time.Time) (wait time.Duration) {
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
	return min(wait, MaxRetryAfter)
}

// units has the length of each unit that may follow a number. A number without a unit counts
// seconds.
var units = map[string]time.Duration{
	"": time.Second, "ms": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
	"msec": time.Millisecond, "millisecond": time.Millisecond, "sec": time.Second, "second": time.Second, "min": time.Minute, "minute": time.Minute,
	"hr": time.Hour, "hour": time.Hour, "day": 24 * time.Hour, "wk": 7 * 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"mo": 30 * 24 * time.Hour, "month": 30 * 24 * time.Hour, "y": 365 * 24 * time.Hour, "yr": 365 * 24 * time.Hour, "year": 365 * 24 * time.Hour,
}

// unitOf returns the length of a unit by its name, which may be in the plural.
func unitOf(word string) (unit time.Duration, ok bool) {
	if unit, ok = units[word]; !ok {
		unit, ok = units[strings.TrimSuffix(word, "s")]
	}
	return unit, ok
}

// duration reads numbers with units, in lower case. If each number has a unit, d is their sum;
// otherwise the value is a list of alternatives, and d is the longest. If ok is false, the value
// could not be read to its end, and d is the number at its beginning in seconds.
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
				n = since // it can only be a Unix time
			}
		}
		one := times(n, unit)
		sum, longest = min(sum+one, MaxRetryAfter), max(longest, one)
		value = value[letters:]
	}
	if summed {
		longest = sum
	}
	return longest, parts > 0
}

// spanOf returns how many bytes at the beginning of value satisfy of.
func spanOf(value string, of func(byte) bool) int {
	for i := range len(value) {
		if !of(value[i]) {
			return i
		}
	}
	return len(value)
}

// times returns n times a unit, at least 0 and at most MaxRetryAfter.
func times(n float64, unit time.Duration) time.Duration {
	switch seconds := n * unit.Seconds(); {
	case n <= 0:
		return 0
	case seconds < MaxRetryAfter.Seconds():
		d := time.Duration(seconds * float64(time.Second))
		return (d + time.Second - 1).Truncate(time.Second) // rounding up is the polite way
	}
	return MaxRetryAfter
}

// layouts are forms of dates that servers write besides those of RFC 9110.
var layouts = []string{
	time.RFC1123Z, "Mon, 2 Jan 2006 15:04:05 MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05",
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", time.RFC822Z, time.RFC822, time.RFC850, time.UnixDate, time.RubyDate, "2 Jan 2006 15:04:05 MST", "2 Jan 2006 15:04:05 -0700",
}

// date reads a date. A date without a zone is in UTC.
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
