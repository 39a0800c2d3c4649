package wellknown

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// The number of feeds, and how often they are read.
const (
	// MaxOwn is the maximum number of feeds of one host that its own pages announce, and MaxForeign
	// the maximum that pages of other hosts announce, because an announcement costs nothing.
	MaxOwn, MaxForeign = 32, 16

	// First is the interval from the first reading to the second. Afterwards the interval is halved
	// when the feed has changed, and increased by half when it has not. It settles where about two
	// of five readings find something new.
	First = time.Hour
	// Least is the minimum interval, unless pages may be fetched again sooner.
	Least = 15 * time.Minute
	Most  = 7 * 24 * time.Hour // the maximum
	// Gone is the time after which a URL is requested again that was no feed, or not for us.
	Gone = 7 * 24 * time.Hour
	// mostRest limits the pause that a feed may request.
	mostRest = 24 * time.Hour
	// pushedRest is the interval for a feed whose changes a hub reports.
	pushedRest = 24 * time.Hour
	// soonest is the minimum time between two readings that a hub can cause.
	soonest = time.Minute
	// atOnce is the maximum number of feeds for which Upkeep adds requests at once.
	atOnce = 64
)

// Feeds are the feeds of one shard.
type Feeds struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	polite   *polite.Polite
	urls     *urls.URLs

	next time.Time // nothing is due before this time; zero: unknown

	hubs Hubs
}

// Hubs are what feeds need of the subscriptions at hubs.
type Hubs struct {
	// Named is called with a feed that names a hub.
	Named func(h *hosts.Host, feed canon.URL, depth int, f *crawl.Feed, now time.Time) error
	// Pushed reports whether a hub delivers the changes of a feed, which is then polled less often.
	Pushed func(feed canon.URL) bool
}

// NewFeeds returns the feeds of one shard.
func NewFeeds(features *hosts.Features, ledger *hosts.Ledger, polite *polite.Polite, urls *urls.URLs, hubs Hubs) *Feeds {
	return &Feeds{features: features, ledger: ledger, polite: polite, urls: urls, hubs: hubs}
}

// FeedRecord is what is known of one feed as announced by pages of one origin.
type FeedRecord struct {
	Depth int           `json:"depth,omitempty"` // of its entries
	Every time.Duration `json:"every,omitempty"` // its interval; 0: it was never read
	// Not read before. BucketFeedsDue has an entry with the time in Noted.
	Due   time.Time `json:"due"`
	Noted int64     `json:"noted,omitempty"` // Unix s
	// For people: read, moved or gone; empty: not requested yet, or it could not be fetched.
	State    string `json:"state,omitempty"`
	Status   int    `json:"status,omitempty"`
	Reason   string `json:"reason,omitempty"`
	Failures int    `json:"failures,omitempty"` // failures in a row
	ETag     string `json:"etag,omitempty"`
	LastMod  string `json:"last_modified,omitempty"`
	// The crawl.Spec.ScopeHash by which its entries were accepted.
	Scope   uint64    `json:"scope,omitempty"`
	Digest  uint64    `json:"digest,omitempty"` // of its entries
	Read    time.Time `json:"read,omitzero"`    // last successful reading, changed or not
	Entries int       `json:"entries,omitempty"`
	Skipped int       `json:"skipped,omitempty"`

	Delivered int64 `json:"told,omitempty"`     // total number of entries read
	Reads     int64 `json:"reads,omitempty"`    // number of successful readings
	Changes   int64 `json:"changes,omitempty"`  // number of readings that found a change
	Requests  int64 `json:"requests,omitempty"` // number of requests, answered or not
}

// Times shows the times of the record to see.
func (r *FeedRecord) Times(see times.See) {
	see(&r.Due, times.Waits)
	see(&r.Read, times.Happened)
}

// seeFeedTimes shows the times of all feeds to see, and sorts the feeds by their new due times.
func seeFeedTimes(tx *bolt.Tx, see times.See) error {
	if err := store.InRecords[FeedRecord](store.BucketFeeds)(tx, see); err != nil || tx.Bucket(store.BucketFeeds) == nil {
		return err
	}
	if err := tx.DeleteBucket(store.BucketFeedsDue); err != nil {
		return err
	}
	b, err := tx.CreateBucket(store.BucketFeedsDue)
	if err != nil {
		return err
	}
	noted := map[string][]byte{}
	err = tx.Bucket(store.BucketFeeds).ForEach(func(k, v []byte) error {
		var r FeedRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: feed %q: %w", store.ErrRecord, k[4:], err)
		}
		if r.Noted == r.Due.Unix() {
			return b.Put(feedDueKey(r.Noted, k), []byte{})
		}
		r.Noted = r.Due.Unix()
		noted[string(k)], err = json.Marshal(&r)
		return errors.Join(err, b.Put(feedDueKey(r.Noted, k), []byte{}))
	})
	for k, v := range noted {
		if err == nil {
			err = tx.Bucket(store.BucketFeeds).Put([]byte(k), v)
		}
	}
	return err
}

