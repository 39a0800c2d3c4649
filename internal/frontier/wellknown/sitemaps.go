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
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/robots"
)

// Sitemaps are those of one shard.
type Sitemaps struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	polite   *polite.Polite
	urls     *urls.URLs

	// Sitemaps.
	Retries  []SitemapRetryAt
	askedAll time.Time // when hosts were looked through for those
}

// New returns them for one shard, with the rooms they stand on.
func NewSitemaps(features *hosts.Features, ledger *hosts.Ledger, polite *polite.Polite, urls *urls.URLs) *Sitemaps {
	return &Sitemaps{features: features, ledger: ledger, polite: polite, urls: urls}
}

// A sitemap is read under a visit to its own host, as an errand of the origin whose robots.txt
// vouches for it. Its entries come back as links, to whatever shards they belong to; here is kept
// what reading it led to, and when it is due again. A sitemap index may name tens of thousands:
// they wait on disk, and a few at a time are errands.

const (
	MaxOwnSitemaps   = 1000   // of its own host that one robots.txt names
	MaxOtherSitemaps = 100    // of other hosts: naming them costs its owner nothing
	MaxHostSitemaps  = 50_000 // kept of one host
	// MaxForeignSitemaps of those are vouched for by other hosts: that costs their owners nothing.
	MaxForeignSitemaps = 1000
	SitemapAux         = 64 // of one host that are errands at a time
	// How long an origin is not asked after its sitemaps: its robots.txt is read anew every 24.
	sitemapsFresh = 23 * time.Hour
	sitemapRest   = 12 * time.Hour // how long one that was read is let be, whoever names it
	sitemapTries  = 3
	// MaxSitemapInfos bounds the sitemaps that are told of a host.
	MaxSitemapInfos = 100
	SitemapIndexes  = 2 // an index may lead to an index, which leads to sitemaps
	formIndex       = "index"
)

// SitemapsFeature reads sitemaps.
func (s *Sitemaps) SitemapsFeature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxSitemap: {Want: s.wantSitemap, From: s.sitemapFrom, Dress: s.dressSitemaps, Answer: s.answer, Drop: s.dropSitemap},
		},
		Load:          s.load,
		Upkeep:        s.Upkeep,
		Ask:           s.ask,
		MirrorChanged: s.sitemapsMirrorChanged,
		Respec:        s.begin,
		Times:         hosts.InRecords[sitemap](hosts.BucketSitemaps),
	}
}

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
	// Not asked for before; when Failures > 0, asked for then.
	Due time.Time `json:"due,omitzero"`
	// What its entries were judged by: crawl.Spec.ScopeHash.
	Scope    uint64 `json:"scope,omitempty"`
	Requests int64  `json:"requests,omitempty"` // for it, so far
}

func (r *sitemap) Times(see times.See) { see(&r.Due, times.Waits) }

// Key is a sitemap's key in both buckets: host id, URL, and behind a zero byte the
// origin that vouches.
func SitemapKey(id hosts.HostID, e *crawl.AuxRequest) []byte {
	k := append(id.Append(nil), e.URL...)
	return append(append(k, 0), e.Origin.String()...)
}

// sitemapRequest is the errand with that key and record.
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
	v := s.ledger.Tx.Bucket(hosts.BucketSitemaps).Get(key)
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
	return s.ledger.Put(hosts.BucketSitemaps, key, v)
}

// readsSitemap reports whether the sitemap u on h is read: those of mirrors and of what
// was forgotten are not.
func (s *Sitemaps) readsSitemap(h *hosts.Host, u canon.URL) bool {
	i, known := h.OriginIndex(u.Origin())
	return s.ledger.Judge.ReadsSitemaps() && !s.ledger.Judge.Forgotten.Has(u) && !(known && h.Origins[i].Mirror.Mirrored())
}

