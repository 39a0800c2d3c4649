package wire

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Our clock matters to origins only as the time in signatures (formats §8.28): one that seems to
// be made in the future, or is a minute old, is refused. What our clock is worth is seen from the
// Date of answers that come anyway.
const (
	// skewReported is how far off our clock must be to be told of, at least.
	skewReported = 5 * time.Second
	// skewVoices is how many servers have to say so, one after the other: one alone may be wrong,
	// or hand out answers that a cache has kept.
	skewVoices = 3
	// skewSpread is how far apart what they say may lie: what is wrong with our clock is the same
	// for all, what is wrong with theirs is not.
	skewSpread = 5 * time.Second
)

// skew compares our clock with those of servers. The zero value works; it may be used by many
// goroutines at once.
type skew struct {
	mu     sync.Mutex
	voices [skewVoices]struct {
		addr netip.Addr
		off  time.Duration // by which our clock is ahead, for certain
	}
	n        int // that have spoken in a row
	reported bool
}

// heard takes in what an answer says of the time, asked for at began and there at ended. It reports
// once when several servers say that our clock is off, and how far it is ahead (behind: less than
// 0). Only a time outside of began and ended is evidence, so that slow answers are none.
func (s *skew) heard(addr netip.Addr, h http.Header, began, ended time.Time) (off time.Duration, report bool) {
	if len(h["Age"]) > 0 { // a cache tells when the answer was made
		return 0, false
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	switch next := date.Add(time.Second); { // it has no fractions
	case began.After(next):
		off = began.Sub(next)
	case ended.Before(date):
		off = ended.Sub(date)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if off > -skewReported && off < skewReported {
		if ended.Sub(began) > skewReported {
			return 0, false // any clock would agree with so slow an answer
		}
		s.n, s.reported = 0, false // one clock that agrees with ours is enough
		return 0, false
	}
	if s.reported {
		return 0, false
	}
	for i := range s.voices[:s.n] {
		v := &s.voices[i]
		if v.addr == addr {
			return 0, false
		}
		if d := v.off - off; d > skewSpread || d < -skewSpread {
			s.n = 0 // they disagree: it begins again with this one
			break
		}
	}
	s.voices[s.n].addr, s.voices[s.n].off = addr, off
	if s.n++; s.n < skewVoices {
		return 0, false
	}
	s.n, s.reported = 0, true
	return off, true
}