// load makes feeds due that a clock which was far ahead has postponed.
func (s *Feeds) load(now time.Time) error {
	s.next = time.Time{}
	b := s.ledger.Tx.Bucket(store.BucketFeedsDue)
	if b == nil {
		return nil
	}
	var late [][]byte
	c, limit := b.Cursor(), now.Add(Gone+mostRest).Unix()
	for k, _ := c.Last(); k != nil && int64(binary.BigEndian.Uint64(k)) > limit; k, _ = c.Prev() {
		late = append(late, slices.Clone(k[8:]))
	}
	for _, k := range late {
		r, known, err := s.record(k)
		if err != nil {
			return err
		}
		if r.Due = now; known {
			if err := s.put(k, &r); err != nil {
				return err
			}
		}
	}
	return nil
}

// feedKey is a feed's key: host id, URL, a zero byte, and the origin that announces it.
func feedKey(id store.HostID, e *crawl.AuxRequest) []byte {
	k := append(id.Append(nil), e.URL...)
	return append(append(k, 0), e.Origin.String()...)
}

// auxRequest is the auxiliary request that reads a feed.
func (s *Feeds) auxRequest(key []byte, r *FeedRecord) (e crawl.AuxRequest, ok bool) {
	u, origin, ok := bytes.Cut(key[4:], []byte{0})
	if !ok {
		return e, false
	}
	return crawl.AuxRequest{Kind: crawl.AuxFeed, URL: canon.URL(u), Origin: canon.URL(string(origin) + "/").Origin(), Hop: r.Depth, ReplyShard: s.ledger.ID}, true
}

func (s *Feeds) record(key []byte) (r FeedRecord, known bool, err error) {
	v := s.ledger.Tx.Bucket(store.BucketFeeds).Get(key)
	if v == nil {
		return r, false, nil
	}
	if err := json.Unmarshal(v, &r); err != nil {
		return r, false, fmt.Errorf("%w: feed %q: %w", store.ErrRecord, key[4:], err)
	}
	return r, true, nil
}

// feedDueKey is the key of a feed in BucketFeedsDue.
func feedDueKey(at int64, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(max(at, 0))), key...)
}

// put writes a record, and its entry in BucketFeedsDue.
func (s *Feeds) put(key []byte, r *FeedRecord) error {
	due := r.Due.Unix()
	if r.Noted != due {
		if r.Noted != 0 {
			if err := s.ledger.Drop(store.BucketFeedsDue, feedDueKey(r.Noted, key)); err != nil {
				return err
			}
		}
		r.Noted = due
		if err := s.ledger.Put(store.BucketFeedsDue, feedDueKey(due, key), []byte{}); err != nil {
			return err
		}
	}
	if r.Due.Before(s.next) {
		s.next = r.Due
	}
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketFeeds, key, v)
}

func (s *Feeds) drop(key []byte, r *FeedRecord) error {
	if err := s.ledger.Drop(store.BucketFeedsDue, feedDueKey(r.Noted, key)); err != nil {
		return err
	}
	return s.ledger.Drop(store.BucketFeeds, key)
}

// reads reports whether a feed on h is read. Feeds of mirrors and forgotten feeds are not.
func (s *Feeds) reads(h *hosts.Host, u canon.URL) bool {
	i, known := h.OriginIndex(u.Origin())
	return s.ledger.Judge.Spec.ReadsFeeds() && !s.ledger.Judge.Forgotten.Has(u) && !(known && h.Origins[i].Mirror.Mirrored())
}

// want decides about a feed that pages announce. An unknown feed is read at once. Of a known feed
// only a smaller depth is noted.
func (s *Feeds) want(e *crawl.AuxRequest, now time.Time) (*hosts.Host, error) {
	e.Hop = min(max(e.Hop, 1), 1<<15)
	own := e.Origin.Host == e.URL.Host()
	if !own && !s.ledger.Judge.Scope.Decide(e.URL).In && e.URL.Host().Registered() != e.Origin.Host.Registered() {
		return nil, nil // it does not belong to the crawl
	}
	h, err := s.urls.LinkedHost(e.URL.Host(), false)
	if h == nil || err != nil || h.Closed || !s.reads(h, e.URL) {
		return nil, err
	}
	k := feedKey(h.ID, e)
	r, known, err := s.record(k)
	if err != nil {
		return nil, err
	}
	if known {
		if e.Hop < r.Depth {
			r.Depth = e.Hop
			err = s.put(k, &r)
		}
		return nil, err
	}
	n, err := s.count(h, own)
	if err != nil || own && n >= MaxOwn || !own && n >= MaxForeign {
		return nil, err
	}
	// If the request is lost, it is sent again at that time.
	if err := s.put(k, &FeedRecord{Depth: e.Hop, Due: now.Add(First)}); err != nil {
		return nil, err
	}
	e.URL, e.Origin.Host, e.ReplyShard = canon.URL(strings.Clone(string(e.URL))), canon.Host(strings.Clone(string(e.Origin.Host))), s.ledger.ID
	return h, nil
}

