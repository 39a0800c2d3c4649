package frontier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
)

// Sitemaps that are to be read wait on disk; a few of each host are errands at a time. Those that could not be had wait in memory for
// their next try. Which origins are to be asked after theirs again follows from the spec, and with re-crawl from the time.

func (s *shard) queueSitemap(h *host, key []byte, now time.Time) error {
	if err := s.tx.Bucket(bucketSitequeue).Put(key, []byte{}); err != nil {
		return err
	}
	h.SitemapsDue++
	s.touch(h)
	return s.topUpSitemaps(h, now)
}

// topUpSitemaps makes errands of the first sitemaps that wait on disk, as long as there are few of them.
func (s *shard) topUpSitemaps(h *host, now time.Time) error {
	if !s.j.readsSitemaps() {
		return nil
	}
	n := 0
	for i := range h.errands {
		if h.errands[i].Kind == crawl.ErrandSitemap {
			n++
		}
	}
	if n >= sitemapErrands/2 || h.SitemapsDue <= n {
		return nil
	}
	c := s.tx.Bucket(bucketSitequeue).Cursor()
	prefix := h.ID.append(nil)
	for k, _ := c.Seek(prefix); n < sitemapErrands && bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		r, _, err := s.sitemapRecord(k)
		if err != nil {
			return err
		}
		e, ok := s.sitemapErrand(k, &r)
		if ok && !slices.Contains(h.errands, e) {
			h.errands = append(h.errands, e)
			n++
		}
	}
	s.reschedule(h, now)
	return nil
}

// loadSitemaps restores what waits after the file was opened, or after sitemaps are wanted again.
func (s *shard) loadSitemaps(now time.Time) error {
	if !s.j.readsSitemaps() {
		return nil
	}
	for _, h := range s.hosts {
		if h.SitemapsDue > 0 {
			if err := s.topUpSitemaps(h, now); err != nil {
				return err
			}
		}
	}
	return s.tx.Bucket(bucketSitemaps).ForEach(func(k, v []byte) error {
		var r sitemap
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("sitemap %q: %w", k[4:], err)
		}
		if r.Failures > 0 && r.Failures < sitemapTries && s.tx.Bucket(bucketSitequeue).Get(k) == nil {
			s.retries = append(s.retries, sitemapRetryAt{slices.Clone(k), r.Due})
		}
		return nil
	})
}

// sitemapRetryAt is a sitemap that could not be had and is asked for once more.
type sitemapRetryAt struct {
	key []byte
	at  time.Time
}

// retrySitemaps queues those whose time has come.
func (s *shard) retrySitemaps(now time.Time) error {
	var failed error
	s.retries = slices.DeleteFunc(s.retries, func(r sitemapRetryAt) bool {
		h := s.byID[keyHost(r.key)]
		if now.Before(r.at) || h == nil || failed != nil {
			return h == nil
		}
		e, ok := s.sitemapErrand(r.key, &sitemap{})
		if ok && s.readsSitemap(h, e.URL) && s.tx.Bucket(bucketSitequeue).Get(r.key) == nil {
			failed = s.queueSitemap(h, r.key, now)
		}
		return true
	})
	return failed
}

// sitemapsDueBy is how many sitemaps are asked for once more by then.
func (s *shard) sitemapsDueBy(t time.Time) (n int64) {
	for _, r := range s.retries {
		if !r.at.After(t) {
			n++
		}
	}
	return n
}

// dropSitemap takes a sitemap that was answered out of the queue.
func (s *shard) dropSitemap(h *host, e *crawl.Errand, now time.Time) error {
	key := sitemapKey(h.ID, e)
	queue := s.tx.Bucket(bucketSitequeue)
	if queue.Get(key) == nil {
		return nil
	}
	r, _, err := s.sitemapRecord(key)
	if err != nil || e.Hop > r.Hop { // found nearer meanwhile: it is read once more
		return err
	}
	if err := queue.Delete(key); err != nil {
		return err
	}
	h.SitemapsDue--
	s.touch(h)
	if r.Failures > 0 && r.Failures < sitemapTries {
		s.retries = append(s.retries, sitemapRetryAt{key, r.Due})
	}
	return s.topUpSitemaps(h, now)
}