// ask asks for the sitemaps that an origin's robots.txt names, or for the one at the conventional
// place, unless the same file had that done lately. Whoever has read one lately does nothing.
func (s *Sitemaps) ask(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !s.ledger.Judge.ReadsSitemaps() || h.Queued == 0 && h.Stored == 0 {
		return nil
	}
	says := binary.BigEndian.AppendUint64(slices.Clone(o.Digest[:min(len(o.Digest), 8)]), s.ledger.Judge.Spec.ScopeHash())
	if now.Before(s.freshUntil(o)) && bytes.Equal(says, o.SitemapsOf) {
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
	o.SitemapsAsked, o.SitemapsOf = now, says
	s.ledger.MarkDirty(h)
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
		room := &other
		if u.Host() == h.Name {
			room = &own
		} else if !s.vouchable(u, o.Origin.Host) {
			outside++
			continue
		}
		if *room--; *room < 0 {
			outside++
			continue
		}
		to := crawl.ShardOf(u.Host(), s.ledger.Judge.Spec.Shards)
		byShard[to] = append(byShard[to], crawl.AuxRequest{Kind: crawl.AuxSitemap, URL: u, Origin: o.Origin, ReplyShard: to})
	}
	if outside > 0 {
		s.ledger.Log.Info("sitemaps are not read: they are too many, or on hosts out of scope in another domain", "origin", o.Origin.String(), "sitemaps", outside)
	}
	// In order: what is sent must not depend on a map's.
	for to := range s.ledger.Judge.Spec.Shards {
		// Whatever their length, a message has room for so many.
		for part := range slices.Chunk(byShard[to], 64) {
			if err := s.ledger.Send(to, &crawl.Event{Aux: part}); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantSitemap notes a sitemap among those that wait on disk. Some of them are made
// errands (topUpSitemaps).
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

// addSitemap notes that a sitemap is to be read, unless it was lately, or its host has too many.
// Asked twice, it is done once.
func (s *Sitemaps) addSitemap(h *hosts.Host, e crawl.AuxRequest, now time.Time) error {
	if e.Hop > SitemapIndexes || !s.readsSitemap(h, e.URL) {
		return nil
	}
	key := SitemapKey(h.ID, &e)
	r, known, err := s.sitemapRecord(key)
	if err != nil {
		return err
	}
	queued := s.ledger.Tx.Bucket(hosts.BucketSitequeue).Get(key) != nil
	switch {
	case known && e.Hop < r.Hop:
		// Fewer indexes lead to it than was thought, so it may lead to more.
		for i := range h.Aux {
			if x := &h.Aux[i]; x.Kind == e.Kind && x.URL == e.URL && x.Origin == e.Origin {
				x.Hop = e.Hop
			}
		}
		r.Hop = e.Hop
		if err := s.putSitemap(key, &r); err != nil || queued || r.Form != formIndex && now.Before(r.Due) {
			return err
		}
	case queued || known && now.Before(r.Due) && (r.Form == "" || r.Scope == s.ledger.Judge.Spec.ScopeHash()):
		return nil
	case !known:
		if h.Sitemaps >= MaxHostSitemaps {
			if !h.TooManySitemaps {
				h.TooManySitemaps = true
				s.ledger.Log.Warn("too many sitemaps of one host: further ones are not read", "host", h.Name, "url", e.URL, "vouched_for_by", e.Origin.String())
			}
			return nil
		}
		if foreign := e.Origin.Host != h.Name; foreign && h.SitemapsForeign >= MaxForeignSitemaps {
			return nil
		} else if foreign {
			h.SitemapsForeign++
		}
		h.Sitemaps++
		if err := s.putSitemap(key, &sitemap{Hop: e.Hop}); err != nil {
			return err
		}
	}
	return s.queueSitemap(h, key)
}

// freshUntil is until when an origin is not asked after its sitemaps: with rounds, once in each.
func (s *Sitemaps) freshUntil(o *hosts.Origin) time.Time {
	if s.ledger.Judge.Spec.Every > 0 && !o.SitemapsAsked.IsZero() {
		return s.ledger.SitemapsNext(o)
	}
	return o.SitemapsAsked.Add(sitemapsFresh)
}

// restUntil is until when a sitemap that was read is let be: no longer than to the next round.
func (s *Sitemaps) restUntil(at time.Time) time.Time {
	rest := at.Add(sitemapRest)
	if next, rounds := s.ledger.Judge.Spec.NextRound(at); rounds && next.Before(rest) {
		return next
	}
	return rest
}

// answer takes in what reading a sitemap led to. Applied again it changes nothing but when
// the sitemap is due.
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
				h.ForeignRead, h.ForeignEntries = now, m.Entries
				s.ledger.MarkDirty(h)
			}
		}
	case m.Again:
		if r.Failures++; r.Failures < sitemapTries {
			r.Due = now.Add(s.polite.RetryIn(h, r.Failures))
		} else {
			r.Due = s.restUntil(now)
		}
	default: // there is none, or it is none, or it is not for us
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
	if s.ledger.Tx.Bucket(hosts.BucketSitemaps) == nil {
		return all // a file from before there were any, opened for reading only
	}
	c := s.ledger.Tx.Bucket(hosts.BucketSitemaps).Cursor()
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
		info.Queued = s.ledger.Tx.Bucket(hosts.BucketSitequeue).Get(k) != nil
		all = append(all, info)
	}
	return all
}
