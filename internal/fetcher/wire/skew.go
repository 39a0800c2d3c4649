package wire

import (
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Our clock matters to origins only as the time in signatures (formats §8.28). A signature that
// seems to be made in the future, or is a minute old, is refused. The Date of answers shows whether
// our clock is right.
const (
	// skewReported is by how much our clock must be wrong at least to be reported.
	skewReported = 5 * time.Second
	// skewVoices is how many servers have to agree, one after the other. One alone may be wrong, or
	// may send answers from a cache.
	skewVoices = 3
	// skewSpread is by how much their times may differ. An error of our clock is the same for all
	// servers, an error of theirs is not.
	skewSpread = 5 * time.Second
)

// skew compares our clock with those of servers. The zero value is ready for use. It may be used
// concurrently.
type skew struct {
	mu     sync.Mutex
	voices [skewVoices]struct {
		addr netip.Addr
		off  time.Duration // by how much our clock is certainly ahead
	}
	n        int // servers in a row that agree
	reported bool
}

// heard uses the time in an answer that was requested at began and arrived at ended. It reports
// once when several servers agree that our clock is wrong, and by how much it is ahead (less than
// 0: behind). Only a time outside of began and ended is evidence, so slow answers are none.
func (s *skew) heard(addr netip.Addr, h http.Header, began, ended time.Time) (off time.Duration, report bool) {
	if len(h["Age"]) > 0 { // a cache sends the time when the answer was made
		return 0, false
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0, false
	}
	switch next := date.Add(time.Second); { // it has no fractions of a second
	case began.After(next):
		off = began.Sub(next)
	case ended.Before(date):
		off = ended.Sub(date)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if off > -skewReported && off < skewReported {
		if ended.Sub(began) > skewReported {
			return 0, false // any clock would agree with such a slow answer
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
			s.n = 0 // they disagree, so it begins again with this one
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
