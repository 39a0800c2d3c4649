package polite

import (
	"time"

	"github.com/curtsy/curtsy/internal/frontier/hosts"
)

// The longest waits of a host, besides its delay.
const (
	// IdlePause prevents a visit that could do nothing from being granted again at once.
	IdlePause = 250 * time.Millisecond
	// LongestNotBefore limits how long a host waits because other hosts use its address, whatever a
	// fetcher reports.
	LongestNotBefore = 10 * time.Minute
	// longestRetryAfter is the longest Retry-After that is respected; the fetcher limits it to
	// that.
	longestRetryAfter = 24 * time.Hour
)

// LongestWait is the longest time that h may have to wait for its next request.
func (s *Polite) LongestWait(h *hosts.Host) time.Duration {
	wait := max(s.DelayOf(h).D, h.Delay, IdlePause)
	switch h.DueReason {
	case hosts.DueRetryAfter:
		wait = max(wait, longestRetryAfter)
	case hosts.DueAddress:
		wait = max(wait, LongestNotBefore)
	}
	return wait
}
