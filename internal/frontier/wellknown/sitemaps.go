package wellknown

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Sitemaps are the sitemaps of one shard.
type Sitemaps struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	polite   *polite.Polite
	urls     *urls.URLs

	Retries  []SitemapRetryAt
	askedAll time.Time // when hosts were last searched for those that are to be asked again
}

// NewSitemaps returns the Sitemaps of one shard.
func NewSitemaps(features *hosts.Features, ledger *hosts.Ledger, polite *polite.Polite, urls *urls.URLs) *Sitemaps {
	return &Sitemaps{features: features, ledger: ledger, polite: polite, urls: urls}
}

// A sitemap is read in a visit to its own host, as an auxiliary request of the origin whose
// robots.txt names it. Its entries become links of whatever shards they belong to. The record here
// has the result of reading it, and when it is due again. A sitemap index may name tens of
// thousands of sitemaps; they wait on disk, and a few at a time are auxiliary requests.

const (
	MaxOwnSitemaps   = 1000   // sitemaps of its own host that one robots.txt may name
	MaxOtherSitemaps = 100    // of other hosts, because naming them costs nothing
	MaxHostSitemaps  = 50_000 // stored for one host
	// MaxForeignSitemaps is how many of those other hosts may name, because it costs their owners
	// nothing.
	MaxForeignSitemaps = 1000
	SitemapAux         = 64 // of one host that are auxiliary requests at a time
	// The interval at which an origin is asked for its sitemaps. Its robots.txt is read again every
	// 24 hours.
	sitemapsFresh = 23 * time.Hour
	sitemapRest   = 12 * time.Hour // how long a sitemap is not read again, whoever names it
	// MaxSitemapInfos limits the sitemaps that are listed for a host.
	MaxSitemapInfos = 100
	SitemapIndexes  = 2 // an index may lead to another index, which leads to sitemaps
	formIndex       = "index"
)

