package robotstag

import (
	"strings"
	"time"
)

// A date has at most this many words and bytes, so that finding its end among the following words
// takes limited time.
const (
	maxDateWords = 8
	maxDateBytes = 64
)

// leadingDate parses the longest date at the beginning of s, in complete words, and returns it with
// its length in bytes; 0 bytes mean that there is none.
func leadingDate(s string) (t time.Time, n int) {
	var ends [maxDateWords]int
	words := 0
	for i := 0; i < len(s) && i < maxDateBytes && words < len(ends); {
		for i < len(s) && strings.IndexByte(blanks, s[i]) >= 0 {
			i++
		}
		start := i
		for i < len(s) && strings.IndexByte(blanks, s[i]) < 0 {
			i++
		}
		if i > start && i <= maxDateBytes {
			ends[words] = i
			words++
		}
	}
	for words > 0 {
		words--
		if t, ok := parseDate(s[:ends[words]]); ok {
			return t, ends[words]
		}
	}
	return time.Time{}, 0
}

// Layouts by family, without weekday and zone, which are parsed separately. Go reads "2" as one or
// two digits, and a fraction after the seconds without a layout for it.
var (
	asctime = []string{"Jan 2 15:04:05 2006"}
	rfc1123 = []string{ // RFC 822 is the same with two digits of year
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006",
		"2 Jan 06 15:04:05", "2 Jan 06 15:04", "2 Jan 06",
	}
	rfc850 = []string{
		"2-Jan-06 15:04:05", "2-Jan-06 15:04", "2-Jan-06",
		"2-Jan-2006 15:04:05", "2-Jan-2006 15:04", "2-Jan-2006",
	}
	iso8601 = []string{
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02",
		"20060102T150405", "20060102T1504", "20060102",
	}
)

// layouts returns the possible layouts of a date in these words. Trying all layouts would have the
// same result, but a hostile value has thousands of incomplete dates.
func layouts(words []string) []string {
	first := words[0]
	switch {
	case len(words) > 4:
		return nil
	case first[0] < '0' || first[0] > '9':
		return asctime
	case len(words) > 2:
		return rfc1123
	case len(first) >= 8 && first[1] != '-' && first[2] != '-':
		return iso8601
	}
	return rfc850
}

// parseDate parses all of s as a date in one of the forms of formats §4.1.4. Without a zone it is
// UTC.
func parseDate(s string) (time.Time, bool) {
	s = strings.TrimLeft(s, blanks)
	if day, rest := cutWord(s, blanks+","); isWeekday(day) {
		s = strings.TrimPrefix(strings.TrimLeft(rest, blanks), ",")
	}
	words := strings.Fields(strings.ToUpper(s)) // Go accepts no lower case "t" and "z"
	if len(words) == 0 {
		return time.Time{}, false
	}
	zone := time.UTC
	last := &words[len(words)-1]
	if z, ok := zoneOf(*last); ok && len(words) > 1 {
		zone, words = z, words[:len(words)-1]
	} else if clock, z, ok := cutZone(*last); ok {
		zone, *last = z, clock
	}
	s = strings.Join(words, " ")
	for _, layout := range layouts(words) {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return some(t), true
		}
	}
	return time.Time{}, false
}

// cutZone separates a zone that directly follows the time, as ISO 8601 allows. A "-" within a date
// comes before its ninth byte and not after a colon.
func cutZone(word string) (clock string, zone *time.Location, ok bool) {
	i := strings.LastIndexAny(word, "Z+-")
	if i < 0 || i <= 8 && strings.IndexByte(word[:i], ':') < 0 {
		return "", nil, false
	}
	zone, ok = zoneOf(word[i:])
	return word[:i], zone, ok
}

// some prevents a date from being mistaken for no date: the first instant of the year 1 is Go's
// zero time, and certainly in the past.
func some(t time.Time) time.Time {
	if t.IsZero() {
		t = t.Add(1)
	}
	return t.UTC()
}

// zoneOf parses a zone in upper case: a name of RFC 822, or a numeric offset. Other names are
// refused, because the same letters mean different zones in different places.
func zoneOf(s string) (*time.Location, bool) {
	const hour = 60 * 60
	switch s {
	case "GMT", "UTC", "UT", "Z":
		return time.UTC, true
	case "EDT":
		return time.FixedZone(s, -4*hour), true
	case "EST", "CDT":
		return time.FixedZone(s, -5*hour), true
	case "CST", "MDT":
		return time.FixedZone(s, -6*hour), true
	case "MST", "PDT":
		return time.FixedZone(s, -7*hour), true
	case "PST":
		return time.FixedZone(s, -8*hour), true
	}
	for _, layout := range []string{"-0700", "-07:00", "-07"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(s, offset), true
		}
	}
	return nil, false
}

// isWeekday reports whether s is the name of a weekday, abbreviated or in full.
func isWeekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if equalFold(s, name) || equalFold(s, name[:3]) {
			return true
		}
	}
	return false
}
