package frontier

import (
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// downloadPoll is how often a parked wish for a download is looked at again: nobody tells when its
// host becomes free.
const downloadPoll = 20 * time.Millisecond

// grantDownload grants a visit for downloads to the host of t.Origin, or nothing while it may not
// be visited. here is false when the shard is another frontier's.
//
// An embedded frontier's fetchers die with it, so that its successor need not wait for their
// leases. A download may be run by another process, which does not die. Unless that has the
// frontier's own name, the shard remembers it for good before anything is granted.
func (f *Frontier) grantDownload(t crawl.VisitRequest, now time.Time) (visits []crawl.Visit, here bool) {
	if f.full() != nil {
		return nil, true
	}
	id := crawl.ShardOf(t.Origin.Host, f.spec().Shards)
	for _, s := range f.open() {
		if s.ledger.ID != id {
			continue
		}
		if !s.ledger.Mu.TryLock() {
			return nil, true // busy: look again soon
		}
		defer s.ledger.Mu.Unlock()
		var v *crawl.Visit
		err := s.ledger.Guarded(func() (err error) {
			if t.Fetcher != f.opt.Instance && !s.ledger.Meta.Strangers && s.visits.MayGrant(now) {
				s.ledger.GrantedStrangers()
				if err := s.ledger.Commit(true); err != nil {
					return err
				}
			}
			if err = s.beforeGrant(now); err == nil {
				v, err = s.visits.Download(t.Origin, now)
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
