package sitemap

import (
	"strings"
	"time"
)

// dateForms are those of W3C's note on date and time, with common errors, and then those of RSS.
var dateForms = []string{
	"2006-01-02",
	time.RFC3339Nano,
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 Z0700",
	"2006-01-02 15:04:05",
	"2006-01-02 15:04",
	"2006-01",
	"2006",
	time.RFC1123Z,
	time.RFC1123,
	"Mon, 2 Jan 2006 15:04:05 Z0700",
	"Mon, 2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04 Z0700",
	"2 Jan 2006 15:04:05 Z0700",
	"2 Jan 2006 15:04:05 MST",
	time.RFC850,
	"Mon, 2 Jan 2006 15:04 MST",
	"2 Jan 2006 15:04 Z0700",
	"2 Jan 2006 15:04 MST",
	time.ANSIC,
	// Two-digit years, as in RFC 822: 69 to 99 are in the last century.
	"Mon, 2 Jan 06 15:04:05 Z0700",
	"Mon, 2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 06 15:04 Z0700",
	"Mon, 2 Jan 06 15:04 MST",
	"2 Jan 06 15:04:05 Z0700",
	"2 Jan 06 15:04:05 MST",
	"2 Jan 06 15:04 Z0700",
	"2 Jan 06 15:04 MST",
}

// zones are the names of RFC 822 that have a meaning, in hours from UTC. Any other name counts as
// UTC.
var zones = map[string]int{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}

// ParseDate parses a date of a sitemap or a feed; one without a zone counts as UTC. It returns the
// zero time for a date that cannot be parsed or is before 1990.
func ParseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return time.Time{}
	}
	if strings.HasSuffix(s, " UT") {
		s += "C" // the time package requires three letters for a zone
	}
	for _, form := range dateForms {
		if t, err := time.ParseInLocation(form, s, time.UTC); err == nil {
			if t.Year() < 1990 {
				break
			}
			return inZone(t).UTC()
		}
	}
	return time.Time{}
}

// inZone gives a time the offset of its zone's name, because the time package knows only that of
// UTC.
func inZone(t time.Time) time.Time {
	name, _ := t.Zone()
	return t.Add(-time.Duration(zones[name]) * time.Hour)
}
