package hours

import (
	"slices"
	"time"
)

const (
	day  = 24 * time.Hour
	week = 7 * day
)

// Hours are the times of a week at which requests may be sent. Nil means that they may be sent at
// any time. Hours never change, and may be used concurrently.
type Hours struct {
	text string
	zone *time.Location
	// The windows, as times since Monday 00:00. They are in order, and none touches the next.
	open []window
}

// window is a part of a week: from is in it, to is not.
type window struct{ from, to time.Duration }

// String is the hours as they were written, with their time zone.
func (h *Hours) String() string {
	if h == nil {
		return "at any time"
	}
	return h.text + " (" + h.zone.String() + ")"
}

// Open reports whether requests may be sent at t.
func (h *Hours) Open(t time.Time) bool { return h == nil || h.at(h.inWeek(t)) }

// Next is the first time at which requests may be sent, t or later. It is zero if there is none.
func (h *Hours) Next(t time.Time) time.Time {
	if h.Open(t) {
		return t
	}
	return h.change(t)
}

// Closes is the first time after t at which requests may not be sent, or t itself if they may not
// be sent then. It is zero if there is none.
func (h *Hours) Closes(t time.Time) time.Time {
	switch {
	case h == nil:
		return time.Time{}
	case !h.Open(t):
		return t
	}
	return h.change(t)
}

// And returns the hours at which both permit requests. Both must have the same time zone, or one of
// them must be nil.
func (h *Hours) And(other *Hours) *Hours {
	if h == nil || other == nil {
		if h == nil {
			return other
		}
		return h
	}
	both := &Hours{text: h.text + " and " + other.text, zone: h.zone}
	for _, a := range h.open {
		for _, b := range other.open {
			if w := (window{max(a.from, b.from), min(a.to, b.to)}); w.from < w.to {
				both.open = append(both.open, w)
			}
		}
	}
	return both
}

// inWeek is what the clock shows at t, as time since Monday 00:00.
func (h *Hours) inWeek(t time.Time) time.Duration {
	t = t.In(h.zone)
	hour, minute, second := t.Clock()
	days := (int(t.Weekday()) + 6) % 7
	return time.Duration(days)*day + time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second +
		time.Duration(t.Nanosecond())
}

// at reports whether a time of the week is in a window.
func (h *Hours) at(inWeek time.Duration) bool {
	return slices.ContainsFunc(h.open, func(w window) bool { return w.from <= inWeek && inWeek < w.to })
}

// change is the first time after t at which Open answers otherwise. It is zero if there is none.
func (h *Hours) change(t time.Time) time.Time {
	was := h.Open(t)
	// Until the clock on the wall is moved, it shows the time that passes. A time zone never moves
	// it so often that all hours of a week are left out, so two weeks are enough for hours that
	// differ at all.
	for end := t.Add(2*week + day); t.Before(end); {
		_, moved := t.In(h.zone).ZoneBounds()
		if at := t.Add(h.untilEdge(h.inWeek(t), was)); at.After(t) && (moved.IsZero() || at.Before(moved)) {
			return at
		}
		if moved.IsZero() {
			break
		}
		if h.Open(moved) != was {
			return moved
		}
		t = moved
	}
	return time.Time{}
}

// untilEdge is the time from a time of the week to the next one at which at does not answer was. It
// is 0 if there is none.
func (h *Hours) untilEdge(inWeek time.Duration, was bool) time.Duration {
	least := time.Duration(0)
	for _, w := range h.open {
		for _, edge := range [...]time.Duration{w.from, w.to % week} {
			if h.at(edge) == was {
				continue // the end of Sunday, and a window begins on Monday 00:00
			}
			wait := (edge - inWeek + week) % week
			if wait == 0 {
				wait = week
			}
			if least == 0 || wait < least {
				least = wait
			}
		}
	}
	return least
}
