package rup

import (
	"strings"
	"time"
)

// dateForms are those that a report may use (§6.4): ours, RFC 3339, 1123, 822,
// 850 and asctime, with the slips that mail shows.
var dateForms = []string{
	time.DateOnly,
	time.RFC3339Nano,
	time.ANSIC,
	time.RFC850,
	"Monday, 02-Jan-06 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 MST",
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"2 Jan 2006 15:04:05 MST",
	"2 Jan 2006 15:04:05 -0700",
	"2 Jan 06 15:04:05 MST",
	"2 Jan 06 15:04:05 -0700",
	"2 Jan 06 15:04 MST",
	"2 Jan 06 15:04 -0700",
	"Mon, 2 Jan 06 15:04:05 MST",
	"Mon, 2 Jan 06 15:04:05 -0700",
	"Mon, 2 Jan 06 15:04 MST",
	"Mon, 2 Jan 06 15:04 -0700",
}

// parseDate reads a date; one without a time of day is at 00:00 UTC. The zero
// time means unknown, and false that something unreadable stood there.
func parseDate(s string) (time.Time, bool) {
	if s == "" {
		return time.Time{}, true
	}
	if len(s) > 64 {
		return time.Time{}, false
	}
	for _, form := range dateForms {
		t, err := time.ParseInLocation(form, s, time.UTC)
		if err != nil {
			continue
		}
		// Go knows no zone by name but its own, and takes any other for UTC.
		if zone, offset := t.Zone(); offset == 0 && strings.HasSuffix(form, "MST") && zone != "UTC" && zone != "GMT" {
			hours, ok := zones[zone]
			if !ok {
				return time.Time{}, false
			}
			t = t.Add(time.Duration(-hours) * time.Hour)
		}
		return t.UTC(), true
	}
	return time.Time{}, false
}

// zones are the names of RFC 822, in hours east. The same letters mean other
// zones elsewhere, so others are not guessed.
var zones = map[string]int{"UT": 0, "Z": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}