// sitemap is the record of one sitemap as named by one origin.
type sitemap struct {
	Hop      int       `json:"hop,omitempty"`
	Status   int       `json:"status,omitempty"`
	Form     string    `json:"form,omitempty"`
	Entries  int       `json:"entries,omitempty"`
	Skipped  int       `json:"skipped,omitempty"`
	ETag     string    `json:"etag,omitempty"`
	LastMod  string    `json:"last_modified,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Failures int       `json:"failures,omitempty"` // failures in a row
	Read     time.Time `json:"read,omitzero"`
	// No request before this time; if Failures > 0, the time of the next attempt.
	Due time.Time `json:"due,omitzero"`
	// The crawl.Spec.ScopeHash by which its entries were accepted.
	Scope    uint64 `json:"scope,omitempty"`
	Requests int64  `json:"requests,omitempty"` // number of requests so far
}

func (r *sitemap) Times(see times.See) { see(&r.Due, times.Waits) }

// SitemapKey is a sitemap's key in both buckets: host id, URL, a zero byte, and the origin that
// names it.
func SitemapKey(id store.HostID, e *crawl.AuxRequest) []byte {
	k := append(id.Append(nil), e.URL...)
	return append(append(k, 0), e.Origin.String()...)
}

// sitemapRequest is the auxiliary request with that key and record.
func (s *Sitemaps) sitemapRequest(key []byte, r *sitemap) (e crawl.AuxRequest, ok bool) {
	u, origin, ok := bytes.Cut(key[4:], []byte{0})
	if !ok {
		return e, false
	}
	return crawl.AuxRequest{
		Kind: crawl.AuxSitemap, URL: canon.URL(u), Origin: canon.URL(string(origin) + "/").Origin(), Hop: r.Hop, ReplyShard: s.ledger.ID,
	}, true
}

func (s *Sitemaps) sitemapRecord(key []byte) (r sitemap, known bool, err error) {
	v := s.ledger.Tx.Bucket(store.BucketSitemaps).Get(key)
	if v == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(v, &r); err != nil {
		return r, false, fmt.Errorf("sitemap %q: %w", key[4:], err)
	}
	return r, true, nil
}

func (s *Sitemaps) putSitemap(key []byte, r *sitemap) error {
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketSitemaps, key, v)
}

// readsSitemap reports whether the sitemap u on h is read. Sitemaps of mirrors and forgotten ones
// are not.
func (s *Sitemaps) readsSitemap(h *hosts.Host, u canon.URL) bool {
	i, known := h.OriginIndex(u.Origin())
	return s.ledger.Judge.ReadsSitemaps() && !s.ledger.Judge.Forgotten.Has(u) && !(known && h.Origins[i].Mirror.Mirrored())
}

// ask requests the sitemaps that an origin's robots.txt and the site rules name, or /sitemap.xml if
// they name none, unless this was done lately for the same robots.txt. The shards of the sitemaps
// ignore requests for sitemaps that were read lately.
func (s *Sitemaps) ask(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !s.ledger.Judge.ReadsSitemaps() || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	hash := binary.BigEndian.AppendUint64(slices.Clone(o.Digest[:min(len(o.Digest), 8)]), s.ledger.Judge.Spec.ScopeHash())
	if now.Before(s.freshUntil(o)) && bytes.Equal(hash, o.SitemapsOf) {
		return nil
	}
	base, err := o.Origin.URL("/robots.txt")
	if err != nil {
		return nil
	}
	var urls []string
	if o.Copy == crawl.RobotsParsed {
		urls = robots.Parse(hosts.RobotsCopy(s.ledger.Tx, h.ID, o.Origin)).SitemapURLs(string(base))
	}
	for _, u := range s.ledger.Judge.Sites.Sitemaps() {
		if u.Origin() == o.Origin && !slices.Contains(urls, string(u)) {
			urls = append(urls, string(u))
		}
	}
	o.AskedSitemaps(now, hash)
	if len(urls) == 0 {
		urls = []string{o.Origin.String() + "/sitemap.xml"}
	}
	byShard := map[int][]crawl.AuxRequest{}
	own, other, outside := MaxOwnSitemaps, MaxOtherSitemaps, 0
	for _, raw := range urls {
		u, err := canon.Parse(raw)
		if err != nil {
			continue
		}
		left := &other
		if u.Host() == h.Name {
			left = &own
		} else if !s.vouchable(u, o.Origin.Host) {
			outside++
			continue
		}
		if *left--; *left < 0 {
			outside++
			continue
		}
		to := crawl.ShardOf(u.Host(), s.ledger.Judge.Spec.Shards)
		byShard[to] = append(byShard[to], crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: u, Origin: o.Origin, ReplyShard: to})
	}
	if outside > 0 {
		s.ledger.Log.Info("sitemaps are not read: they are too many, or on hosts out of scope in another domain", "origin", o.Origin.String(), "sitemaps", outside)
	}
	// In order, so that the messages do not depend on the order of a map.
	for to := range s.ledger.Judge.Spec.Shards {
		// This many fit into a message, whatever their length is.
		for part := range slices.Chunk(byShard[to], 64) {
			if err := s.ledger.Send(to, &crawl.Event{Aux: part}); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantSitemap adds a sitemap to those that wait on disk. topUpSitemaps makes auxiliary requests of
// some of them.
func (s *Sitemaps) wantSitemap(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	if ok, err := s.admitSitemap(e); !ok || err != nil {
		return nil, err
	}
	h, err := s.features.NewAux(e, now)
	if h == nil || err != nil {
		return nil, err
	}
	return nil, s.addSitemap(h, *e, now)
}

// addSitemap queues a sitemap, unless it was read lately or its host has too many. A second call
// has no effect.
func (s *Sitemaps) addSitemap(h *hosts.Host, e crawl.AuxRequest, now time.Time) error {
	if e.Hop > SitemapIndexes || !s.readsSitemap(h, e.URL) {
		return nil
	}
	key := SitemapKey(h.ID, &e)
	r, known, err := s.sitemapRecord(key)
	if err != nil {
		return err
	}
	queued := s.ledger.Tx.Bucket(store.BucketSitequeue).Get(key) != nil
	switch {
	case known && e.Hop < r.Hop:
		// Fewer indexes lead to it than was known, so it may lead to more.
		h.FoundNearer(e)
		r.Hop = e.Hop
		if err := s.putSitemap(key, &r); err != nil || queued || r.Form != formIndex && now.Before(r.Due) {
			return err
		}
	case queued || known && now.Before(r.Due) && (r.Form == "" || r.Scope == s.ledger.Judge.Spec.ScopeHash()):
		return nil
	case !known:
		if h.Sitemaps >= MaxHostSitemaps {
			if h.SitemapsFull() {
				s.ledger.Log.Warn("too many sitemaps of one host: further ones are not read", "host", h.Name, "url", e.URL, "vouched_for_by", e.Origin.String())
			}
			return nil
		}
		foreign := e.Origin.Host != h.Name
		if foreign && h.SitemapsForeign >= MaxForeignSitemaps {
			return nil
		}
		h.KeepSitemap(foreign)
		if err := s.putSitemap(key, &sitemap{Hop: e.Hop}); err != nil {
			return err
		}
	}
	return s.queueSitemap(h, key)
}

// freshUntil is until when an origin is not asked for its sitemaps: with rounds, once in each.
func (s *Sitemaps) freshUntil(o *hosts.Origin) time.Time {
	if s.ledger.Judge.Spec.Every > 0 && !o.SitemapsAsked.IsZero() {
		return s.ledger.SitemapsNext(o)
	}
	return o.SitemapsAsked.Add(sitemapsFresh)
}

// restUntil is until when a sitemap that was read is not read again: at most to the next round.
func (s *Sitemaps) restUntil(at time.Time) time.Time {
	until := at.Add(sitemapRest)
	if next, rounds := s.ledger.Judge.Spec.NextRound(at); rounds && next.Before(until) {
		return next
	}
	return until
}

// answer applies the result of reading a sitemap. A second call only changes when the sitemap is
// due.
func (s *Sitemaps) answer(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.URL.Host())
	if h == nil || err != nil {
		return err
	}
	key := SitemapKey(h.ID, &a.Aux)
	r, known, err := s.sitemapRecord(key)
	if err != nil || !known {
		return err
	}
	m := &a.Sitemap
	r.Requests++
	r.Status, r.Reason = m.Status, strings.Clone(crawl.ShortDetail(m.Reason))
	switch {
	case m.NotModified:
		r.Failures, r.Read, r.Due = 0, at, s.restUntil(at)
	case m.Read:
		r.Failures, r.Read, r.Due = 0, at, s.restUntil(at)
		r.Form, r.Entries, r.Skipped = strings.Clone(m.Form), m.Entries, m.Skipped
		r.ETag, r.LastMod, r.Scope = strings.Clone(m.ETag), strings.Clone(m.LastModified), m.Scope
		if r.Form != formIndex && a.Aux.Origin.Host != h.Name {
			if now.Add(s.fetchSpan(h, m.Entries)).After(s.foreignFrom(h)) {
				h.ReadForeignSitemap(now, m.Entries)
			}
		}
	case m.Again:
		if r.Failures++; r.Failures < polite.SitemapTries {
			r.Due = now.Add(s.polite.RetryIn(h, r.Failures))
		} else {
			r.Due = s.restUntil(now)
		}
	default: // there is none, it is no sitemap, or it is not for us
		r.Failures, r.Due = 0, s.restUntil(at)
		r.Form, r.Entries, r.Skipped, r.ETag, r.LastMod = "", 0, 0, "", ""
	}
	if m.Reason != "" && m.Status != 404 && m.Status != 410 && !m.Again {
		s.ledger.Log.Info("a sitemap was not read completely", "url", a.Aux.URL, "reason", m.Reason)
	}
	return s.putSitemap(key, &r)
}

// Infos is what is known of a host's sitemaps, at most n of them.
func (s *Sitemaps) Infos(h *hosts.Host, n int) []crawl.SitemapInfo {
	all := []crawl.SitemapInfo{}
	if s.ledger.Tx.Bucket(store.BucketSitemaps) == nil {
		return all // a file from a version without this bucket, opened for reading only
	}
	c := s.ledger.Tx.Bucket(store.BucketSitemaps).Cursor()
	prefix := h.ID.Append(nil)
	for k, v := c.Seek(prefix); len(all) < n && bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var r sitemap
		if err := json.Unmarshal(v, &r); err != nil {
			continue
		}
		e, ok := s.sitemapRequest(k, &r)
		if !ok {
			continue
		}
		info := crawl.SitemapInfo{URL: string(e.URL), Origin: e.Origin.String(), Status: r.Status, Form: r.Form, Entries: r.Entries, Skipped: r.Skipped, Reason: r.Reason, Requests: r.Requests}
		if !r.Read.IsZero() {
			at := r.Read.UTC()
			info.ReadAt = &at
		}
		info.Queued = s.ledger.Tx.Bucket(store.BucketSitequeue).Get(k) != nil
		all = append(all, info)
	}
	return all
}
