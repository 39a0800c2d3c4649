package sitemap

import (
	"strings"
	"time"
)

// dateForms are those of W3C's note on date and time, with the slips seen in the wild, then those of RSS.
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
}

// ParseDate reads a date as sitemaps and feeds write them; one without a zone counts as UTC. The zero time means
// unreadable, or nothing sensible: before 1990.
func ParseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if len(s) > 40 {
		return time.Time{}
	}
	for _, form := range dateForms {
		if t, err := time.Parse(form, s); err == nil {
			if t.Year() < 1990 {
				break
			}
			return t.UTC()
		}
	}
	return time.Time{}
}
