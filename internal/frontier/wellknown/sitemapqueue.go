package wellknown

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
)

// Sitemaps that are to be read wait on disk; a few of each host are auxiliary requests at a time.
// Those that could not be fetched wait in memory for the next attempt. The spec determines which
// origins are asked for their sitemaps again, and with re-crawl the time does.

func (s *Sitemaps) queueSitemap(h *hosts.Host, key []byte) error {
	if err := s.ledger.Put(store.BucketSitequeue, key, []byte{}); err != nil {
		return err
	}
	h.QueueSitemap()
	return s.topUpSitemaps(h)
}

// topUpSitemaps makes auxiliary requests of the first sitemaps that wait on disk, while there are
// few of them.
func (s *Sitemaps) topUpSitemaps(h *hosts.Host) error {
	if !s.ledger.Judge.ReadsSitemaps() {
		return nil
	}
	n := 0
	for i := range h.Aux {
		if h.Aux[i].Kind == crawl.AuxSitemap {
			n++
		}
	}
	if n >= SitemapAux/2 || h.SitemapsDue <= n {
		return nil
	}
	c := s.ledger.Tx.Bucket(store.BucketSitequeue).Cursor()
	prefix := h.ID.Append(nil)
	for k, _ := c.Seek(prefix); n < SitemapAux && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		r, _, err := s.sitemapRecord(k)
		if err != nil {
			return err
		}
		e, ok := s.sitemapRequest(k, &r)
		if ok && !slices.Contains(h.Aux, e) {
			h.OfferAux(e)
			n++
		}
	}
	s.ledger.Unschedule(h)
	return nil
}

// load restores the waiting sitemaps after the file was opened, or when sitemaps are wanted again.
func (s *Sitemaps) load(time.Time) error {
	s.Retries = nil
	if !s.ledger.Judge.ReadsSitemaps() {
		return nil
	}
	for _, h := range s.ledger.Hosts { // evicted hosts have none
		if h.SitemapsDue > 0 {
			if err := s.topUpSitemaps(h); err != nil {
				return err
			}
		}
	}
	return s.ledger.Tx.Bucket(store.BucketSitemaps).ForEach(func(k, v []byte) error {
		var r sitemap
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("sitemap %q: %w", k[4:], err)
		}
		if r.Failures > 0 && r.Failures < polite.SitemapTries && s.ledger.Tx.Bucket(store.BucketSitequeue).Get(k) == nil {
			s.Retries = append(s.Retries, SitemapRetryAt{slices.Clone(k), r.Due})
		}
		return nil
	})
}

// SitemapRetryAt is a sitemap that could not be fetched and is requested again.
type SitemapRetryAt struct {
	Key []byte
	at  time.Time
}

// retrySitemaps queues those that are due.
func (s *Sitemaps) retrySitemaps(now time.Time) error {
	var failed error
	s.Retries = slices.DeleteFunc(s.Retries, func(r SitemapRetryAt) bool {
		if now.Before(r.at) || failed != nil {
			return false
		}
		h, err := s.ledger.HostWith(store.KeyHost(r.Key))
		if h == nil || err != nil {
			failed = err
			return err == nil
		}
		e, ok := s.sitemapRequest(r.Key, &sitemap{})
		if ok && s.readsSitemap(h, e.URL) && s.ledger.Tx.Bucket(store.BucketSitequeue).Get(r.Key) == nil {
			failed = s.queueSitemap(h, r.Key)
		}
		return true
	})
	return failed
}

// DueBy is the number of sitemaps that are requested again by then.
func (s *Sitemaps) DueBy(t time.Time) (n int64) {
	for _, r := range s.Retries {
		if !r.at.After(t) {
			n++
		}
	}
	return n
}

