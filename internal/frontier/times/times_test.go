package times

import (
	"testing"
	"time"
)

// TestShiftBy: a wait stays as long and an event as long ago, on whichever clock. What is known
// does not become younger.
func TestShiftBy(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_700_000_000, 0)
	for _, c := range []struct {
		kind     Kind
		by, want time.Duration
	}{
		{Waits, time.Hour, time.Hour}, {Waits, -time.Hour, -time.Hour},
		{Happened, time.Hour, time.Hour}, {Happened, -time.Hour, -time.Hour},
		{Known, time.Hour, 0}, {Known, -time.Hour, -time.Hour},
	} {
		got := at
		if ShiftBy(c.by)(&got, c.kind); got.Sub(at) != c.want {
			t.Errorf("kind %d, shifted by %v: moved by %v, want %v", c.kind, c.by, got.Sub(at), c.want)
		}
		none := time.Time{}
		if ShiftBy(c.by)(&none, c.kind); !none.IsZero() {
			t.Errorf("kind %d: no time became %v", c.kind, none)
		}
	}
}

// TestSet: a time that this process has read from the clock goes by the time that passes. A time
// from a file is shifted with the clock.
func TestSet(t *testing.T) {
	t.Parallel()
	const ahead = 3 * time.Hour
	now := time.Now() // with a reading of the monotonic clock
	for kind, want := range map[Kind]time.Duration{Waits: time.Hour + ahead, Happened: time.Hour + ahead, Known: time.Hour} {
		own, read, none := now.Add(time.Hour), now.Add(time.Hour).Round(0), time.Time{}
		for _, at := range []*time.Time{&own, &read, &none} {
			Set(ahead, now)(at, kind)
		}
		if own.Sub(now) != time.Hour || read.Sub(now.Round(0)) != want || !none.IsZero() {
			t.Errorf("kind %d: in %v and %v, want 1h and %v; no time became %v", kind, own.Sub(now), read.Sub(now.Round(0)), want, none)
		}
	}
}

// TestLease: the owner of a shard counts a lease longer than its fetcher, so the fetcher always
// stops first, even if one of their clocks is a percent faster.
func TestLease(t *testing.T) {
	t.Parallel()
	if least := Lease + Lease/100; OwnerLease <= least {
		t.Errorf("an owner counts %v, and a fetcher up to %v", OwnerLease, least)
	}
}
