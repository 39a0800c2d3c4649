package frontier

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	nats "github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/tracing"
)

// takeRequest is one fetcher's request for visits, which waits until there are some or its time is
// over.
type takeRequest struct {
	take  crawl.VisitRequest
	until time.Time
	msg   *nats.Msg
}

// grantWait is how long a request waits for a host to become due. The leases of the granted visits
// begin when the request was sent.
const grantWait = 500 * time.Millisecond

// matcher pairs fetchers that ask for visits with hosts that are due, in one goroutine for all
// shards of a frontier.
type matcher struct {
	name    string          // of the frontier
	shards  int             // of the crawl
	owned   func() []*Shard // the shards that this frontier owns now
	full    func() error    // why nothing may be granted at the moment, or nil
	log     *slog.Logger
	metrics *store.Metrics
	traces  *tracing.Crawl  // nil: none are made
	slots   *schedule.Slots // of all shards

	requests chan takeRequest
	wake     chan struct{} // signalled when a host may be due earlier than was expected
	next     int           // the shard that is asked first for visits
}

func newMatcher(name string, shards int, owned func() []*Shard, full func() error, log *slog.Logger, metrics *store.Metrics, traces *tracing.Crawl, slots *schedule.Slots) *matcher {
	return &matcher{name: name, shards: shards, owned: owned, full: full, log: log, metrics: metrics, traces: traces, slots: slots,
		requests: make(chan takeRequest), wake: make(chan struct{}, 1)}
}

// run matches requests with due hosts until ctx ends. subject is where the requests arrive.
func (m *matcher) run(ctx context.Context, nc *nats.Conn, subject string) error {
	sub, err := nc.Subscribe(subject, func(msg *nats.Msg) {
		t, err := crawl.DecodeVisitRequest(msg.Data)
		if err != nil || t.Max < 1 {
			msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: time.Second}))
			return
		}
		select {
		case m.requests <- takeRequest{t, time.Now().Add(grantWait), msg}:
		case <-ctx.Done():
		}
	})
	if err != nil {
		return fmt.Errorf("frontier: subscribe: %w", err)
	}
	defer sub.Unsubscribe()
	var waiting []takeRequest
	timer := time.NewTimer(grantWait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			for _, t := range waiting {
				t.msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: time.Second}))
			}
			return nil
		case t := <-m.requests:
			waiting = append(waiting, t)
		case <-m.wake:
		case <-timer.C:
		}
		var next time.Duration
		waiting, next = m.answer(waiting, time.Now())
		timer.Reset(max(next, 200*time.Microsecond))
	}
}

// answer answers the requests for which there are visits, or whose time is over. It returns the
// others, and after which time they may have to be answered.
func (m *matcher) answer(waiting []takeRequest, now time.Time) (keep []takeRequest, next time.Duration) {
	keep, again := waiting[:0], false
	// Downloads first: Visits.Download leaves every other visit to the crawl.
	slices.SortStableFunc(waiting, func(a, b takeRequest) int { return -compareBool(a.take.Downloads, b.take.Downloads) })
	for _, t := range waiting {
		var visits []crawl.Visit
		wait, busy := true, false
		if t.take.Downloads {
			visits, wait = m.grantDownload(t.take, now)
		} else {
			m.slots.Offer(t.take.Fetcher, t.take.Slots, now)
			visits, busy = m.grant(t.take.Max, now)
		}
		again = again || busy
		if len(visits) == 0 && wait && now.Before(t.until) {
			keep = append(keep, t)
			continue
		}
		err := t.msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Visits: visits, Now: time.Now()}))
		if m.traces != nil {
			m.traceGrants(visits, now)
		}
		if err != nil {
			m.log.Warn("visits could not be sent to the fetcher; they end with their leases", "fetcher", t.take.Fetcher, "error", err)
		}
	}
	next = grantWait
	for _, t := range keep {
		next = min(next, t.until.Sub(now))
		if t.take.Downloads {
			next = min(next, downloadPoll)
		}
	}
	if len(keep) > 0 {
		due, busy := m.nextDue()
		if !due.IsZero() {
			next = min(next, due.Sub(now))
		}
		if again || busy {
			next = min(next, time.Millisecond)
		}
	}
	return keep, next
}

// traceGrants traces visits that were granted since began.
func (m *matcher) traceGrants(visits []crawl.Visit, began time.Time) {
	for i := range visits {
		v := &visits[i]
		m.traces.Visit(v.Shard, v.ID).Granted(v, began, time.Now())
	}
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// grant collects up to n visits from the shards, beginning with another one each time. A shard that
// is busy, most likely with its disk, is skipped, so that the others need not wait.
func (m *matcher) grant(n int, now time.Time) (out []crawl.Visit, busy bool) {
	m.metrics.Takes.Inc()
	if m.full() != nil {
		return nil, false
	}
	limit := schedule.MaxGrantBytes
	owned := m.owned()
	slices.SortFunc(owned, func(a, b *Shard) int { return cmp.Compare(a.Ledger.ID, b.Ledger.ID) })
	m.next++ // the order of a map would prefer some of few shards
	for i := range owned {
		s := owned[(i+m.next)%len(owned)]
		if len(out) >= n || limit <= 0 {
			break
		}
		if !s.Ledger.Mu.TryLock() {
			busy = true
			continue
		}
		var visits []crawl.Visit
		var size int
		err := s.Ledger.Guarded(func() (err error) {
			if err = s.beforeGrant(now); err == nil {
				visits, size, err = s.Visits.Grant(n-len(out), limit, now)
			}
			return err
		})
		limit -= size
		s.Ledger.Mu.Unlock()
		if err != nil {
			continue // keepCommitted ends the shard with the same error
		}
		out = append(out, visits...)
	}
	return out, busy
}

func (m *matcher) nextDue() (t time.Time, busy bool) {
	if m.full() != nil {
		return t, false
	}
	for _, s := range m.owned() {
		if !s.Ledger.Mu.TryLock() {
			busy = true
			continue
		}
		_ = s.Ledger.Guarded(func() error {
			if d := s.Visits.NextDue(time.Now()); !d.IsZero() && (t.IsZero() || d.Before(t)) {
				t = d
			}
			return nil
		})
		s.Ledger.Mu.Unlock()
	}
	return t, busy
}
