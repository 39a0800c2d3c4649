package fair

import "time"

// Allowance is how often a party may do something: Burst times at once, and once more after each
// Every. It is a token bucket. What was used of it is one time, which its user keeps: when the
// whole burst is available again. The zero time means that nothing was used.
type Allowance struct {
	Burst int           // at least 1
	Every time.Duration // more than 0
}

// From returns from when on it may be done once more. If that is not after now, it may be done now.
func (a Allowance) From(full time.Time) time.Time {
	if full.IsZero() {
		return full
	}
	return full.Add(-time.Duration(a.Burst-1) * a.Every)
}

// Use returns the time to keep after it was done at now. It does not check whether that was
// allowed.
func (a Allowance) Use(full, now time.Time) time.Time {
	if full.Before(now) {
		full = now
	}
	return full.Add(a.Every)
}
