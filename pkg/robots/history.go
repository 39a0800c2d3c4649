package robots

import "time"

// History is what a cache remembers of one origin's robots.txt beside the copy itself. It
// is a plain value, to be stored with the copy. The zero History is that of an origin
// that was never asked.
type History struct {
	// last success: a body parsed, a 304, or a 4xx that says there is none. Zero: never
	Fetched time.Time
	// how long after Fetched the copy may be used without asking: see FreshFor
	Fresh time.Duration
	// first failure of the run that the 30 days count from. Zero: no such run
	Since    time.Time
	Answered bool      // the last failure was an answer, such as 503, and not silence
	Failures int       // failures in a row
	RetryAt  time.Time // not to be requested before this time, after a failure
}

// Succeeded returns the History after an answer whose state is Parsed or Unavailable, fresh
// as [FreshFor] says. The caller stores the body, or that there is none; after a 304 it
// keeps the body it has.
func (h History) Succeeded(now time.Time, fresh time.Duration) History {
	return History{Fetched: now, Fresh: fresh}
}

// Failed returns the History after an answer whose state is Unreachable. status is its code, 0 if
// there was none; retryAfter is what its Retry-After asks, 0 if nothing. A 402 or 429 starts the
// count of days anew: it comes from a server that works and wants fewer requests, and its days
// never count (formats §1.1).
func (h History) Failed(now time.Time, status int, retryAfter time.Duration) History {
	h.Failures++
	h.Answered = status != 0
	switch {
	case status == 402 || status == 429: // not a fault of the server's that ends with time
		h.Since = time.Time{}
	case h.Since.IsZero():
		h.Since = now
	}
	h.RetryAt = now.Add(max(NextRetry(h.Failures), retryAfter))
	return h
}

// Use says which rules hold.
type Use int

const (
	UseNothing  Use = iota // disallow all: nothing may be fetched but robots.txt
	UseCopy                // those of the last copy; where the last success was a 4xx, none
	UseAllowAll            // there are none: everything may be fetched
)

// String returns the name in lower case.
func (u Use) String() string {
	switch u {
	case UseCopy:
		return "copy"
	case UseAllowAll:
		return "allow all"
	}
	return "nothing"
}

// Decision is what a History means at one moment.
type Decision struct {
	Use Use
	// when to ask for robots.txt next; if that is not in the future, ask now, before using anything
	Ask time.Time
}

// Decide applies the rules of formats §1.1:
//
//   - a fresh copy is used unasked;
//   - when it is stale and asking failed, a copy under 24 h old stays in use, and after that
//     nothing may be fetched;
//   - after 30 days of failures in a row, if the last was an answer, the last copy is used, however
//     old, and if there never was one, everything is allowed; an origin that is silent stays
//     closed.
func (h History) Decide(now time.Time) Decision {
	var d Decision
	hasCopy := !h.Fetched.IsZero()
	switch gone := !h.Since.IsZero() && now.Sub(h.Since) >= GoneAfter && h.Answered; {
	case hasCopy && (gone || now.Sub(h.Fetched) < MaxAge):
		d.Use = UseCopy
	case gone:
		d.Use = UseAllowAll
	}
	if hasCopy {
		d.Ask = h.Fetched.Add(min(h.Fresh, MaxAge))
	}
	if h.Failures > 0 && h.RetryAt.After(d.Ask) {
		d.Ask = h.RetryAt
	}
	return d
}
