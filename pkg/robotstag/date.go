package robotstag

import (
	"strings"
	"time"
)

// A date has at most this many words and bytes, so that finding where it ends
// among the words that follow takes bounded time.
const (
	maxDateWords = 8
	maxDateBytes = 64
)

// leadingDate reads the longest date at the start of s, whole words only, and
// returns it with the bytes it takes; 0 bytes mean there is none.
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

// Layouts by family, without weekday and zone, which are read apart. Go reads
// "2" as one or two digits and a fraction after the seconds without being told.
var (
	dateLayouts = []string{
		"2 Jan 2006 15:04:05", "2 Jan 2006 15:04", "2 Jan 2006", // RFC 1123, RFC 822
		"2 Jan 06 15:04:05", "2 Jan 06 15:04", "2 Jan 06",
		"2-Jan-06 15:04:05", "2-Jan-06 15:04", "2-Jan-06", // RFC 850
		"2-Jan-2006 15:04:05", "2-Jan-2006 15:04", "2-Jan-2006",
		"Jan 2 15:04:05 2006",                                   // asctime
		"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02", // ISO 8601
		"2006-01-02T15:04:05", "2006-01-02T15:04", "20060102T150405", "20060102T1504", "20060102",
	}
	isoLayouts = []string{ // with a zone that touches the time
		"2006-01-02T15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05Z07",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700", "2006-01-02T15:04Z07",
		"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05Z07",
		"2006-01-02 15:04Z07:00", "2006-01-02 15:04Z0700", "2006-01-02 15:04Z07",
		"20060102T150405Z07:00", "20060102T150405Z0700", "20060102T150405Z07",
	}
)

// parseDate reads all of s as a date in one of the forms of 4.1.4. Without a
// zone it is UTC.
func parseDate(s string) (time.Time, bool) {
	words := strings.Fields(s)
	if len(words) > 0 && isWeekday(strings.TrimSuffix(words[0], ",")) {
		words = words[1:]
	}
	if len(words) == 0 {
		return time.Time{}, false
	}
	zone := time.UTC
	if z, ok := zoneOf(words[len(words)-1]); ok && len(words) > 1 {
		zone, words = z, words[:len(words)-1]
	}
	s = strings.ToUpper(strings.Join(words, " ")) // Go knows months in any case, "t" and "z" not
	for _, layout := range dateLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return some(t), true
		}
	}
	for _, layout := range isoLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return some(t), true
		}
	}
	return time.Time{}, false
}

// some keeps a date that was given from being taken for none: the first
// instant of the year 1 is Go's zero time, and certainly past.
func some(t time.Time) time.Time {
	if t.IsZero() {
		t = t.Add(1)
	}
	return t.UTC()
}

// zoneOf reads a zone standing as a word of its own: the names of RFC 822, or
// a numeric offset. Other names are refused: the same letters mean different
// zones in different places.
func zoneOf(s string) (*time.Location, bool) {
	const hour = 60 * 60
	switch strings.ToUpper(s) {
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
	for _, layout := range []string{"-0700", "-07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(s, offset), true
		}
	}
	return nil, false
}

// isWeekday reports whether s is the name of a weekday, short or in full.
func isWeekday(s string) bool {
	for d := time.Sunday; d <= time.Saturday; d++ {
		name := d.String()
		if equalFold(s, name) || equalFold(s, name[:3]) {
			return true
		}
	}
	return false
}
