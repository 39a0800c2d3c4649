package updates

import (
	"sync"

	"golang.org/x/time/rate"
)

// limiters limits the rate of each of many senders, so that none of them can block the others. It
// may be used concurrently.
type limiters[K comparable] struct {
	rate  rate.Limit // events a second of each
	burst int
	most  int // senders remembered; beyond that, all are forgotten

	mu sync.Mutex
	by map[K]*rate.Limiter // guarded by mu
}

func newLimiters[K comparable](perSecond rate.Limit, burst, most int) *limiters[K] {
	return &limiters[K]{rate: perSecond, burst: burst, most: most, by: map[K]*rate.Limiter{}}
}

// allow reports whether who may do one more event now, and counts it.
func (l *limiters[K]) allow(who K) bool {
	l.mu.Lock()
	one := l.by[who]
	if one == nil {
		if len(l.by) >= l.most {
			clear(l.by)
		}
		one = rate.NewLimiter(l.rate, l.burst)
		l.by[who] = one
	}
	l.mu.Unlock()
	return one.Allow()
}
