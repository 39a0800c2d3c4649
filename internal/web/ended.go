package web

import (
	"slices"
	"sync"
	"time"
)

// maxEnded bounds how many logouts are remembered; beyond it the oldest are forgotten.
const maxEnded = 10_000

// ended are the sessions that have logged out, so that a copy of the cookie opens nothing any more.
// They are kept in memory for as long as the cookie would be valid. A process that starts again
// with the same token does not know them: an operator who fears a copy changes the token. The zero
// value is ready. It may be used by many goroutines.
type ended struct {
	mu  sync.Mutex
	ids map[[idBytes]byte]time.Time // when each session began; guarded by mu
}

// add remembers a session.
func (e *ended) add(s *session, now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ids == nil {
		e.ids = map[[idBytes]byte]time.Time{}
	}
	if len(e.ids) >= maxEnded {
		e.shorten(now)
	}
	e.ids[[idBytes]byte(s.id)] = s.since
}

// has reports whether a session has ended.
func (e *ended) has(s *session) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, is := e.ids[[idBytes]byte(s.id)]
	return is
}

// shorten forgets the sessions whose cookies are no longer valid, and the oldest tenth of the rest
// if there are still too many.
func (e *ended) shorten(now time.Time) {
	var times []time.Time
	for id, since := range e.ids {
		if now.Sub(since) > sessionLasts {
			delete(e.ids, id)
			continue
		}
		times = append(times, since)
	}
	if len(e.ids) < maxEnded {
		return
	}
	slices.SortFunc(times, time.Time.Compare)
	bound := times[maxEnded/10]
	for id, since := range e.ids {
		if !since.After(bound) {
			delete(e.ids, id)
		}
	}
}
