package hosts

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// At returns a pointer to t in UTC, or nil for the zero time.
func At(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// Summary is the result of a pass over all hosts.
type Summary struct {
	At        time.Time
	Cost      time.Duration
	DueSoon   int64 // URLs due within hold-max
	Outlook   crawl.Outlook
	Postponed []crawl.PostponedHost
	Again     int64     // number of URLs that will be fetched again
	Next      time.Time // when the first of them is due
}
