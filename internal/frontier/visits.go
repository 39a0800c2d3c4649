package frontier

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
)

// keyVisits is the table of the visits that were outstanding when the shard was handed over. It stands in the file only
// between that and the next opening.
var keyVisits = []byte("visits")

// carried is an outstanding visit as it travels to the shard's next owner, or a ghost. It has no times: its lease
// begins anew there.
type carried struct {
	ID    crawl.VisitID `json:"id"`
	Host  hostID        `json:"host,omitempty"`
	Order []uint64      `json:"urls,omitempty"`  // of its URLs, those still queued
	Ghost int           `json:"ghost,omitempty"` // not a visit any more: the number of URLs that may yet be told of
}

// saveVisits writes the table of outstanding visits.
func (s *shard) saveVisits() error {
	var list []carried
	for id, v := range s.visits {
		c := carried{ID: id, Host: v.host.ID}
		for _, u := range v.list {
			c.Order = append(c.Order, u.order)
		}
		list = append(list, c)
	}
	for _, g := range s.ghosts {
		list = append(list, carried{ID: g.id, Ghost: g.urls})
	}
	slices.SortFunc(list, func(a, b carried) int { return a.ID.Compare(b.ID) })
	v, err := json.Marshal(list)
	if err != nil {
		return err
	}
	s.changes++
	return s.tx.Bucket(bucketMeta).Put(keyVisits, v)
}

// takeVisits removes the table from the file and returns it.
func takeVisits(tx *bolt.Tx) (list []carried, err error) {
	b := tx.Bucket(bucketMeta)
	if v := b.Get(keyVisits); v != nil {
		if err := json.Unmarshal(v, &list); err != nil {
			return nil, fmt.Errorf("read the table of visits: %w", err)
		}
	}
	return list, b.Delete(keyVisits)
}

// carryOn makes the visits that were handed over with the shard outstanding here: each has a whole lease from now, which
// is later than its fetcher may count.
func (s *shard) carryOn(list []carried, now time.Time) error {
	urls := s.tx.Bucket(bucketURLs)
	for _, c := range list {
		if c.Ghost > 0 {
			s.ghosts = append(s.ghosts, ghost{c.ID, c.Ghost, now.Add(ghostTime)})
			continue
		}
		h := s.byID[c.Host]
		if h == nil || h.visit != nil {
			return fmt.Errorf("visit %v to host %d: %w", c.ID, c.Host, errRecord)
		}
		v := &visit{id: c.ID, host: h, urls: len(c.Order), until: now.Add(leaseOwner)}
		for _, order := range c.Order {
			key := urlKey(nil, h.ID, order)
			r, err := decodeRecord(key, urls.Get(key))
			if err != nil {
				return err
			}
			if r.Class == crawl.Queued {
				v.list = append(v.list, inVisit{r.URL, r.Order})
			}
		}
		s.visits[v.id], h.visit = v, v
		s.inFlight += int64(len(v.list))
		s.reschedule(h, now)
	}
	return nil
}
