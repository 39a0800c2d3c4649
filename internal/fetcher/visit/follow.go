package visit

import (
	"net/http"
	"slices"

	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// maxRedirects is how many redirects in a row lead to pages.
const maxRedirects = 10

// Trail is the way to one file: where it is asked for first, and where redirects lead from there. A
// visit is the right to ask one host, so a trail is followed only as long as it stays there;
// whoever follows it says what a redirect to elsewhere means.
type Trail struct {
	At        canon.URL // what is asked for next, or was asked for last
	Redirects int       // redirects so far, those followed in earlier visits included
	Most      int       // redirects in a row
	Next      canon.URL // where the last answer leads, when the trail is left

	within canon.Origin // if set, the trail is left where it leaves this origin, too

	// May is asked before each request. Without its leave the request is not sent.
	May func(u canon.URL) bool
	// Ask sends the request. moved tells that a redirect of this visit led to u: what was had from
	// the first URL, its validators for example, says nothing of u.
	Ask func(u canon.URL, moved bool) (wire.Answer, error)
}

// TrailEnd says how a trail ended.
type TrailEnd int

const (
	TrailArrived TrailEnd = iota // with an answer that is no redirect, or an error
	TrailBarred                  // nothing more was asked for: May said no
	// With a redirect to nowhere usable: no URL, too many in a row, or in a circle.
	TrailLost
	// With a redirect to another host, or out of the origin it is kept within.
	TrailLeft
)

// Follow follows a trail on a host to its end and returns the last answer.
func (t *Trail) Follow(host canon.Host) (a wire.Answer, end TrailEnd, err error) {
	seen := []canon.URL{t.At}
	for {
		if !t.May(t.At) {
			return a, TrailBarred, nil
		}
		a, err = t.Ask(t.At, len(seen) > 1)
		if err != nil || !redirects(a.Status) {
			return a, TrailArrived, err
		}
		next, ok := location(t.At, &a)
		switch {
		case !ok || t.Redirects >= t.Most || slices.Contains(seen, next):
			return a, TrailLost, nil
		case next.Host() != host, t.within != canon.Origin{} && next.Origin() != t.within:
			t.Next = next
			return a, TrailLeft, nil
		}
		t.At, t.Redirects, seen = next, t.Redirects+1, append(seen, next)
	}
}

// redirects reports whether an answer of this status leads elsewhere.
func redirects(status int) bool {
	return status >= 300 && status <= 399 && status != http.StatusNotModified
}

// location is where a redirect of u leads, if it says so in a way that we understand.
func location(u canon.URL, a *wire.Answer) (next canon.URL, ok bool) {
	to := a.Header.Get("Location")
	if next, err := canon.NewBase(u).Join(to); to != "" && err == nil {
		return next, true
	}
	return "", false
}
