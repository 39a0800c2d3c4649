package frontier

import (
	"time"

	nats "github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// serveLeases answers the fetchers' requests about one shard until stop is called: renewals,
// robots.txt bodies by digest, and plans of dispatches. A frontier that may not act for the shard
// does not answer. A fetcher asks again as long as its lease lasts, and another owner may answer by
// then.
func (f *Frontier) serveLeases(s *Shard) (stop func(), err error) {
	renew, err := f.q.NC.Subscribe(f.names.Renew(s.Ledger.ID), func(m *nats.Msg) {
		r, err := crawl.DecodeRenew(m.Data)
		if err != nil {
			return
		}
		s.Ledger.Mu.Lock()
		mute := !s.Ledger.Phase.MayRenew() || !s.Ledger.Valid()
		var ans crawl.Renewed
		err = s.Ledger.Guarded(func() error { ans = s.Visits.Renew(r.Visits, time.Now()); return nil })
		s.Ledger.Mu.Unlock()
		if mute || err != nil {
			return
		}
		m.Respond(crawl.AppendRenewed(nil, ans))
	})
	if err != nil {
		return nil, err
	}
	bodies, err := f.q.NC.Subscribe(f.names.Robots(s.Ledger.ID), func(m *nats.Msg) {
		s.Ledger.Mu.Lock()
		var body []byte
		if ref, ok := s.Visits.Digests[string(m.Data)]; ok && s.Ledger.Phase.MayRead() {
			s.Ledger.Guarded(func() error {
				body = append(body, s.Ledger.Tx.Bucket(store.BucketRobots).Get(ref.Key())...)
				return nil
			})
		}
		s.Ledger.Mu.Unlock()
		m.Respond(body)
	})
	if err != nil {
		renew.Unsubscribe()
		return nil, err
	}
	plans, err := f.servePlans(s)
	if err != nil {
		renew.Unsubscribe()
		bodies.Unsubscribe()
		return nil, err
	}
	return func() {
		renew.Unsubscribe()
		bodies.Unsubscribe()
		plans.Unsubscribe()
	}, nil
}

// servePlans answers the fetchers' requests for plans of dispatches on behalf of one shard.
func (f *Frontier) servePlans(s *Shard) (*nats.Subscription, error) {
	return f.q.NC.Subscribe(f.names.Dispatch(s.Ledger.ID), func(m *nats.Msg) {
		q, err := crawl.DecodeDispatchQuery(m.Data)
		if err != nil {
			return
		}
		s.Ledger.Mu.Lock()
		mute := !s.Ledger.Phase.Active() || !s.Ledger.Valid()
		var plan crawl.DispatchPlan
		if !mute {
			err = s.Ledger.Guarded(func() error {
				var err error
				plan, err = s.Dispatches.Plan(q, time.Now())
				return err
			})
		}
		s.Ledger.Mu.Unlock()
		if mute || err != nil {
			return // the fetcher asks again, and another owner may answer by then
		}
		m.Respond(crawl.AppendDispatchPlan(nil, plan))
	})
}
