package web

import (
	"encoding/binary"
	"testing"
	"time"
)

// The number of remembered logouts is bounded, and the latest stay.
func TestEndedIsBounded(t *testing.T) {
	var e ended
	now := time.Now()
	at := func(n int) *session {
		s := &session{id: make([]byte, idBytes), since: now.Add(time.Duration(n) * time.Second)}
		binary.BigEndian.PutUint32(s.id, uint32(n))
		return s
	}
	for n := range maxEnded + 1 {
		e.add(at(n), now)
	}
	if len(e.ids) > maxEnded || !e.has(at(maxEnded)) || !e.has(at(maxEnded/2)) || e.has(at(0)) {
		t.Errorf("%d are kept: the last %v, the first %v", len(e.ids), e.has(at(maxEnded)), e.has(at(0)))
	}
	e.add(at(maxEnded+1), now.Add(2*sessionLasts))
	for n := range maxEnded {
		e.add(at(maxEnded+2+n), now.Add(2*sessionLasts))
	}
	if e.has(at(maxEnded)) {
		t.Error("one is kept whose cookie is too old")
	}
}

// The key of each process is another, whatever the token is. So a cookie does not show whether a
// token is right.
func TestCookieKeyIsRandom(t *testing.T) {
	s := newSession(true)
	a, b := New(Options{Token: "a long enough token"}), New(Options{Token: "a long enough token"})
	if a.sessions.decode(b.sessions.encode(s), time.Now()) != nil || a.sessions.csrf(s) == b.sessions.csrf(s) {
		t.Error("the key follows from the token")
	}
}

// A changed cookie is not accepted, and neither is one that is too old.
func TestForgedCookie(t *testing.T) {
	w := newSessions(nil)
	s := newSession(true)
	good := w.encode(s)
	if w.decode(good, time.Now()) == nil || w.decode(good, s.since.Add(sessionLasts-time.Second)) == nil {
		t.Fatal("our own cookie is not known")
	}
	if w.decode(good, s.since.Add(sessionLasts+2*time.Second)) != nil {
		t.Error("a cookie lasts for ever")
	}
	for i := range good {
		b := []byte(good)
		b[i] ^= 1
		if got := w.decode(string(b), time.Now()); got != nil && string(b) != good {
			t.Errorf("a cookie changed at %d is taken", i)
		}
	}
	for _, bad := range []string{"", "x", good + good, good[:len(good)-1]} {
		if w.decode(bad, time.Now()) != nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
