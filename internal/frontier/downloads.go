package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// downloadPoll is how often a waiting request for a download is checked again, because no event
// reports that its host has become free.
const downloadPoll = 20 * time.Millisecond

// grantDownload grants a visit for downloads to the host of t.Origin, or nothing while it may not
// be visited. here is false when another frontier has the shard.
//
// The fetchers of an embedded frontier die with it, so the next one need not wait for their leases.
// A download may run in another process, which does not die. Unless that process has the frontier's
// own name, the shard records this permanently before anything is granted.
func (m *matcher) grantDownload(t crawl.VisitRequest, now time.Time) (visits []crawl.Visit, here bool) {
	if m.full() != nil {
		return nil, true
	}
	id := crawl.ShardOf(t.Origin.Host, m.shards)
	for _, s := range m.owned() {
		if s.Ledger.ID != id {
			continue
		}
		if !s.Ledger.Mu.TryLock() {
			return nil, true // busy: try again soon
		}
		defer s.Ledger.Mu.Unlock()
		var v *crawl.Visit
		err := s.Ledger.Guarded(func() (err error) {
			if t.Fetcher != m.name && !s.Ledger.Meta.Strangers && s.Visits.MayGrant(now) {
				s.Ledger.Meta.GrantedStrangers()
				if err := s.Ledger.Commit(true); err != nil {
					return err
				}
			}
			if err = s.beforeGrant(now); err == nil {
				v, err = s.Visits.Download(t.Origin, t.For, now)
			}
			return err
		})
		if err != nil || v == nil {
			return nil, true // keepCommitted ends the shard with the same error
		}
		return []crawl.Visit{*v}, true
	}
	return nil, false
}
