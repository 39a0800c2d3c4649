package robots

import "time"

// History is the state that a cache stores for one origin's robots.txt in addition to the copy. It
// is a plain value. The zero History is that of an origin that was never asked.
type History struct {
	// last success: a body parsed, a 304, or a 4xx, which means that there is no file. Zero means
	// that there was none
	Fetched time.Time
	// how long after Fetched the copy may be used without a new request: see FreshFor
	Fresh time.Duration
	// first failure of the sequence from which the 30 days count. Zero means that there is no such
	// sequence
	Since    time.Time
	Answered bool      // the last failure was an answer, such as 503, and not silence
	Failures int       // failures in a row
	RetryAt  time.Time // not to be requested before this time, after a failure
}

// Succeeded returns the History after an answer whose state is Parsed or Unavailable. fresh is the
// result of [FreshFor]. The caller stores the body, or that there is none; after a 304 it keeps the
// existing body.
func (h History) Succeeded(now time.Time, fresh time.Duration) History {
	return History{Fetched: now, Fresh: fresh}
}

// Failed returns the History after an answer whose state is Unreachable. status is its code, 0 if
// there was none; retryAfter is the value of its Retry-After, 0 if there was none. A 402 or 429
// restarts the count of days: the server works and wants fewer requests, and its days never count
// (formats §1.1).
func (h History) Failed(now time.Time, status int, retryAfter time.Duration) History {
	h.Failures++
	h.Answered = status != 0
	switch {
	case status == 402 || status == 429: // not a temporary fault of the server
		h.Since = time.Time{}
	case h.Since.IsZero():
		h.Since = now
	}
	h.RetryAt = now.Add(max(NextRetry(h.Failures), retryAfter))
	return h
}

// Use says which rules apply.
type Use int

const (
	UseNothing  Use = iota // nothing may be fetched but robots.txt
	UseCopy                // the rules of the last copy; if the last success was a 4xx, none
	UseAllowAll            // there are no rules: everything may be fetched
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

// Decision is the meaning of a History at one time.
type Decision struct {
	Use Use
	// when to request robots.txt next; if that is not in the future, request it now, before
	// anything else
	Ask time.Time
}

// Decide applies the rules of formats §1.1:
//
//   - a fresh copy is used without a request;
//   - if it is stale and a request failed, a copy under 24 h old stays in use, and after that
//     nothing may be fetched;
//   - after 30 days of consecutive failures, if the last was an answer, the last copy is used,
//     however old. If there never was a copy, everything is allowed. An origin that is silent
//     stays closed.
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
