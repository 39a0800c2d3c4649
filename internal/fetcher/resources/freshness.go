package resources

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/render"
)

const (
	// leastFresh is how long an answer is used whose header says nothing, by its kind.
	leastFreshCode = time.Hour
	leastFreshData = 10 * time.Minute
	// mostFresh is the longest time without asking, whatever the header says.
	mostFresh = 7 * 24 * time.Hour
)

// freshness returns how long an answer is used without asking again (RFC 9111 §4.2). ok is false if
// it must not be stored.
func freshness(kind render.Kind, r *render.Response, now time.Time) (fresh time.Duration, ok bool) {
	if !mayStore(r) {
		return 0, false
	}
	stated, maxAge, asks := false, time.Duration(0), false
	for name, value := range directives(r.Header) {
		switch name {
		case "no-store":
			return 0, false
		case "no-cache":
			asks = true
		case "max-age":
			if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64); err == nil && n >= 0 && !stated {
				stated, maxAge = true, time.Duration(min(n, int64(mostFresh/time.Second)))*time.Second
			}
		}
	}
	switch {
	case asks:
		return 0, true
	case stated:
		return max(maxAge-age(r.Header), 0), true
	}
	if t, err := http.ParseTime(r.Header.Get("Expires")); err == nil {
		sent := now
		if d, err := http.ParseTime(r.Header.Get("Date")); err == nil {
			sent = d
		}
		return min(max(t.Sub(sent), 0), mostFresh), true
	}
	if len(r.Header["Expires"]) > 0 { // "0" and everything that is no date: it is over
		return 0, true
	}
	switch {
	case r.Status == http.StatusFound || r.Status == http.StatusSeeOther || r.Status == http.StatusTemporaryRedirect:
		return 0, false // RFC 9111 §4.2.2: only if the header says how long
	case kind == render.Data:
		return leastFreshData, true
	}
	return leastFreshCode, true
}

// directives returns the directives of Cache-Control, with their names in lower case.
func directives(h http.Header) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for _, line := range h["Cache-Control"] {
			for part := range strings.SplitSeq(line, ",") {
				name, value, _ := strings.Cut(part, "=")
				if !yield(strings.ToLower(strings.TrimSpace(name)), strings.TrimSpace(value)) {
					return
				}
			}
		}
	}
}

// age is how old an answer was when it arrived, if a cache between us and the server says so.
func age(h http.Header) time.Duration {
	n, err := strconv.ParseInt(h.Get("Age"), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return time.Duration(min(n, int64(mostFresh/time.Second))) * time.Second
}
