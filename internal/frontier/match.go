package frontier

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	nats "github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
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

// match matches requests with due hosts, in one goroutine for all shards.
func (f *Frontier) match(ctx context.Context) error {
	sub, err := f.q.NC.Subscribe(f.names.VisitRequest(f.opt.Instance), func(m *nats.Msg) {
		t, err := crawl.DecodeVisitRequest(m.Data)
		if err != nil || t.Max < 1 {
			m.Respond(crawl.AppendGrants(nil, crawl.Grants{Wait: time.Second}))
			return
		}
		select {
		case f.takes <- takeRequest{t, time.Now().Add(grantWait), m}:
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
		case t := <-f.takes:
			waiting = append(waiting, t)
		case <-f.wake:
		case <-timer.C:
		}
		now := time.Now()
		keep, again := waiting[:0], false
		// Downloads first: Visits.Download leaves every other visit to the crawl.
		slices.SortStableFunc(waiting, func(a, b takeRequest) int { return -compareBool(a.take.Downloads, b.take.Downloads) })
		for _, t := range waiting {
			var visits []crawl.Visit
			wait, busy := true, false
			if t.take.Downloads {
				visits, wait = f.grantDownload(t.take, now)
			} else {
				visits, busy = f.grant(t.take.Max, now)
			}
			again = again || busy
			if len(visits) == 0 && wait && now.Before(t.until) {
				keep = append(keep, t)
				continue
			}
			err := t.msg.Respond(crawl.AppendGrants(nil, crawl.Grants{Visits: visits, Now: time.Now()}))
			if f.traces != nil {
				f.traceGrants(visits, now)
			}
			if err != nil {
				f.log.Warn("visits could not be sent to the fetcher; they end with their leases", "fetcher", t.take.Fetcher, "error", err)
			}
		}
		waiting = keep
		next := grantWait
		for _, t := range waiting {
			next = min(next, t.until.Sub(now))
			if t.take.Downloads {
				next = min(next, downloadPoll)
			}
		}
		if len(waiting) > 0 {
			due, busy := f.nextDue()
			if !due.IsZero() {
				next = min(next, due.Sub(now))
			}
			if again || busy {
				next = min(next, time.Millisecond)
			}
		}
		timer.Reset(max(next, 200*time.Microsecond))
	}
}

// traceGrants traces visits that were granted since began.
func (f *Frontier) traceGrants(visits []crawl.Visit, began time.Time) {
	for i := range visits {
		v := &visits[i]
		f.traces.Visit(v.Shard, v.ID).Granted(v, began, time.Now())
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

// open returns the owned shards, in no order. A shard whose ownership has expired is left out: most
// likely another frontier owns it, and answers for it.
func (f *Frontier) open() (owned []*Shard) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.shards {
		if s.ledger.Valid() {
			owned = append(owned, s)
		}
	}
	return owned
}

// grant collects up to n visits from the shards, beginning with another one each time. A shard that
// is busy, most likely with its disk, is skipped, so that the others need not wait.
func (f *Frontier) grant(n int, now time.Time) (out []crawl.Visit, busy bool) {
	f.met.Takes.Inc()
	if f.full() != nil {
		return nil, false
	}
	limit := schedule.MaxGrantBytes
	owned := f.open()
	slices.SortFunc(owned, func(a, b *Shard) int { return cmp.Compare(a.ledger.ID, b.ledger.ID) })
	f.next++ // the order of a map would prefer some of few shards
	for i := range owned {
		s := owned[(i+f.next)%len(owned)]
		if len(out) >= n || limit <= 0 {
			break
		}
		if !s.ledger.Mu.TryLock() {
			busy = true
			continue
		}
		var visits []crawl.Visit
		var size int
		err := s.ledger.Guarded(func() (err error) {
			if err = s.beforeGrant(now); err == nil {
				visits, size, err = s.Visits.Grant(n-len(out), limit, now)
			}
			return err
		})
		limit -= size
		s.ledger.Mu.Unlock()
		if err != nil {
			continue // keepCommitted ends the shard with the same error
		}
		out = append(out, visits...)
	}
	return out, busy
}

func (f *Frontier) nextDue() (t time.Time, busy bool) {
	if f.full() != nil {
		return t, false
	}
	for _, s := range f.open() {
		if !s.ledger.Mu.TryLock() {
			busy = true
			continue
		}
		_ = s.ledger.Guarded(func() error {
			if d := s.Visits.NextDue(time.Now()); !d.IsZero() && (t.IsZero() || d.Before(t)) {
				t = d
			}
			return nil
		})
		s.ledger.Mu.Unlock()
	}
	return t, busy
}
