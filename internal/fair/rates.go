package fair

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rates limits how much each of many parties may have a second, so that none of them uses up what
// others may have. K is a Party, or what else counts as one. Use NewRates to make one. It may be
// used concurrently.
type Rates[K comparable] struct {
	rate  rate.Limit
	burst int
	kept  int

	mu     sync.Mutex // guards what follows
	by     map[K]*rate.Limiter
	others *rate.Limiter // of all parties beyond kept
	swept  time.Time
}

// NewRates makes one in which each party may have so many units a second, and burst at once. So
// many parties are kept: those that have their whole burst are forgotten, and if all have used
// something, further ones share one count.
func NewRates[K comparable](perSecond rate.Limit, burst, kept int) *Rates[K] {
	return &Rates[K]{rate: perSecond, burst: burst, kept: kept, by: map[K]*rate.Limiter{}, others: rate.NewLimiter(perSecond, burst)}
}

// Allow reports whether a party may have n units now, and counts them if it may. More than a burst
// counts as a burst.
func (r *Rates[K]) Allow(now time.Time, who K, n int) bool {
	return r.of(now, who).AllowN(now, min(n, r.burst))
}

// May is Allow without counting.
func (r *Rates[K]) May(now time.Time, who K, n int) bool {
	return r.of(now, who).TokensAt(now) >= float64(min(n, r.burst))
}

// Kept is how many parties are counted separately.
func (r *Rates[K]) Kept() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.by)
}

func (r *Rates[K]) of(now time.Time, who K) *rate.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.by[who]; l != nil {
		return l
	}
	if len(r.by) >= r.kept && now.Sub(r.swept) >= time.Second {
		r.swept = now
		for k, l := range r.by {
			if l.TokensAt(now) >= float64(r.burst) {
				delete(r.by, k) // its count is as if it had never been used
			}
		}
	}
	if len(r.by) >= r.kept {
		return r.others
	}
	l := rate.NewLimiter(r.rate, r.burst)
	r.by[who] = l
	return l
}
