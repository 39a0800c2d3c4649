package crawl

import "time"

// Round is one round of a crawl with rounds (Spec.Every).
type Round struct {
	Number int       `json:"number"` // from 1
	Began  time.Time `json:"began"`
	Next   time.Time `json:"next"` // when the next round begins
	// Over: everything in it is done.
	Over bool `json:"over,omitempty"`
}

// Refreshes reports whether finished URLs are fetched again: each page at its own times (Recrawl),
// or all of them in each round (Every).
func (s *Spec) Refreshes() bool { return s.Recrawl || s.Every > 0 }

// RoundAt is the round at a time, without Over. ok is false if the crawl has no rounds.
func (s *Spec) RoundAt(t time.Time) (r Round, ok bool) {
	if s.Every <= 0 {
		return r, false
	}
	n := max(t.Sub(s.EverySince), 0) / s.Every
	r.Number, r.Began = int(n)+1, s.EverySince.Add(n*s.Every)
	r.Next = r.Began.Add(s.Every)
	return r, true
}

// NextRound is when the first round after t begins. A URL that was last fetched at t is fetched
// again then. ok is false if the crawl has no rounds.
func (s *Spec) NextRound(t time.Time) (next time.Time, ok bool) {
	r, ok := s.RoundAt(t)
	return r.Next, ok
}

// SetEvery gives a crawl rounds of that length. The first round begins now. A length of 0 ends the
// rounds. If the length is the current one, nothing changes.
func (s *Spec) SetEvery(every time.Duration, now time.Time) {
	if every == s.Every {
		return
	}
	s.Every, s.EverySince = every, time.Time{}
	if every > 0 {
		s.EverySince = now.UTC().Truncate(time.Second)
	}
}
