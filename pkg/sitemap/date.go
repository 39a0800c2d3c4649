package sitemap

import (
	"strings"
	"time"
)

// dateForms are those of W3C's note on date and time, with the slips seen in the
// wild, then those of RSS.
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
	// Two-digit years, as in RFC 822: 69 to 99 mean the last century.
	"Mon, 2 Jan 06 15:04:05 Z0700",
	"Mon, 2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 06 15:04 Z0700",
	"Mon, 2 Jan 06 15:04 MST",
	"2 Jan 06 15:04:05 Z0700",
	"2 Jan 06 15:04:05 MST",
	"2 Jan 06 15:04 Z0700",
	"2 Jan 06 15:04 MST",
}

// zones are the names that RFC 822 gives a meaning, in hours from UTC. Any other counts as UTC.
var zones = map[string]int{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}

// ParseDate reads a date as sitemaps and feeds write them; one without a zone counts as UTC. The
// zero time means that it could not be read, or makes no sense: it is before 1990.
func ParseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return time.Time{}
	}
	if strings.HasSuffix(s, " UT") {
		s += "C" // the time package wants three letters for a zone
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

// inZone gives a time the offset that its zone's name stands for: the time package
// knows that of UTC alone.
func inZone(t time.Time) time.Time {
	name, _ := t.Zone()
	return t.Add(-time.Duration(zones[name]) * time.Hour)
}