// count is the number of known feeds of a host that its own pages announce, or those of other
// hosts.
func (s *Feeds) count(h *hosts.Host, own bool) (n int, err error) {
	err = s.each(h, func(_ []byte, _ *FeedRecord, e *crawl.AuxRequest) error {
		if own == (e.Origin.Host == h.Name) {
			n++
		}
		return nil
	})
	return n, err
}

// each calls fn for each feed of a host.
func (s *Feeds) each(h *hosts.Host, fn func(key []byte, r *FeedRecord, e *crawl.AuxRequest) error) error {
	b := s.ledger.Tx.Bucket(store.BucketFeeds)
	if b == nil {
		return nil // a file from a version without this bucket, opened for reading only
	}
	c := b.Cursor()
	prefix := h.ID.Append(nil)
	for k, v := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, v = c.Next() {
		var r FeedRecord
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: feed %q: %w", store.ErrRecord, k[4:], err)
		}
		if e, ok := s.auxRequest(k, &r); ok {
			if err := fn(k, &r, &e); err != nil {
				return err
			}
		}
	}
	return nil
}

// dress adds the validators of the last response to a request. A feed that was read under another
// scope is read completely. A request for a feed that is no longer read is dropped.
func (s *Feeds) dress(h *hosts.Host, now time.Time) func(e *crawl.AuxRequest) (ok bool, err error) {
	return func(e *crawl.AuxRequest) (bool, error) {
		r, known, err := s.record(feedKey(h.ID, e))
		if err != nil {
			return false, err
		}
		if !known || !s.reads(h, e.URL) {
			return false, s.features.DropAux(h, *e, now)
		}
		if r.Scope == s.ledger.Judge.Spec.ScopeHash() {
			e.ETag, e.LastModified = r.ETag, r.LastMod
		}
		return true, nil
	}
}

// answer applies the result of reading a feed.
func (s *Feeds) answer(a *crawl.Answer, at, now time.Time) error {
	h, err := s.ledger.HostNamed(a.Aux.URL.Host())
	if h == nil || err != nil || a.Feed == nil {
		return err
	}
	k := feedKey(h.ID, &a.Aux)
	r, known, err := s.record(k)
	if err != nil || !known {
		return err
	}
	m := a.Feed
	r.Requests++
	r.Status, r.Reason = m.Status, strings.Clone(crawl.ShortDetail(m.Reason))
	least := min(Least, s.least())
	switch {
	case m.NotModified, m.Read && r.Digest == m.Digest && r.Every > 0:
		r.Every = min(max(r.Every+r.Every/2, least), Most)
	case m.Read && r.Every == 0:
		r.Every = max(min(First, 4*least), least)
	case m.Read:
		r.Every = max(r.Every/2, least)
		r.Changes++
	}
	switch {
	case m.NotModified, m.Read:
		r.State, r.Failures, r.Read = "read", 0, at
		r.Reads++
		r.Due = at.Add(max(r.Every, min(m.MinInterval, mostRest)))
		if m.Read {
			r.ETag, r.LastMod, r.Digest, r.Scope = strings.Clone(m.ETag), strings.Clone(m.LastModified), m.Digest, m.Scope
			r.Entries, r.Skipped = m.Entries, m.Skipped
			r.Delivered += int64(m.Entries)
		}
	case m.Again && r.Failures < polite.FeedTries:
		r.Failures++
		r.Due = now.Add(max(s.polite.RetryIn(h, r.Failures), min(r.Every, mostRest)))
	default: // it is no feed, or not for us
		r.State, r.Failures, r.Due = "gone", 0, at.Add(Gone)
		r.ETag, r.LastMod, r.Digest = "", "", 0
		if m.Status >= 300 && m.Status <= 399 {
			r.State = "moved"
		}
	}
	if pushed := r.State == "read" && s.hubs.Pushed(a.Aux.URL); pushed {
		r.Due = mirror.Latest(r.Due, at.Add(pushedRest))
	}
	if err := s.put(k, &r); err != nil || m.Hub == "" || !m.Read {
		return err
	}
	return s.hubs.Named(h, a.Aux.URL, r.Depth, m, now)
}