// dropSitemap removes a sitemap that was answered from the queue.
func (s *Sitemaps) dropSitemap(h *hosts.Host, e *crawl.AuxRequest, _ time.Time) error {
	key := SitemapKey(h.ID, e)
	queue := s.ledger.Tx.Bucket(store.BucketSitequeue)
	if queue.Get(key) == nil {
		return nil
	}
	r, _, err := s.sitemapRecord(key)
	if err != nil || e.Hop > r.Hop { // found at a smaller depth meanwhile: it is read again
		return err
	}
	if err := s.ledger.Drop(store.BucketSitequeue, key); err != nil {
		return err
	}
	h.DequeueSitemaps(1)
	if r.Failures > 0 && r.Failures < polite.SitemapTries {
		s.Retries = append(s.Retries, SitemapRetryAt{key, r.Due})
	}
	return s.topUpSitemaps(h)
}

// sitemapsMirrorChanged removes queued sitemaps of an origin that has become a mirror. An origin
// that has ceased to be one is asked for its sitemaps again.
func (s *Sitemaps) sitemapsMirrorChanged(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !o.Mirror.Mirrored() {
		o.AskSitemapsAnew()
		return nil
	}
	queue := s.ledger.Tx.Bucket(store.BucketSitequeue)
	var gone [][]byte
	c := queue.Cursor()
	prefix := h.ID.Append(nil)
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if e, ok := s.sitemapRequest(k, &sitemap{}); ok && e.URL.Origin() == o.Origin {
			gone = append(gone, slices.Clone(k))
		}
	}
	for _, k := range gone {
		if err := s.ledger.Drop(store.BucketSitequeue, k); err != nil {
			return err
		}
	}
	h.DequeueSitemaps(len(gone))
	h.WithdrawAux(func(e crawl.AuxRequest) bool { return e.Kind == crawl.AuxSitemap && e.URL.Origin() == o.Origin })
	return s.topUpSitemaps(h)
}

// begin asks all origins for their sitemaps if a setting has changed that determines which are
// read. It drops the requests when no sitemaps are read any more.
func (s *Sitemaps) begin() error {
	text := s.ledger.Judge.SitemapText()
	if s.ledger.Meta.Sitemaps == text {
		return nil
	}
	if text != "" {
		s.ledger.Meta.AskedSitemaps("") // so that a crash makes it begin again
		s.Retries = nil
		s.features.AskAll(func() { s.ledger.Meta.AskedSitemaps(s.ledger.Judge.SitemapText()) })
		return s.load(time.Now())
	}
	s.ledger.Meta.AskedSitemaps("")
	s.Retries = nil
	for _, h := range s.ledger.Hosts {
		h.WithdrawAux(func(e crawl.AuxRequest) bool { return e.Kind == crawl.AuxSitemap })
	}
	return nil
}

// Upkeep queues sitemaps that are to be retried, and those that are to be read again: with re-crawl
// after a day, with rounds in each round. Sitemaps are read even while no page of the site is due.
func (s *Sitemaps) Upkeep(now time.Time) error {
	if s.ledger.Phase.MayWrite() != nil || !s.ledger.Judge.ReadsSitemaps() {
		return nil
	}
	if s.ledger.Judge.Spec.Refreshes() && !s.features.Asking() && now.Sub(s.askedAll) >= s.lookEvery() {
		s.askedAll = now
		for _, h := range s.ledger.SortedHosts() {
			if slices.ContainsFunc(h.Origins, func(o hosts.Origin) bool {
				return !o.SitemapsAsked.IsZero() && !now.Before(s.ledger.SitemapsNext(&o))
			}) {
				s.features.AskLater(h)
			}
		}
	}
	return s.retrySitemaps(now)
}

// sitemapsLook is the interval at which hosts are searched for those that are to be asked again.
const sitemapsLook = 10 * time.Minute

// lookEvery is that interval, or less if rounds are short.
func (s *Sitemaps) lookEvery() time.Duration {
	if every := s.ledger.Judge.Spec.Every; every > 0 {
		return min(sitemapsLook, every/16)
	}
	return sitemapsLook
}
