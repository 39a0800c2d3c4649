package rup

import (
	"strings"
	"time"
)

// dateForms are the forms of dates in reports (formats §6.4), without weekday and zone, which are
// parsed separately: ours, RFC 3339, 1123 and 822, 850, asctime.
var dateForms = []string{
	time.DateOnly,
	"2006-01-02T15:04:05",
	"2 Jan 2006 15:04:05",
	"2 Jan 2006 15:04",
	"2 Jan 06 15:04:05",
	"2 Jan 06 15:04",
	"2-Jan-06 15:04:05",
	"2-Jan-2006 15:04:05",
	"Jan 2 15:04:05 2006",
}

// parseDate parses a date. A date without a time of day means 00:00 UTC. The zero time means
// unknown; ok is false if the text is invalid.
func parseDate(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	words := strings.Fields(s)
	if len(s) > 64 || len(words) == 0 {
		return time.Time{}, false
	}
	if weekdays[strings.TrimSuffix(words[0], ",")] && len(words) > 1 {
		words = words[1:]
	}
	zone := time.UTC
	if last := len(words) - 1; last > 0 {
		if z, ok := zoneOf(words[last]); ok {
			zone, words = z, words[:last]
		}
	} else if clock, z, ok := cutZone(words[0]); ok {
		words[0], zone = clock, z
	}
	for _, form := range dateForms {
		if t, err := time.ParseInLocation(form, strings.Join(words, " "), zone); err == nil {
			return t.UTC(), true
		}
	}
	return time.Time{}, false
}

// cutZone separates the zone of RFC 3339, which directly follows the time.
func cutZone(word string) (clock string, zone *time.Location, ok bool) {
	i := strings.LastIndexAny(word, "Z+-")
	if i < len("2006-01-02T") || word[len("2006-01-02")] != 'T' {
		return "", nil, false
	}
	zone, ok = zoneOf(word[i:])
	return word[:i], zone, ok
}

// zoneOf parses a zone: a name of RFC 822, or a numeric offset. Other names are refused, because
// the same letters mean different zones in different places.
func zoneOf(s string) (*time.Location, bool) {
	if hours, ok := zones[s]; ok {
		return time.FixedZone(s, hours*60*60), true
	}
	for _, form := range []string{"-0700", "-07:00"} {
		if t, err := time.Parse(form, s); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(s, offset), true
		}
	}
	return nil, false
}

var (
	// zones are names of zones, with their hours east of UTC.
	zones = map[string]int{
		"GMT": 0, "UTC": 0, "UT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
	}
	weekdays = map[string]bool{
		"Mon": true, "Tue": true, "Wed": true, "Thu": true, "Fri": true, "Sat": true, "Sun": true, "Monday": true, "Tuesday": true,
		"Wednesday": true, "Thursday": true, "Friday": true, "Saturday": true, "Sunday": true,
	}
)
