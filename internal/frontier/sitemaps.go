package frontier

import (
	"bytes"
	"encoding/binary"
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
	maxOwnSitemaps   = 1000           // of its own host that one robots.txt names
	maxOtherSitemaps = 100            // of other hosts: naming them costs its owner nothing
	maxHostSitemaps  = 50_000         // kept of one host
	sitemapErrands   = 64             // of one host that are errands at a time
	sitemapsFresh    = 23 * time.Hour // how long an origin is not asked after its sitemaps: its robots.txt is read anew every 24
	sitemapRest      = 12 * time.Hour // how long one that was read is let be, whoever names it
	sitemapTries     = 3
	maxSitemapInfos  = 100
	sitemapIndexes   = 2 // an index may lead to an index, which leads to sitemaps
	formIndex        = "index"
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
	Due      time.Time `json:"due,omitzero"`    // not asked for before; when Failures > 0, asked for then
	Scope    uint64    `json:"scope,omitempty"` // what its entries were judged by: crawl.Spec.ScopeHash
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

// readsSitemaps reports whether sitemaps are read at all: what they name counts as one link away from a seed.
func (j *judge) readsSitemaps() bool {
	return j.spec.Sitemaps && j.spec.MaxDepth != 0 && j.spec.Scope != "page"
}

// readsSitemap reports whether the sitemap u on h is read: those of mirrors and of what was forgotten are not.
func (s *shard) readsSitemap(h *host, u canon.URL) bool {
	i, known := h.originIndex(u.Origin())
	return s.j.readsSitemaps() && !s.j.forgotten.Has(u) && !(known && h.Origins[i].Mirror.mirrored())
}

// askSitemaps asks for the sitemaps that an origin's robots.txt names, or for the one at the conventional place, unless the
// same file had that done lately. Whoever has read one lately does nothing. The sitemaps of a mirror are not used while it is one.
func (s *shard) askSitemaps(h *host, o *origin, now time.Time) error {
	says := binary.BigEndian.AppendUint64(slices.Clone(o.Digest[:min(len(o.Digest), 8)]), s.j.spec.ScopeHash())
	switch {
	case !s.j.readsSitemaps() || o.Mirror.mirrored() || h.Queued == 0 && h.Stored == 0:
		return nil
	case now.Before(o.SitemapsAsked.Add(sitemapsFresh)) && bytes.Equal(says, o.SitemapsOf):
		return nil
	}
	base, err := o.Origin.URL("/robots.txt")
	if err != nil {
		return nil
	}
	var urls []string
	switch o.Copy {
	case crawl.RobotsParsed:
		urls = robots.Parse(robotsCopy(s.tx, h.ID, o.Origin)).SitemapURLs(string(base))
	case crawl.RobotsUnavailable:
	default:
		return nil // it was not asked for yet
	}
	o.SitemapsAsked, o.SitemapsOf = now, says
	s.touch(h)
	if len(urls) == 0 {
		urls = []string{o.Origin.String() + "/sitemap.xml"}
	}
	byShard := map[int][]crawl.Errand{}
	own, other := maxOwnSitemaps, maxOtherSitemaps
	for _, raw := range urls {
		u, err := canon.Parse(raw)
		if err != nil {
			continue
		}
		room := &other
		if u.Host() == h.Name {
			room = &own
		}
		if *room--; *room < 0 {
			continue
		}
		to := crawl.ShardOf(u.Host(), s.j.spec.Shards)
		byShard[to] = append(byShard[to], crawl.Errand{Kind: crawl.ErrandSitemap, URL: u, Origin: o.Origin, ReplyShard: to})
	}
	for to := range s.j.spec.Shards { // in order: what is sent must not depend on a map's
		for part := range slices.Chunk(byShard[to], 64) { // whatever their length, a message has room for so many
			if err := s.send(to, &crawl.Event{Errands: part}); err != nil {
				return err
			}
		}
	}
	return nil
}

// addSitemap notes that a sitemap is to be read, unless it was lately, or its host has too many. Asked twice, it is done once.
func (s *shard) addSitemap(h *host, e crawl.Errand, now time.Time) error {
	if e.Hop > sitemapIndexes || !s.readsSitemap(h, e.URL) {
		return nil
	}
	key := sitemapKey(h.ID, &e)
	r, known, err := s.sitemapRecord(key)
	if err != nil {
		return err
	}
	queued := s.tx.Bucket(bucketSitequeue).Get(key) != nil
	switch {
	case known && e.Hop < r.Hop: // fewer indexes lead to it than was thought, so it may lead to more
		for i := range h.errands {
			if x := &h.errands[i]; x.Kind == e.Kind && x.URL == e.URL && x.Origin == e.Origin {
				x.Hop = e.Hop
			}
		}
		r.Hop = e.Hop
		if err := s.putSitemap(key, &r); err != nil || queued || r.Form != formIndex && now.Before(r.Due) {
			return err
		}
	case queued || known && now.Before(r.Due) && (r.Form == "" || r.Scope == s.j.spec.ScopeHash()):
		return nil
	case !known:
		if h.Sitemaps >= maxHostSitemaps {
			if !h.tooManySitemaps {
				h.tooManySitemaps = true
				s.log.Warn("too many sitemaps of one host: no more are read", "host", h.Name, "url", e.URL, "vouched_for_by", e.Origin.String())
			}
			return nil
		}
		h.Sitemaps++
		if err := s.putSitemap(key, &sitemap{Hop: e.Hop}); err != nil {
			return err
		}
	}
	return s.queueSitemap(h, key, now)
}

// grantSitemap puts into an errand how its sitemap was answered last. One that was read under another scope is read anew; so is
// an index, which may well be the same as ever while the sitemaps it names are not.
func (s *shard) grantSitemap(h *host, e *crawl.Errand) {
	r, known, err := s.sitemapRecord(sitemapKey(h.ID, e))
	if known && err == nil && r.Form != formIndex && r.Scope == s.j.spec.ScopeHash() {
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
		r.Failures, r.Read, r.Due = 0, at, at.Add(sitemapRest)
	case m.Read:
		r.Failures, r.Read, r.Due = 0, at, at.Add(sitemapRest)
		r.Form, r.Entries, r.Skipped = strings.Clone(m.Form), m.Entries, m.Skipped
		r.ETag, r.LastMod, r.Scope = strings.Clone(m.ETag), strings.Clone(m.LastModified), m.Scope
	case m.Again:
		if r.Failures++; r.Failures < sitemapTries {
			r.Due = now.Add(s.retryIn(h, r.Failures))
		} else {
			r.Due = now.Add(sitemapRest)
		}
	default: // there is none, or it is none, or it is not for us
		r.Failures, r.Due = 0, at.Add(sitemapRest)
		r.Form, r.Entries, r.Skipped, r.ETag, r.LastMod = "", 0, 0, "", ""
	}
	return s.putSitemap(key, &r)
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
