package hosts

import (
	"time"
)

// Rate counts what was done in each second of the last minute.
type Rate struct {
	at    int64
	per   [minute]int64
	began time.Time // of the first count
	since time.Time // of the first count after half a minute without any
}

// The periods of a Rate in seconds: a minute for display, half a minute for estimates.
const (
	minute     = 60
	halfMinute = 30
)

func (r *Rate) move(now time.Time) {
	sec := now.Unix()
	for ; r.at < sec; r.at++ {
		if sec-r.at > minute {
			r.at, r.per = sec, [minute]int64{}
			return
		}
		r.per[(r.at+1)%minute] = 0
	}
}

// last is the sum of the counts of that many seconds.
func (r *Rate) last(seconds int64) (sum int64) {
	for i := range min(seconds, r.at+1) {
		sum += r.per[(r.at-i)%minute]
	}
	return sum
}

// Add counts n events at the time now.
func (r *Rate) Add(now time.Time, n int64) {
	r.move(now)
	if r.last(halfMinute) == 0 {
		r.since = now
	}
	if r.began.IsZero() {
		r.began = now
	}
	r.per[r.at%minute] += n
}

// PerSecond is the mean over the last minute, or since the first count if that is less. A pause
// within the minute counts as time in which nothing was done.
func (r *Rate) PerSecond(now time.Time) float64 {
	r.move(now)
	return float64(r.last(minute)) / span(now, r.began, minute).Seconds()
}

// AtWork is the mean over the last half minute, or since work began after half a minute without
// any. over is the length of that period.
func (r *Rate) AtWork(now time.Time) (rate float64, over time.Duration) {
	r.move(now)
	over = span(now, r.since, halfMinute)
	return float64(r.last(halfMinute)) / over.Seconds(), over
}

// span is the time since from, at least one second and at most that many seconds.
func span(now, from time.Time, seconds int) time.Duration {
	return min(max(now.Sub(from), time.Second), time.Duration(seconds)*time.Second)
}
