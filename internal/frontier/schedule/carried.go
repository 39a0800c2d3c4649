package schedule

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// keyVisits is the table of the visits that were outstanding when the shard was handed over. The
// file contains it only between that moment and the next opening.
var keyVisits = []byte("visits")

// carried is an outstanding or expired visit that is passed on to the shard's next owner. It has no
// times: its lease begins anew there.
type carried struct {
	ID    crawl.VisitID `json:"id"`
	Host  store.HostID  `json:"host,omitempty"`
	Order []uint64      `json:"urls,omitempty"` // of its URLs that are still queued
	// Expired is not 0 for an expired visit: the number of URLs that may yet be reported.
	Expired int `json:"ghost,omitempty"`
}

// Save writes the table of outstanding visits.
func (s *Visits) Save() error {
	var list []carried
	for id, v := range s.Outstanding {
		c := carried{ID: id, Host: v.Host.ID}
		for _, u := range v.List {
			c.Order = append(c.Order, u.Order)
		}
		list = append(list, c)
	}
	for _, g := range s.Expired {
		list = append(list, carried{ID: g.ID, Expired: g.urls})
	}
	slices.SortFunc(list, func(a, b carried) int { return a.ID.Compare(b.ID) })
	v, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketMeta, keyVisits, v)
}

// TakeSaved removes the table from the file and returns it.
func TakeSaved(tx *bolt.Tx) (list []carried, err error) {
	b := tx.Bucket(store.BucketMeta)
	if v := b.Get(keyVisits); v != nil {
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("read the table of visits: %w", err)
		}
	}
	return list, b.Delete(keyVisits)
}

// CarryOn makes the visits that were handed over with the shard outstanding here. Each gets a whole
// lease from now, which ends later than its fetcher may assume.
func (s *Visits) CarryOn(list []carried, now time.Time) error {
	records := s.ledger.Records()
	for _, c := range list {
		if c.Expired > 0 {
			s.Expired = append(s.Expired, ExpiredVisit{c.ID, c.Expired, now.Add(budget.ExpiredTime)})
			continue
		}
		h, err := s.ledger.HostWith(c.Host)
		if err != nil {
			return err
		}
		if h == nil || h.Visit != nil {
			return fmt.Errorf("visit %v to host %d: %w", c.ID, c.Host, store.ErrRecord)
		}
		v := &hosts.Visit{ID: c.ID, Host: h, URLs: len(c.Order), Since: now, Until: now.Add(times.OwnerLease)}
		for _, order := range c.Order {
			key := store.URLKey(nil, h.ID, order)
			r, err := urls.DecodeRecord(key, records.Get(key))
			if err != nil {
				return err
			}
			if r.Class == crawl.Queued {
				v.Add(r.URL, r.Order)
			}
		}
		s.Outstanding[v.ID] = v
		h.ResumeVisit(v)
		s.AllSlots.Take(v, now)
		s.urls.AddInFlight(len(v.List))
	}
	return nil
}
