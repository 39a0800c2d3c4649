package frontier

import (
	"time"

	nats "github.com/nats-io/nats.go"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// serveLeases answers the fetchers' requests about one shard until stop is called: renewals, and
// robots.txt bodies by digest. A frontier that may not act for the shard does not answer. A fetcher
// asks again as long as its lease lasts, and another owner may answer by then.
func (f *Frontier) serveLeases(s *Shard) (stop func(), err error) {
	renew, err := f.q.NC.Subscribe(f.names.Renew(s.ledger.ID), func(m *nats.Msg) {
		r, err := crawl.DecodeRenew(m.Data)
		if err != nil {
			return
		}
		s.ledger.Mu.Lock()
		mute := !s.ledger.Phase.MayRenew() || !s.ledger.Valid()
		var ans crawl.Renewed
		err = s.ledger.Guarded(func() error { ans = s.Visits.Renew(r.Visits, time.Now()); return nil })
		s.ledger.Mu.Unlock()
		if mute || err != nil {
			return
		}
		m.Respond(crawl.AppendRenewed(nil, ans))
	})
	if err != nil {
		return nil, err
	}
	bodies, err := f.q.NC.Subscribe(f.names.Robots(s.ledger.ID), func(m *nats.Msg) {
		s.ledger.Mu.Lock()
		var body []byte
		if ref, ok := s.Visits.Digests[string(m.Data)]; ok && s.ledger.Phase.MayRead() {
			s.ledger.Guarded(func() error {
				body = append(body, s.ledger.Tx.Bucket(store.BucketRobots).Get(ref.Key())...)
				return nil
			})
		}
		s.ledger.Mu.Unlock()
		m.Respond(body)
	})
	if err != nil {
		renew.Unsubscribe()
		return nil, err
	}
	return func() {
		renew.Unsubscribe()
		bodies.Unsubscribe()
	}, nil
}
