package crawl

import "time"

// Round is one time that a crawl with rounds (Spec.Every) is gone over.
type Round struct {
	Number int       `json:"number"` // from 1
	Began  time.Time `json:"began"`
	Next   time.Time `json:"next"` // when the one after it begins
	// Over: nothing of it is left to be done.
	Over bool `json:"over,omitempty"`
}

// Refreshes reports whether what is done is looked at again: each page at times of its own
// (Recrawl), or all of them round by round (Every).
func (s *Spec) Refreshes() bool { return s.Recrawl || s.Every > 0 }

// RoundAt is the round that a time falls into, without Over; ok is false when there are no rounds.
func (s *Spec) RoundAt(t time.Time) (r Round, ok bool) {
	if s.Every <= 0 {
		return r, false
	}
	n := max(t.Sub(s.EverySince), 0) / s.Every
	r.Number, r.Began = int(n)+1, s.EverySince.Add(n*s.Every)
	r.Next = r.Began.Add(s.Every)
	return r, true
}

// NextRound is when the first round begins after t; ok is false when there are no rounds. What was
// last fetched at t is fetched again then.
func (s *Spec) NextRound(t time.Time) (next time.Time, ok bool) {
	r, ok := s.RoundAt(t)
	return r.Next, ok
}

// SetEvery gives a crawl rounds of that length from now on, the first of which begins now; 0 takes
// them away. It changes nothing when the length is what it was.
func (s *Spec) SetEvery(every time.Duration, now time.Time) {
	if every == s.Every {
		return
	}
	s.Every, s.EverySince = every, time.Time{}
	if every > 0 {
		s.EverySince = now.UTC().Truncate(time.Second)
	}
}
