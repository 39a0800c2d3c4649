package dispatch

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

// refetch is the record of a pass over the URLs of an origin whose pages a dropped server sent.
type refetch struct {
	Visits []crawl.VisitID `json:"visits"`
	Next   uint64          `json:"next,omitempty"` // order of the next URL
}

// drop ends the comparison that is running: the server is not used for a while, and what it sent is
// fetched again. It writes the record.
func (s *checks) drop(h *hosts.Host, i int, site *Site, reason string, now time.Time) error {
	c := site.Check
	until := now.Add(DroppedFor).UTC()
	site.Drops = slices.DeleteFunc(site.Drops, func(d Drop) bool { return d.Server == c.Server })
	site.Drops = append(site.Drops, Drop{Server: c.Server, Until: until, Reason: crawl.ShortDetail(reason)})
	s.ledger.Meta.CountDispatches(store.DispatchCounts{Dropped: 1})
	s.ledger.Metrics.DispatchDropped.Inc()
	s.ledger.Log.Warn("a server of mobile robots is not used any more", "origin", site.origin(), "server", crawl.AgentAddress(c.Server), "reason", reason,
		"until", until)
	b := s.ledger.Tx.Bucket(store.BucketDispatchRefetch)
	again := refetch{Visits: site.ofServer(c.Server)}
	if v := b.Get(site.key); v != nil { // another server of the origin was dropped just before
		var was refetch
		if err := json.Unmarshal(v, &was); err != nil {
			return fmt.Errorf("%w: pages of %s that are fetched again: %w", store.ErrRecord, site.origin(), err)
		}
		again.Visits = append(again.Visits, was.Visits...)
	}
	if err := s.putRefetch(site.key, &again); err != nil {
		return err
	}
	return s.end(h, i, site, now)
}

func (s *checks) putRefetch(key []byte, r *refetch) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketDispatchRefetch, key, v)
}

// refetches reports that pages of a dropped server are still to be queued.
func (s *checks) refetches() bool {
	b := s.ledger.Tx.Bucket(store.BucketDispatchRefetch)
	if b == nil {
		return false // a file of an older version, opened for reading
	}
	k, _ := b.Cursor().First()
	return k != nil
}

// refetchSome is a pass that has the pages of dropped servers fetched again. Like all passes it
// waits until the log is read.
func (s *checks) refetchSome(now time.Time) (more bool, err error) {
	k, v := s.ledger.Tx.Bucket(store.BucketDispatchRefetch).Cursor().First()
	if k == nil {
		return false, nil
	}
	key := slices.Clone(k)
	var p refetch
	if err := json.Unmarshal(v, &p); err != nil {
		return false, fmt.Errorf("%w: pages of %q that are fetched again: %w", store.ErrRecord, key[4:], err)
	}
	id := store.KeyHost(key)
	next, err := s.urls.Stretch(store.URLKey(nil, id, p.Next), store.PassStretch, func(h *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		if h.ID != id || r.Class == crawl.Queued || !slices.Contains(p.Visits, r.Visit) {
			return false, nil
		}
		r.CopyForgotten()
		return true, s.above.Refetch(h, r)
	})
	if err != nil {
		return false, err
	}
	if next != nil && store.KeyHost(next) == id {
		p.Next = binary.BigEndian.Uint64(next[4:])
		return true, s.putRefetch(key, &p)
	}
	if err := s.ledger.Drop(store.BucketDispatchRefetch, key); err != nil {
		return false, err
	}
	return s.refetches(), nil
}
