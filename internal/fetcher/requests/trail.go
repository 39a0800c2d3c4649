package requests

import (
	"slices"

	"github.com/curtsy/curtsy/internal/fetcher/answer"
	"github.com/curtsy/curtsy/internal/fetcher/wire"
	"github.com/curtsy/curtsy/pkg/canon"
)

// MaxRedirects is how many redirects in a row lead to a page, a sitemap or a feed.
const MaxRedirects = 10

// Trail is the way to one file: the URL that is requested first, and those that redirects lead to.
// A visit may send requests to one host only, so a trail is followed as long as it stays there. Its
// user decides what a redirect to another host means.
type Trail struct {
	At        canon.URL // what is requested next, or was requested last
	Redirects int       // followed so far, those of earlier visits included
	Most      int       // redirects that are followed in a row
	Next      canon.URL // where the last answer leads, if the trail left the host

	Within canon.Origin // if set, the trail also ends where it leaves this origin

	// May is called before each request. If it returns false, the request is not sent.
	May func(u canon.URL) bool
	// Ask sends the request. moved reports that a redirect of this visit led to u. What is known of
	// the first URL, such as its validators, then does not hold for u.
	Ask func(u canon.URL, moved bool) (wire.Answer, error)
}

// TrailEnd is how a trail ended.
type TrailEnd int

// The ends of a trail.
const (
	TrailArrived TrailEnd = iota // an answer that is no redirect, or an error
	TrailBarred                  // May returned false, so the last URL was not requested
	TrailLost                    // a redirect without a usable URL, one too many, or a circle
	TrailLeft                    // a redirect to another host, or out of Within
)

// Follow follows a trail on a host to its end and returns the last answer.
func (t *Trail) Follow(host canon.Host) (a wire.Answer, end TrailEnd, err error) {
	seen := []canon.URL{t.At}
	for {
		if !t.May(t.At) {
			return a, TrailBarred, nil
		}
		a, err = t.Ask(t.At, len(seen) > 1)
		if err != nil || !answer.Redirects(a.Status) {
			return a, TrailArrived, err
		}
		next, ok := answer.Location(t.At, &a)
		switch {
		case !ok || t.Redirects >= t.Most || slices.Contains(seen, next):
			return a, TrailLost, nil
		case next.Host() != host, t.Within != canon.Origin{} && next.Origin() != t.Within:
			t.Next = next
			return a, TrailLeft, nil
		}
		t.At, t.Redirects, seen = next, t.Redirects+1, append(seen, next)
	}
}