// mirrorSitemaps follows an origin's becoming a mirror, or none any more: what is queued of its sitemaps is not read, or it is asked
// for them anew.
func (s *shard) mirrorSitemaps(h *host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !o.Mirror.mirrored() {
		o.SitemapsAsked = time.Time{}
		return s.askSitemaps(h, o, now)
	}
	queue := s.tx.Bucket(bucketSitequeue)
	var gone [][]byte
	c := queue.Cursor()
	prefix := h.ID.append(nil)
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		if e, ok := s.sitemapErrand(k, &sitemap{}); ok && e.URL.Origin() == o.Origin {
			gone = append(gone, slices.Clone(k))
		}
	}
	for _, k := range gone {
		if err := queue.Delete(k); err != nil {
			return err
		}
	}
	h.SitemapsDue -= len(gone)
	h.errands = slices.DeleteFunc(h.errands, func(e crawl.Errand) bool {
		return e.Kind == crawl.ErrandSitemap && e.URL.Origin() == o.Origin
	})
	s.touch(h)
	return s.topUpSitemaps(h, now)
}

// sitemapText changes with what says which sitemaps are read, and what of them. It is empty when none are.
func (j *judge) sitemapText() string {
	if !j.readsSitemaps() {
		return ""
	}
	return fmt.Sprintf("%x", j.spec.ScopeHash())
}

// beginSitemaps has all origins asked after their sitemaps if the spec has changed in what says which are read, and lets all be when
// none are any more.
func (s *shard) beginSitemaps() error {
	text := s.j.sitemapText()
	if s.m.Sitemaps == text {
		return nil
	}
	now := time.Now()
	if text != "" {
		s.m.Sitemaps, s.toAsk, s.retries = "", s.sortedHosts(), nil // to be begun anew after a crash
		if len(s.toAsk) == 0 {
			s.m.Sitemaps = text
		}
		s.changes++
		return s.loadSitemaps(now)
	}
	s.m.Sitemaps, s.toAsk, s.retries = "", nil, nil
	s.changes++
	for _, h := range s.hosts {
		h.errands = slices.DeleteFunc(h.errands, func(e crawl.Errand) bool { return e.Kind == crawl.ErrandSitemap })
		s.reschedule(h, now)
	}
	return nil
}

// askSome asks some of the hosts that are to be asked after their sitemaps.
func (s *shard) askSome(now time.Time) (more bool, err error) {
	n := min(len(s.toAsk), passStretch)
	if n == 0 || len(s.outbox) >= mirrorOwed {
		return false, nil
	}
	for _, h := range s.toAsk[:n] {
		for i := range h.Origins {
			if err := s.askSitemaps(h, &h.Origins[i], now); err != nil {
				return false, err
			}
		}
	}
	if s.toAsk = s.toAsk[n:]; len(s.toAsk) == 0 {
		s.toAsk = nil
		s.m.Sitemaps = s.j.sitemapText()
		s.changes++
	}
	return len(s.toAsk) > 0, nil
}

// sitemapUpkeep queues sitemaps that are to be tried once more, and with re-crawl those that were read a day ago: what a site says of
// its pages is to be known also while none of them is due.
func (s *shard) sitemapUpkeep(now time.Time) error {
	if s.tx == nil || s.broken != nil || !s.j.readsSitemaps() {
		return s.broken
	}
	if s.j.spec.Recrawl && len(s.toAsk) == 0 && now.Sub(s.askedAll) >= sitemapsLook {
		s.askedAll = now
		for _, h := range s.sortedHosts() {
			if slices.ContainsFunc(h.Origins, func(o origin) bool {
				return !o.SitemapsAsked.IsZero() && now.Sub(o.SitemapsAsked) >= 24*time.Hour
			}) {
				s.toAsk = append(s.toAsk, h)
			}
		}
	}
	return s.retrySitemaps(now)
}

// sitemapsLook is how often hosts are looked through for those that are to be asked again.
const sitemapsLook = 10 * time.Minute
