package frontier

import (
	"slices"
	"strings"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/ledger"
	"github.com/curtsy/curtsy/pkg/canon"

	"time"
)

// applyApart takes in what a fetcher learned of a file that says more of the use of an origin's
// pages. at is when the fact was sent. Applied again it changes nothing.
func (s *shard) applyApart(h *ledger.Host, o *ledger.Origin, a *crawl.Apart, at time.Time) error {
	if a.URL.Origin() != o.Origin || a.State == crawl.ApartUnknown {
		return nil
	}
	i := slices.IndexFunc(o.Apart, func(k ledger.Apart) bool { return k.URL == a.URL })
	if i < 0 {
		if len(o.Apart) >= crawl.MaxAparts { // robots.txt names others now
			gone := o.Apart[0].URL
			o.Apart = slices.Delete(slices.Clone(o.Apart), 0, 1)
			if err := s.ledger.Drop(ledger.BucketRobots, ledger.ApartKey(h.ID, gone)); err != nil {
				return err
			}
		}
		i = len(o.Apart)
		o.Apart = append(slices.Clone(o.Apart), ledger.Apart{URL: canon.URL(strings.Clone(string(a.URL)))})
	}
	k := &o.Apart[i]
	k.State, k.Reason, k.Due = a.State, strings.Clone(crawl.ShortDetail(a.Reason)), at.Add(a.Fresh)
	s.ledger.Touch(h)
	if a.State != crawl.ApartRead {
		k.Digest = nil
		return s.ledger.Drop(ledger.BucketRobots, ledger.ApartKey(h.ID, k.URL))
	}
	k.Digest = slices.Clone(a.Digest)
	return s.ledger.Put(ledger.BucketRobots, ledger.ApartKey(h.ID, k.URL), a.Body)
}
