package frontier

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// A sitemap is read under a visit to its own host, as an errand of the origin whose robots.txt vouches for it. Its entries come
// back as links, to whatever shards they belong to; here is kept what reading it led to, and when it is due again. A
// sitemap index may name tens of thousands: they wait on disk, and a few at a time are errands.

const (
	maxRobotsSitemaps = 100    // named by one robots.txt
	maxHostSitemaps   = 50_000 // kept of one host
	sitemapErrands    = 64     // of one host that are errands at a time
	sitemapFresh      = 23 * time.Hour
	sitemapRetry      = 10 * time.Minute // after the first failure to have it; four times that after the second
	sitemapTries      = 3
	maxSitemapInfos   = 100
	sitemapIndexes    = 2 // an index may lead to an index, which leads to sitemaps
)

// sitemap is the record of one sitemap as vouched for by one origin.
type sitemap struct {
	Hop      int       `json:"hop,omitempty"`
	Status   int       `json:"status,omitempty"`
	Form     string    `json:"form,omitempty"`
	Entries  int       `json:"entries,omitempty"`
	Skipped  int       `json:"skipped,omitempty"`
	ETag     string    `json:"etag,omitempty"`
	LastMod  string    `json:"last_modified,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Failures int       `json:"failures,omitempty"` // in a row, to have it at all
	Read     time.Time `json:"read,omitzero"`
	Due      time.Time `json:"due,omitzero"` // not asked for before; when Failures > 0, asked for then
}

// sitemapKey is a sitemap's key in both buckets: host id, URL, and behind a zero byte the origin that vouches.
func sitemapKey(id hostID, e *crawl.Errand) []byte {
	k := append(id.append(nil), e.URL...)
	return append(append(k, 0), e.Origin.String()...)
}

// sitemapErrand is the errand with that key and record.
func (s *shard) sitemapErrand(key []byte, r *sitemap) (e crawl.Errand, ok bool) {
	u, origin, ok := bytes.Cut(key[4:], []byte{0})
	if !ok {
		return e, false
	}
	return crawl.Errand{
		Kind: crawl.ErrandSitemap, URL: canon.URL(u), Origin: canon.URL(string(origin) + "/").Origin(), Hop: r.Hop, ReplyShard: s.id,
	}, true
}

func (s *shard) sitemapRecord(key []byte) (r sitemap, known bool, err error) {
	v := s.tx.Bucket(bucketSitemaps).Get(key)
	if v == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(v, &r); err != nil {
		return r, false, fmt.Errorf("sitemap %q: %w", key[4:], err)
	}
	return r, true, nil
}

func (s *shard) putSitemap(key []byte, r *sitemap) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	s.changes++
	return s.tx.Bucket(bucketSitemaps).Put(key, v)
}

// askSitemaps asks for the sitemaps that an origin's robots.txt names, or for the one at the conventional place, unless the
// same file had that done lately. Whoever has read one lately does nothing.
func (s *shard) askSitemaps(h *host, o *origin, now time.Time) error {
	says := o.Digest[:min(len(o.Digest), 8)]
	if !s.j.spec.Sitemaps || h.Queued == 0 && h.Stored == 0 || now.Before(o.SitemapsAsked.Add(sitemapFresh)) && bytes.Equal(says, o.SitemapsOf) {
		return nil
	}
	o.SitemapsAsked, o.SitemapsOf = now, slices.Clone(says)
	base, err := o.Origin.URL("/robots.txt")
	if err != nil {
		return nil
	}
	var urls []string
	if o.Copy == crawl.RobotsParsed {
		urls = robots.Parse(robotsCopy(s.tx, h.ID, o.Origin)).SitemapURLs(string(base))
	}
	if len(urls) == 0 {
		urls = []string{o.Origin.String() + "/sitemap.xml"}
	}
	byShard := map[int][]crawl.Errand{}
	for _, raw := range urls[:min(len(urls), maxRobotsSitemaps)] {
		u, err := canon.Parse(raw)
		if err != nil {
			continue
		}
		to := crawl.ShardOf(u.Host(), s.j.spec.Shards)
		byShard[to] = append(byShard[to], crawl.Errand{Kind: crawl.ErrandSitemap, URL: u, Origin: o.Origin, ReplyShard: to})
	}
	for to := range s.j.spec.Shards { // in order: what is sent must not depend on a map's
		if errands := byShard[to]; errands != nil {
			if err := s.send(to, &crawl.Event{Errands: errands}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSitemap notes that a sitemap is to be read, unless it was lately, or its host has too many. Asked twice, it is done once.
func (s *shard) addSitemap(h *host, e crawl.Errand, now time.Time) error {
	if !s.j.spec.Sitemaps || e.Hop > sitemapIndexes {
		return nil
	}
	key := sitemapKey(h.ID, &e)
	r, known, err := s.sitemapRecord(key)
	if err != nil || known && now.Before(r.Due) || s.tx.Bucket(bucketSitequeue).Get(key) != nil {
		return err
	}
	if !known {
		if h.Sitemaps >= maxHostSitemaps {
			s.log.Warn("too many sitemaps of one host: left alone", "url", e.URL, "vouched_for_by", e.Origin.String())
			return nil
		}
		h.Sitemaps++
		r = sitemap{Hop: e.Hop}
		if err := s.putSitemap(key, &r); err != nil {
			return err
		}
	}
	return s.queueSitemap(h, key, now)
}

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

// loadSitemaps restores what waits after the file was opened.
func (s *shard) loadSitemaps(now time.Time) error {
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
	if s.tx == nil || s.broken != nil {
		return s.broken
	}
	var failed error
	s.retries = slices.DeleteFunc(s.retries, func(r sitemapRetryAt) bool {
		h := s.byID[keyHost(r.key)]
		if now.Before(r.at) || h == nil || failed != nil {
			return h == nil
		}
		if s.tx.Bucket(bucketSitequeue).Get(r.key) == nil {
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

// grantSitemap puts into an errand how its sitemap was answered last.
func (s *shard) grantSitemap(h *host, e *crawl.Errand) {
	if r, known, err := s.sitemapRecord(sitemapKey(h.ID, e)); known && err == nil {
		e.ETag, e.LastModified = r.ETag, r.LastMod
	}
}

// answerSitemap takes in what reading a sitemap led to. Applied again it changes nothing but when the sitemap is due.
func (s *shard) answerSitemap(a *crawl.Answer, at, now time.Time) error {
	h := s.hosts[a.Errand.URL.Host()]
	if h == nil {
		return nil
	}
	key := sitemapKey(h.ID, &a.Errand)
	r, known, err := s.sitemapRecord(key)
	if err != nil || !known {
		return err
	}
	m := &a.Sitemap
	r.Status, r.Reason = m.Status, strings.Clone(m.Reason)
	switch {
	case m.NotModified:
		r.Failures, r.Read, r.Due = 0, at, at.Add(sitemapFresh)
	case m.Read:
		r.Failures, r.Read, r.Due = 0, at, at.Add(sitemapFresh)
		r.Form, r.Entries, r.Skipped = strings.Clone(m.Form), m.Entries, m.Skipped
		r.ETag, r.LastMod = strings.Clone(m.ETag), strings.Clone(m.LastModified)
	case m.Status >= 300 && m.Status < 500 && m.Status != 429 || m.Status >= 200 && m.Status < 300:
		r.Failures, r.Due = 0, at.Add(sitemapFresh) // there is none, or it is none
		r.Form, r.Entries, r.Skipped, r.ETag, r.LastMod = "", 0, 0, "", ""
	default:
		r.Failures++
		wait := sitemapRetry
		for range min(r.Failures-1, 3) {
			wait *= 4
		}
		r.Due = now.Add(wait)
		if r.Failures >= sitemapTries {
			r.Due = now.Add(sitemapFresh)
		}
	}
	return s.putSitemap(key, &r)
}

// dropSitemap takes a sitemap that was answered out of the queue.
func (s *shard) dropSitemap(h *host, e *crawl.Errand, now time.Time) error {
	key := sitemapKey(h.ID, e)
	queue := s.tx.Bucket(bucketSitequeue)
	if queue.Get(key) == nil {
		return nil
	}
	if err := queue.Delete(key); err != nil {
		return err
	}
	h.SitemapsDue--
	s.touch(h)
	r, _, err := s.sitemapRecord(key)
	if err != nil {
		return err
	}
	if r.Failures > 0 && r.Failures < sitemapTries {
		s.retries = append(s.retries, sitemapRetryAt{key, r.Due})
	}
	return s.topUpSitemaps(h, now)
}

// shiftSitemaps moves what is kept of sitemaps to another machine's clock (see shiftTimes).
func shiftSitemaps(tx *bolt.Tx, d time.Duration) error {
	b := tx.Bucket(bucketSitemaps)
	if b == nil {
		return nil
	}
	type change struct{ k, v []byte }
	var changed []change
	err := b.ForEach(func(k, v []byte) error {
		var r sitemap
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: sitemap %q: %w", errUnreadable, k[4:], err)
		}
		if !r.Due.IsZero() {
			r.Due = r.Due.Add(d)
		}
		v, err := json.Marshal(&r)
		changed = append(changed, change{slices.Clone(k), v})
		return err
	})
	for _, c := range changed {
		if err == nil {
			err = b.Put(c.k, c.v)
		}
	}
	return err
}

// sitemapInfos is what is known of a host's sitemaps, at most n of them.
func (s *shard) sitemapInfos(h *host, n int) []crawl.SitemapInfo {
	all := []crawl.SitemapInfo{}
	if s.tx.Bucket(bucketSitemaps) == nil {
		return all // a file from before there were any, opened for reading only
	}
	c := s.tx.Bucket(bucketSitemaps).Cursor()
	prefix := h.ID.append(nil)
	for k, v := c.Seek(prefix); len(all) < n && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var r sitemap
		if err := json.Unmarshal(v, &r); err != nil {
			continue
		}
		e, ok := s.sitemapErrand(k, &r)
		if !ok {
			continue
		}
		info := crawl.SitemapInfo{URL: string(e.URL), Origin: e.Origin.String(), Status: r.Status, Form: r.Form, Entries: r.Entries, Skipped: r.Skipped, Reason: r.Reason}
		if !r.Read.IsZero() {
			at := r.Read.UTC()
			info.ReadAt = &at
		}
		info.Queued = s.tx.Bucket(bucketSitequeue).Get(k) != nil
		all = append(all, info)
	}
	return all
}
