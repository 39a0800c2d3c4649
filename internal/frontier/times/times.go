// Package times says what a stored time means, and so what is done to it when it was written by
// another clock, or by one that was wrong.
package times

import (
	"time"

	bolt "go.etcd.io/bbolt"
)

// Every time that a shard's file keeps is listed once, next to the record it stands in: by a
// method Times that shows each of them, with its kind. A feature names the buckets of its records
// where it is registered, and keptTimes (clock.go of the frontier) are all there are. Two things
// are done with the list:
//
// A file that comes from another machine was written by another clock, and no two clocks need
// agree. All its times are shifted by the difference (shiftTimes).
//
// A clock that was ahead has written times which lie too far in the future once it is set right: a
// host would not be visited for as long as the clock was wrong, a crawl not end or end with URLs
// queued, and a robots.txt would look fresh for more than a day. So when a file is opened, and when
// the clock is seen to jump, they are brought down to the longest they may lie ahead (clampTimes).

// Kind says what a stored time means, and so what another clock does to it.
type Kind int

const (
	// Waits: something is not done before. As much of the wait is left as there was.
	Waits Kind = iota
	// Happened: something happened then, and something else follows so long after. It is as long
	// ago as it was, and never in the future.
	Happened
	// Known: something has been known, copied or proved since then. It gets no younger by having
	// been on the way: such a time only ever moves back.
	Known
)

// See is shown one stored time, which it may change.
type See func(at *time.Time, kind Kind)

// In walks the times in a part of a shard's file. What see changes is written.
type In func(tx *bolt.Tx, see See) error

// ShiftBy moves times to a clock that is ahead by d.
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

// Set moves times to a clock that was set ahead by d and shows now. A time that this process took
// from the clock carries the reading of Go's monotonic clock: it stays as far from now as it was,
// and only its time of day is corrected. A time that was read from a file has nothing but the time
// of day, and is moved by d.
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
