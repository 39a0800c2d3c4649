package fair

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Options are what a Queue divides. A zero field means its default.
type Options struct {
	Capacity int64 // units that can be used at the same time; 0 = 1
	// Share is how many units one party may use while others want some or wanted some lately; 0 = a
	// quarter, at least one. A single claim may be larger if its party uses nothing else.
	Share int64
	// Most is how many units one party may use in any case; 0 = all.
	Most int64
	// Soon is how long somebody who wanted something is expected to want more; 0 = one minute.
	Soon time.Duration
	// Half is the time after which what a party used counts half; 0 = one minute.
	Half time.Duration
	// Pressed is called with true when more than half of the units are in use, and with false when
	// less than an eighth is again. It must not wait, nor call the queue; nil: nothing is called.
	Pressed func(bool)
}

func (o Options) withDefaults() Options {
	o.Capacity = max(o.Capacity, 1)
	if o.Share <= 0 {
		o.Share = max(o.Capacity/4, 1)
	}
	if o.Most <= 0 {
		o.Most = o.Capacity
	}
	if o.Soon <= 0 {
		o.Soon = defaultHalf
	}
	return o
}

// Queue divides a number of units among parties. Those who wait are served in this order: parties
// within their share, then parties that used least lately, then who came first. A party beyond its
// share leaves one share free while others were here lately, so that they need not wait until it
// ends. If nobody else is here, it may use everything. A Queue may be used concurrently. The units
// and costs are the caller's.
type Queue struct {
	opt Options

	mu     sync.Mutex // guards what follows
	free   int64
	high   bool // Pressed was called with true
	inUse  map[Party]int64
	usage  Usage
	lately map[Party]time.Time // when each party wanted something last
	swept  time.Time
	queue  []*claim // in the order they came
}

// claim is somebody who waits.
type claim struct {
	n       int64
	parties []Party
	granted chan struct{} // closed when it has its units
}

// NewQueue makes a queue in which all units are free.
func NewQueue(opt Options) *Queue {
	opt = opt.withDefaults()
	return &Queue{
		opt: opt, free: opt.Capacity, usage: Usage{Half: opt.Half},
		inUse: map[Party]int64{}, lately: map[Party]time.Time{},
	}
}

// Claim is what a caller has of a queue, until it calls Release. It may be used by one goroutine.
type Claim struct {
	q       *Queue
	n       int64
	parties []Party
}

// Acquire waits until n units may be used on behalf of the parties. A claim for more than one party
// may have, or than there are, is reduced to that. The only error is that of ctx.
func (q *Queue) Acquire(ctx context.Context, n int64, parties ...Party) (*Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	n, parties = min(n, q.opt.Capacity, q.opt.Most), distinct(parties)
	q.mu.Lock()
	w := &claim{n, parties, make(chan struct{})}
	q.want(parties, time.Now())
	q.queue = append(q.queue, w)
	q.serve(time.Now())
	q.mu.Unlock()
	select {
	case <-w.granted:
		return &Claim{q, n, parties}, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	select {
	case <-w.granted:
		q.giveBack(n, parties, time.Now())
	default:
		q.queue = slices.DeleteFunc(q.queue, func(o *claim) bool { return o == w })
		q.serve(time.Now()) // others may have waited for this one
	}
	return nil, ctx.Err()
}

// Try is Acquire for those who do not wait. ok is false if they would have to.
func (q *Queue) Try(n int64, parties ...Party) (c *Claim, ok bool) {
	n, parties = min(n, q.opt.Capacity, q.opt.Most), distinct(parties)
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	q.want(parties, now)
	w := &claim{n: n, parties: parties}
	if len(q.queue) > 0 || !q.mayHave(w, now) {
		return nil, false
	}
	q.take(w)
	return &Claim{q, n, parties}, true
}

// Shrink gives back all but n units.
func (c *Claim) Shrink(n int64) {
	if c.q == nil || n >= c.n {
		return
	}
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	c.q.giveBack(c.n-n, c.parties, time.Now())
	c.n = n
}

// Release gives the units back and charges what their use has cost. Further calls do nothing.
func (c *Claim) Release(cost float64) {
	if c.q == nil {
		return
	}
	q, now := c.q, time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.usage.Charge(now, cost, c.parties...)
	q.giveBack(c.n, c.parties, now)
	c.q = nil
}

// Idle reports whether all units are free.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.free == q.opt.Capacity
}

// Waiting is how many wait.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.queue)
}

// distinct returns the parties that are somebody, each once.
func distinct(parties []Party) []Party {
	out := make([]Party, 0, len(parties))
	for _, p := range parties {
		if !p.IsZero() && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// The functions below are called with mu locked.

func (q *Queue) want(parties []Party, now time.Time) {
	for _, p := range parties {
		q.lately[p] = now
	}
}

// others reports whether anybody else wanted something lately.
func (q *Queue) others(parties []Party, now time.Time) bool {
	if now.Sub(q.swept) > time.Second {
		q.swept = now
		for p, at := range q.lately {
			if now.Sub(at) > q.opt.Soon && q.inUse[p] == 0 {
				delete(q.lately, p)
			}
		}
	}
	n := len(q.lately)
	for _, p := range parties {
		if _, ok := q.lately[p]; ok {
			n--
		}
	}
	return n > 0
}

// beyond reports whether a claim would bring one of its parties beyond a limit. A party that uses
// nothing is never beyond it.
func (q *Queue) beyond(w *claim, limit int64) bool {
	for _, p := range w.parties {
		if has := q.inUse[p]; has > 0 && has+w.n > limit {
			return true
		}
	}
	return false
}

// mayHave reports whether a claim may be granted now, if it is the next.
func (q *Queue) mayHave(w *claim, now time.Time) bool {
	switch {
	case w.n > q.free || q.beyond(w, q.opt.Most):
		return false
	case q.beyond(w, q.opt.Share) && q.others(w.parties, now):
		return q.free-w.n >= q.opt.Share
	}
	return true
}

func (q *Queue) take(w *claim) {
	q.free -= w.n
	q.press()
	for _, p := range w.parties {
		q.inUse[p] += w.n
	}
}

func (q *Queue) giveBack(n int64, parties []Party, now time.Time) {
	q.free += n
	q.press()
	for _, p := range parties {
		if q.inUse[p] -= n; q.inUse[p] <= 0 {
			delete(q.inUse, p)
		}
	}
	q.serve(now)
}

// press calls Pressed if something has changed.
func (q *Queue) press() {
	if used := q.opt.Capacity - q.free; q.opt.Pressed != nil && (!q.high && used > q.opt.Capacity/2 || q.high && used < q.opt.Capacity/8) {
		q.high = !q.high
		q.opt.Pressed(q.high)
	}
}

// serve grants claims in their order until one has to wait. A claim of a party at its limit
// does not delay the others.
func (q *Queue) serve(now time.Time) {
	for {
		var best *claim
		var over bool
		var least float64
		for _, w := range q.queue {
			if q.beyond(w, q.opt.Most) {
				continue
			}
			o, u := q.beyond(w, q.opt.Share), q.usage.Of(now, w.parties...)
			if best == nil || over && !o || over == o && u < least {
				best, over, least = w, o, u
			}
		}
		if best == nil || !q.mayHave(best, now) {
			return
		}
		q.queue = slices.DeleteFunc(q.queue, func(o *claim) bool { return o == best })
		q.take(best)
		close(best.granted)
	}
}
