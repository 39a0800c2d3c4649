package rup

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// ErrMalformed: an answer has status 200, but not the requested text (formats §6.2).
var ErrMalformed = errors.New("malformed RUP answer")

// Error is an answer that reports a failure. A Server sends it, and a Client returns it (formats
// §6.2).
type Error struct {
	Status     int           // of HTTP
	Parameter  string        // the parameter at fault, if a Server sends it; else ""
	Reason     string        // for people; untrusted if a Client returns it. Never contains a key
	RetryAfter time.Duration // 0 if it is not stated
}

// Error returns status and reason in one line.
func (e *Error) Error() string {
	s := fmt.Sprintf("RUP: %d %s", e.Status, http.StatusText(e.Status))
	if e.Parameter != "" {
		s += ": " + e.Parameter
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// Retryable reports whether a request that failed with err may succeed later without changes: after
// a 5xx other than 501, or without an answer. Lower statuses, a malformed answer and a refused
// report are final (formats §6.2).
func Retryable(err error) bool {
	var e *Error
	switch {
	case err == nil:
		return false
	case errors.As(err, &e):
		return e.Status >= 500 && e.Status != http.StatusNotImplemented
	}
	return !errors.Is(err, ErrMalformed) && !errors.Is(err, ErrHead) && !errors.Is(err, ErrSite)
}

// retryAfter is the wait that a server requests, within limits.
func retryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return min(e.RetryAfter, 7*24*time.Hour)
	}
	return 0
}

func bad(parameter, format string, args ...any) error {
	return &Error{Status: http.StatusBadRequest, Parameter: parameter, Reason: fmt.Sprintf(format, args...)}
}

func notImplemented(parameter, format string, args ...any) error {
	return &Error{Status: http.StatusNotImplemented, Parameter: parameter, Reason: fmt.Sprintf(format, args...)}
}
