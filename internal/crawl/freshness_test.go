package crawl

import (
	"testing"
	"time"
)

func TestRounds(t *testing.T) {
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	var s Spec
	if _, ok := s.RoundAt(at); ok || s.Refreshes() {
		t.Error("rounds of a crawl that has none")
	}
	s.SetEvery(24*time.Hour, at.Add(300*time.Millisecond))
	if !s.Refreshes() {
		t.Error("rounds look at nothing again")
	}
	for after, want := range map[time.Duration]int{-time.Hour: 1, 0: 1, 24*time.Hour - 1: 1, 24 * time.Hour: 2, 10 * 24 * time.Hour: 11} {
		r, _ := s.RoundAt(at.Add(after))
		if r.Number != want || !r.Began.Equal(at.Add(time.Duration(want-1)*24*time.Hour)) || r.Next.Sub(r.Began) != s.Every {
			t.Errorf("after %v: %+v, want round %d", after, r, want)
		}
	}
	if next, _ := s.NextRound(at.Add(24 * time.Hour)); !next.Equal(at.Add(48 * time.Hour)) {
		t.Errorf("fetched as the second round begins, again at %v", next)
	}
	s.SetEvery(24*time.Hour, at.Add(99*time.Hour)) // the same command again
	if !s.EverySince.Equal(at) {
		t.Errorf("rounds count from %v now", s.EverySince)
	}
	s.SetEvery(time.Hour, at.Add(99*time.Hour))
	if r, _ := s.RoundAt(at.Add(99 * time.Hour)); r.Number != 1 || !r.Began.Equal(at.Add(99*time.Hour)) {
		t.Errorf("another length: %+v", r)
	}
	s.SetEvery(0, at)
	if s.Refreshes() || !s.EverySince.IsZero() {
		t.Errorf("no rounds any more: %+v", s)
	}
}
