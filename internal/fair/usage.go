package fair

import (
	"math"
	"time"
)

// Usage is how much each party used lately of something scarce. What was used counts half after
// each Half. Its memory is bounded by the parties of about ten Halves, because what has faded is
// forgotten. One goroutine at a time may use it.
type Usage struct {
	Half time.Duration // 0 = one minute

	by    map[Party]used
	sweep int // parties at which the faded ones are forgotten
}

type used struct {
	amount float64
	at     time.Time
}

const (
	defaultHalf = time.Minute
	faded       = 1.0 / 1024 // of a unit: nobody
	leastSweep  = 1024
)

func (u *Usage) half() time.Duration {
	if u.Half <= 0 {
		return defaultHalf
	}
	return u.Half
}

func (u *Usage) of(p Party, now time.Time) float64 {
	v, ok := u.by[p]
	if !ok {
		return 0
	}
	age := max(now.Sub(v.at), 0)
	return v.amount * math.Exp2(-float64(age)/float64(u.half()))
}

// Charge adds cost, in any unit, to what each of the parties used.
func (u *Usage) Charge(now time.Time, cost float64, parties ...Party) {
	if cost <= 0 {
		return
	}
	if u.by == nil {
		u.by = map[Party]used{}
	}
	for _, p := range parties {
		if !p.IsZero() {
			u.by[p] = used{u.of(p, now) + cost, now}
		}
	}
	if len(u.by) >= max(u.sweep, leastSweep) {
		for p := range u.by {
			if u.of(p, now) < faded {
				delete(u.by, p)
			}
		}
		u.sweep = 2 * len(u.by)
	}
}

// Of is how much the parties used lately: the most that one of them used.
func (u *Usage) Of(now time.Time, parties ...Party) (most float64) {
	for _, p := range parties {
		if !p.IsZero() {
			most = max(most, u.of(p, now))
		}
	}
	return most
}
