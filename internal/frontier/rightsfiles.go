package frontier

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/pkg/canon"

	"time"
)

// applyRights applies what a fetcher found about a rights file of an origin. at is when the report
// was sent. A second call has no effect.
func (s *Shard) applyRights(h *hosts.Host, o *hosts.Origin, a *crawl.RightsFile, at time.Time) error {
	if a.URL.Origin() != o.Origin || a.State == crawl.RightsUnknown {
		return nil
	}
	i := slices.IndexFunc(o.Rights, func(k hosts.RightsFile) bool { return k.URL == a.URL })
	if i < 0 {
		if len(o.Rights) >= crawl.MaxAparts { // robots.txt names others now
			gone := o.Rights[0].URL
			o.Rights = slices.Delete(slices.Clone(o.Rights), 0, 1)
			if err := s.ledger.Drop(hosts.BucketRobots, hosts.RightsKey(h.ID, gone)); err != nil {
				return err
			}
		}
		i = len(o.Rights)
		o.Rights = append(slices.Clone(o.Rights), hosts.RightsFile{URL: canon.URL(strings.Clone(string(a.URL)))})
	}
	k := &o.Rights[i]
	k.State, k.Reason, k.Due = a.State, strings.Clone(crawl.ShortDetail(a.Reason)), at.Add(a.Fresh)
	s.ledger.MarkDirty(h)
	if a.State != crawl.RightsRead {
		k.Digest = nil
		return s.ledger.Drop(hosts.BucketRobots, hosts.RightsKey(h.ID, k.URL))
	}
	k.Digest = slices.Clone(a.Digest)
	return s.ledger.Put(hosts.BucketRobots, hosts.RightsKey(h.ID, k.URL), a.Body)
}
