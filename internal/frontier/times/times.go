// Package times defines the meaning of stored times. The meaning determines how a time changes if
// another machine's clock wrote it, or a clock that was wrong.
package times

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// Every time in a shard's file is listed once, next to its record: by a method Times that shows
// each of them, with its kind. A feature names the buckets of its records where it is registered,
// and keptTimes (package restore) has all of them. The list is used for two things:

// Kind is the meaning of a stored time, and therefore how a change of the clock affects it.
type Kind int

const (
	// Waits: something is not done before this time. The remaining wait stays the same.
	Waits Kind = iota
	// Happened: something happened at this time, and something else follows after a certain
	// interval. It stays equally long ago, and is never in the future.
	Happened
	// Known: something has been known, copied or proved since this time. It does not become younger
	// by a transfer, so such a time is only ever moved back.
	Known
)

// See is called with one stored time, which it may change.
type See func(at *time.Time, kind Kind)

// In shows the times in a part of a shard's file to see. Changed times are written.
type In func(tx *bolt.Tx, see See) error

// ShiftBy shifts times to a clock that is ahead by d.
func ShiftBy(d time.Duration) See {
	return func(at *time.Time, kind Kind) {
		switch {
		case at.IsZero():
		case kind == Known:
			*at = at.Add(min(d, 0))
		default:
			*at = at.Add(d)
		}
	}
}

// Set shifts times to a clock that was set ahead by d and shows now. A time that this process took
// from the clock contains the reading of Go's monotonic clock: its distance from now stays the
// same, and only its time of day is corrected. A time that was read from a file has only the time
// of day, and is shifted by d.
func Set(d time.Duration, now time.Time) See {
	shift := ShiftBy(d)
	return func(at *time.Time, kind Kind) {
		switch {
		case at.IsZero():
		case *at == at.Round(0):
			shift(at, kind)
		default:
			*at = now.Add(at.Sub(now))
		}
	}
}
