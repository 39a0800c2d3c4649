package hosts

import (
	"net/netip"
	"time"

	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/robots"
)

// The reasons for which a host may wait beside the delay between its requests (Host.DueReason).
const (
	// DueRetryAfter is that of a host whose Due was set by a Retry-After.
	DueRetryAfter = "retry-after"
	// DueAddress is that of a host that waits because other hosts use the same IP address. We cause
	// this wait ourselves, so the host never counts as postponed by its site.
	DueAddress = "address"
)

// Pace is when a host may be asked next, and what its delay follows from. It is part of its record.
type Pace struct {
	// Due is the earliest start of the next request, and survives a restart: the delay after the
	// last response, or the time that Retry-After named.
	Due time.Time `json:"due,omitzero"`
	// DueRetryAfter or DueAddress if that determined Due
	DueReason string        `json:"due_reason,omitempty"`
	Delay     time.Duration `json:"delay,omitempty"` // delay in force at the end of the last visit
	// How often the adaptive delay has doubled.
	Backoff int `json:"backoff,omitempty"`
	// The address of the last connection was private
	Private bool `json:"private,omitempty"`
	// The address of the last connection, or the first one of its /64; invalid: not known.
	Block    netip.Addr    `json:"block,omitzero"`
	Response time.Duration `json:"response,omitempty"` // smoothed time per request, for estimates
}

// DelayUntil has the next request to h wait until t at least, for a reason: DueRetryAfter,
// DueAddress, or "" for the delay between requests. It never shortens a wait, so an event that is
// replayed changes nothing. The time is stored with the next commit; after a crash before that, the
// event that caused it is replayed, and the wait counts from then.
func (h *Host) DelayUntil(t time.Time, why string) {
	if h.Due.Before(t) {
		h.Due, h.DueReason = t, why
		h.changed()
	}
}

// SlowDown doubles the adaptive delay of h, up to a number of doublings, because the visit that
// reports has met overload or time-outs. One visit slows its host down once, however often it
// reports that and however often a report is replayed.
func (h *Host) SlowDown(most int) {
	if h.Reported.Trouble {
		return
	}
	h.Backoff, h.Reported.Trouble = min(h.Backoff+1, most), true
	h.changed()
}

// SpeedUp takes one doubling of the adaptive delay back, because a visit ended without trouble.
func (h *Host) SpeedUp() {
	if h.Backoff > 0 {
		h.Backoff--
		h.changed()
	}
}

// AnsweredIn takes in how long the requests of a visit took on average. The stored figure is
// smoothed: it moves a quarter of the way to the newest one. It serves estimates only, so a replay
// that moves it once more does no harm.
func (h *Host) AnsweredIn(d time.Duration) {
	if h.Response == 0 {
		h.Response = d
	} else {
		h.Response += (d - h.Response) / 4
	}
	h.changed()
}

// FoundAt notes the address at which a visit found h, or the first one of its /64. It reports
// whether that is news.
func (h *Host) FoundAt(block netip.Addr) (news bool) {
	if h.Domain != nil {
		h.Domain.block = block
	}
	if news = h.Block != block; news {
		h.Block = block
		h.changed()
	}
	return news
}

// KnownBlock returns the address at which h was found last. If h was never visited, it is that of
// the last visited host of its domain. It is invalid if neither is known.
func (h *Host) KnownBlock() netip.Addr {
	if !h.Block.IsValid() && h.Domain != nil {
		return h.Domain.block
	}
	return h.Block
}

// SetTimes shows the times of h to see, which moves them because the clock was set.
func (h *Host) SetTimes(see times.See) {
	h.Times(see)
	h.changed()
}

// BoundTimes moves times back that a wrong clock has put too far into the future: nothing has
// happened after now, the next request is due at most at a given time, and robots.txt is requested
// as soon as a failure just now would allow.
func (h *Host) BoundTimes(due, now time.Time) {
	changed := false
	bound := func(t *time.Time, most time.Time) {
		if t.After(most) {
			*t, changed = most, true
		}
	}
	bound(&h.Due, due)
	for i := range h.Origins {
		o := &h.Origins[i]
		if o.History.Fetched.After(now) { // its age is unknown: fetch it again before it is used
			o.History.Fetched, changed = now.Add(-min(max(o.History.Fresh, 0), robots.MaxAge)), true
		}
		if o.Dispatch != nil {
			bound(&o.Dispatch.Until, now.Add(DispatchPatience))
		}
		bound(&o.History.RetryAt, mirror.Latest(now.Add(robots.NextRetry(max(o.History.Failures, 1))), h.Due))
	}
	h.Times(func(at *time.Time, kind times.Kind) {
		if kind == times.Happened {
			bound(at, now)
		}
	})
	if changed {
		h.changed()
	}
}