// Soon makes a feed due at the next visit to its host, because a hub reports that it has changed.
func (s *Feeds) Soon(h *hosts.Host, feed canon.URL, now time.Time) error {
	due := map[string]FeedRecord{}
	err := s.each(h, func(k []byte, r *FeedRecord, e *crawl.AuxRequest) error {
		if e.URL == feed && r.Due.After(now) && !r.Read.After(now.Add(-soonest)) {
			due[string(k)] = *r
		}
		return nil
	})
	for k, r := range due {
		if r.Due = now; err == nil {
			err = s.put([]byte(k), &r)
		}
	}
	return err
}

// least is the minimum time between two fetches of a page.
func (s *Feeds) least() time.Duration {
	if d := s.ledger.Judge.Spec.RecrawlMin; d > 0 {
		return d
	}
	return crawl.DefaultRecrawlMin
}

// Upkeep adds auxiliary requests for the feeds that are due.
func (s *Feeds) Upkeep(now time.Time) error {
	if now.Before(s.next) || s.ledger.Phase.MayWrite() != nil || !s.ledger.Judge.Spec.ReadsFeeds() {
		return nil
	}
	s.next = now.Add(time.Hour)
	var due [][]byte
	c := s.ledger.Tx.Bucket(store.BucketFeedsDue).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if at := time.Unix(int64(binary.BigEndian.Uint64(k)), 0); at.After(now) || len(due) == atOnce {
			if at.Before(s.next) {
				s.next = at
			}
			break
		}
		due = append(due, slices.Clone(k))
	}
	for _, k := range due {
		if err := s.offer(k, now); err != nil {
			return err
		}
	}
	return nil
}

// offer adds an auxiliary request for a feed that is due.
func (s *Feeds) offer(due []byte, now time.Time) error {
	k := due[8:]
	r, known, err := s.record(k)
	if err != nil {
		return err
	}
	e, ok := s.auxRequest(k, &r)
	h, err := s.ledger.HostWith(store.KeyHost(k))
	if err != nil {
		return err
	}
	if !known || !ok || h == nil || !bytes.Equal(due, feedDueKey(r.Noted, k)) {
		return s.ledger.Drop(store.BucketFeedsDue, due)
	}
	if now.Before(r.Due) { // another clock wrote the key
		return s.put(k, &r)
	}
	if r.State == "gone" || !s.reads(h, e.URL) {
		return s.drop(k, &r) // pages may announce it again
	}
	// If the request is lost, it is sent again at that time.
	r.Due = now.Add(max(r.Every, First))
	if err := s.put(k, &r); err != nil {
		return err
	}
	if len(h.Aux) >= hosts.MaxAux || slices.ContainsFunc(h.Aux, func(x crawl.AuxRequest) bool { return x.Kind == e.Kind && x.URL == e.URL && x.Origin == e.Origin }) {
		return nil
	}
	return h.KeepAux(e)
}

// mirrorChanged removes the feeds of an origin that has become a mirror, because its main host has
// the same feeds.
func (s *Feeds) mirrorChanged(h *hosts.Host, i int, _ time.Time) error {
	o := &h.Origins[i]
	if !o.Mirror.Mirrored() {
		return nil
	}
	gone := map[string]FeedRecord{}
	err := s.each(h, func(k []byte, r *FeedRecord, e *crawl.AuxRequest) error {
		if e.URL.Origin() == o.Origin {
			gone[string(k)] = *r
		}
		return nil
	})
	for k, r := range gone {
		if err == nil {
			err = s.drop([]byte(k), &r)
		}
	}
	return err
}

// Info is what `curtsy updates` prints about the feeds that an origin's pages announce on its own
// host; ok is false when there are none. Feeds on other hosts are listed there.
func (s *Feeds) Info(h *hosts.Host, o *hosts.Origin) (info crawl.UpdatesInfo, ok bool) {
	info = crawl.UpdatesInfo{Site: o.Origin.String(), Source: crawl.SourceFeed.String(), Channel: "poll", State: "asking"}
	n := 0
	_ = s.each(h, func(_ []byte, r *FeedRecord, e *crawl.AuxRequest) error {
		if e.URL.Origin() != o.Origin {
			return nil
		}
		n++
		info.Reports += r.Reads
		info.Reported += r.Delivered
		info.Requests += r.Requests
		if r.State == "read" || r.State != "" && info.State == "asking" {
			info.State = r.State
		}
		if r.State == "read" && (info.Next == nil || r.Due.Before(*info.Next)) {
			at := r.Due.UTC()
			info.Next = &at
		}
		if !r.Read.IsZero() && (info.LastReport == nil || r.Read.After(info.LastReport.At)) {
			info.LastReport = &crawl.UpdatesReport{At: r.Read.UTC(), Entries: int64(r.Entries), Refused: int64(r.Skipped)}
		}
		if r.Reason != "" && (info.Reason == "" || r.State == "read") {
			info.Reason = r.Reason
		}
		return nil
	})
	return info, n > 0
}
