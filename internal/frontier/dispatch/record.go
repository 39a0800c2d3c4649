package dispatch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/mirror"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Site is the record of the dispatches of one origin.
type Site struct {
	N       int      `json:"n,omitempty"` // the number of the last dispatch; see begin
	Paths   []Path   `json:"paths,omitempty"`
	Out     *Out     `json:"out,omitempty"`     // the robot that is out
	Check   *Check   `json:"check,omitempty"`   // the comparison that is running
	Bundles []Bundle `json:"bundles,omitempty"` // what robots brought, the latest last
	Drops   []Drop   `json:"drops,omitempty"`   // servers that are not used
	// BucketDispatchesDue has an entry with this time (Unix s); 0: nothing is due some time.
	Noted int64 `json:"noted,omitempty"`

	key   []byte
	known bool      // it is in the file
	wake  time.Time // step does nothing before
	dirty bool      // it differs from the file
}

// Path is a path of the origin for which robots.txt names a server that may be used.
type Path struct {
	About  canon.URL `json:"about"`  // below which the robot reads
	Server canon.URL `json:"server"` // as crawl.AgentServerURL
	Line   int       `json:"line,omitempty"`
	// No robot is sent before. Good is when the last one that brought what is there was over; zero:
	// the last one did not.
	Due      time.Time `json:"due,omitzero"`
	Good     time.Time `json:"good,omitzero"`
	Failures int       `json:"failures,omitempty"` // in a row
	Sent     int64     `json:"sent,omitempty"`     // how many robots were sent

	// These are about the last one, for people.
	State  string    `json:"state,omitempty"`
	Reason string    `json:"reason,omitempty"`
	At     time.Time `json:"at,omitzero"` // when it was over
	Counts
	Compared
}

// Counts are what was reported of one robot.
type Counts struct {
	Began     time.Time `json:"began,omitzero"`
	Requests  int       `json:"requests,omitempty"`
	BytesSent int64     `json:"bytes_sent,omitempty"`
	Received  int64     `json:"received,omitempty"`
	Documents int64     `json:"documents,omitempty"`
	Pages     int64     `json:"pages,omitempty"`
	Unchanged int64     `json:"unchanged,omitempty"`
	Ignored   int64     `json:"ignored,omitempty"`
}

// Compared counts the pages of one robot that are compared with those that the site serves.
type Compared struct {
	Sampled   int `json:"sampled,omitempty"`
	Confirmed int `json:"confirmed,omitempty"`
	Unclear   int `json:"unclear,omitempty"`
}

// Out is a robot that is out.
type Out struct {
	N      int           `json:"n"`
	Visit  crawl.VisitID `json:"visit"` // of its pages
	About  canon.URL     `json:"about"`
	Server canon.URL     `json:"server"`
	Queued time.Time     `json:"queued"`
	Life   time.Time     `json:"life"` // its last sign of life
	// Limit is how many pages were reserved for it (0: it has no limit), and Left how many of them
	// are not stored yet.
	Limit int64 `json:"limit,omitempty"`
	Left  int64 `json:"left,omitempty"`
	// Unwanted: by now it would not be sent.
	Unwanted bool   `json:"unwanted,omitempty"`
	Running  bool   `json:"running,omitempty"` // the server has accepted it
	AgentID  string `json:"agent_id,omitempty"`
	Offset   int64  `json:"offset,omitempty"`
	Skip     int64  `json:"skip,omitempty"`
	Counts
}

// Check is a comparison of a sample of pages, which are in BucketDispatchSamples.
type Check struct {
	N      int           `json:"n"` // of the dispatch
	Visit  crawl.VisitID `json:"visit"`
	About  canon.URL     `json:"about"`
	Server canon.URL     `json:"server"`
	Began  time.Time     `json:"began"`          // when the robot was sent
	Next   int           `json:"next,omitempty"` // number of the first page that was not asked for
	// Asked are the pages that are being requested, and Waiting those that are to be once more.
	Asked   []int `json:"asked,omitempty"`
	Waiting []int `json:"waiting,omitempty"`
	// AskedAt is when the last of Asked was, and Due when the first of Waiting is.
	AskedAt time.Time `json:"asked_at,omitzero"`
	Due     time.Time `json:"due,omitzero"`
	Compared
}

// Bundle is what one robot brought.
type Bundle struct {
	Visit    crawl.VisitID `json:"visit"` // of its pages
	Server   canon.URL     `json:"server"`
	At       time.Time     `json:"at"` // when it was sent
	Verified bool          `json:"verified,omitempty"`
}

// Drop is a server that is not used.
type Drop struct {
	Server canon.URL `json:"server"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
}

// Times shows the times of the record to see.
func (r *Site) Times(see times.See) {
	for i := range r.Paths {
		p := &r.Paths[i]
		see(&p.Due, times.Waits)
		see(&p.Good, times.Happened)
		see(&p.At, times.Happened)
		see(&p.Began, times.Happened)
	}
	if o := r.Out; o != nil {
		see(&o.Queued, times.Happened)
		see(&o.Life, times.Happened)
		see(&o.Began, times.Happened)
	}
	if c := r.Check; c != nil {
		see(&c.Began, times.Happened)
		see(&c.AskedAt, times.Happened)
		see(&c.Due, times.Waits)
	}
	for i := range r.Bundles {
		see(&r.Bundles[i].At, times.Happened)
	}
	for i := range r.Drops {
		see(&r.Drops[i].Until, times.Waits)
	}
	if r.Noted > 0 {
		at := time.Unix(r.Noted, 0)
		see(&at, times.Waits)
		r.Noted = max(at.Unix(), 1)
	}
}

// seeTimes shows the times of all records to see, and sorts the origins by their new due times.
func seeTimes(tx *bolt.Tx, see times.See) error {
	if tx.Bucket(store.BucketDispatches) == nil {
		return nil // a file from a version without these buckets
	}
	if err := store.InRecords[Site](store.BucketDispatches)(tx, see); err != nil {
		return err
	}
	if err := store.InRecords[sample](store.BucketDispatchSamples)(tx, see); err != nil {
		return err
	}
	if err := tx.DeleteBucket(store.BucketDispatchesDue); err != nil {
		return err
	}
	b, err := tx.CreateBucket(store.BucketDispatchesDue)
	if err != nil {
		return err
	}
	return tx.Bucket(store.BucketDispatches).ForEach(func(k, v []byte) error {
		var r Site
		if err := json.Unmarshal(v, &r); err != nil {
			return fmt.Errorf("%w: dispatches of %q: %w", store.ErrRecord, k[4:], err)
		}
		if r.Noted == 0 {
			return nil
		}
		return b.Put(dueKey(r.Noted, k), []byte{})
	})
}

// dueKey is the key of an origin in BucketDispatchesDue.
func dueKey(at int64, key []byte) []byte {
	return append(binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(key)), uint64(at)), key...)
}

// records are the records of one shard.
type records struct {
	features *hosts.Features
	ledger   *hosts.Ledger
	urls     *urls.URLs
	above    Above

	// The origins for which a robot is out or what it brought is compared, by their keys. Their
	// records in the file are the same.
	working map[string]*Site
	next    time.Time // no dispatch is due before
}

// hostOf returns the host of an origin, and the index of the origin there.
func (s *records) hostOf(site *Site) (h *hosts.Host, i int, err error) {
	if h, err = s.ledger.HostWith(store.KeyHost(site.key)); h == nil || err != nil {
		return nil, 0, err
	}
	i, known := h.OriginIndex(site.origin())
	if !known {
		return nil, 0, nil
	}
	return h, i, nil
}

// of returns the origin for which the robot is out whose pages carry that visit, or nil.
func (s *records) of(id crawl.VisitID) *Site {
	for _, site := range s.working {
		if site.Out != nil && site.Out.Visit == id {
			return site
		}
	}
	return nil
}

// refuse makes the robot that is out for an origin unwanted: its pages wait for it no longer. What
// it brings still counts.
func (s *records) refuse(h *hosts.Host, i int, site *Site) error {
	if site.Out == nil || site.Out.Unwanted {
		return nil
	}
	site.Out.Unwanted = true
	h.Origins[i].BeginDispatch(time.Time{})
	return s.put(site)
}

// each calls fn for the records of a host's origins.
func (s *records) each(h *hosts.Host, fn func(site *Site) error) error {
	b := s.ledger.Tx.Bucket(store.BucketDispatches)
	if b == nil {
		return nil
	}
	prefix := h.ID.Append(nil)
	var keys [][]byte
	c := b.Cursor()
	for k, _ := c.Seek(prefix); bytes.HasPrefix(k, prefix); k, _ = c.Next() {
		keys = append(keys, slices.Clone(k))
	}
	for _, k := range keys {
		site, err := s.read(k)
		if err != nil {
			return err
		}
		if err := fn(site); err != nil {
			return err
		}
	}
	return nil
}

// site returns the record of an origin; an empty one if there is none.
func (s *records) site(h *hosts.Host, i int) (*Site, error) {
	return s.read(append(h.ID.Append(nil), h.Origins[i].Origin.String()...))
}

// read returns the record with that key; an empty one if there is none.
func (s *records) read(key []byte) (*Site, error) {
	if site := s.working[string(key)]; site != nil {
		return site, nil
	}
	r := &Site{key: key}
	v := s.ledger.Tx.Bucket(store.BucketDispatches).Get(key)
	if v == nil {
		return r, nil
	}
	if err := json.Unmarshal(v, r); err != nil {
		return nil, fmt.Errorf("%w: dispatches of %q: %w", store.ErrRecord, key[4:], err)
	}
	r.known = true
	return r, nil
}

// put writes a record, and its entry in BucketDispatchesDue.
func (s *records) put(r *Site) error {
	r.dirty = false
	due := s.dueOf(r)
	if r.Noted != due && r.Noted != 0 {
		if err := s.ledger.Drop(store.BucketDispatchesDue, dueKey(r.Noted, r.key)); err != nil {
			return err
		}
	}
	if r.Noted != due && due != 0 {
		if err := s.ledger.Put(store.BucketDispatchesDue, dueKey(due, r.key), []byte{}); err != nil {
			return err
		}
	}
	r.Noted = due
	if at := time.Unix(due, 0); due != 0 && at.Before(s.next) {
		s.next = at
	}
	if r.working() {
		s.working[string(r.key)] = r
	} else if s.working[string(r.key)] != nil {
		delete(s.working, string(r.key))
		s.next = time.Time{} // others may have waited for it
	}
	if r.empty() {
		if !r.known {
			return nil
		}
		r.known = false
		return s.ledger.Drop(store.BucketDispatches, r.key)
	}
	r.known = true
	v, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.ledger.Put(store.BucketDispatches, r.key, v)
}

// dueOf is when a robot is to be sent for an origin (Unix s, rounded up); 0: never as things are,
// or not before what is under way has ended.
func (s *records) dueOf(r *Site) (due int64) {
	if r.working() || !s.ledger.Judge.Spec.SendsRobots() {
		return 0
	}
	for i := range r.Paths {
		at, ok := s.dueAt(r, &r.Paths[i])
		if !ok {
			continue
		}
		if n := max(at.Add(time.Second-1).Unix(), 1); due == 0 || n < due {
			due = n
		}
	}
	return due
}

// dueAt is when a robot is to be sent for a path; ok is false if none is as things are.
func (s *records) dueAt(r *Site, p *Path) (at time.Time, ok bool) {
	if p.Line == 0 {
		return at, false
	}
	at = p.Due
	if spec := &s.ledger.Judge.Spec; !p.Good.IsZero() {
		if !spec.Refreshes() {
			return at, false
		}
		at = mirror.Latest(at, p.Good.Add(max(AgainAfter, spec.RecrawlMin)))
	}
	if d := r.drop(p.Server); d != nil {
		at = mirror.Latest(at, d.Until)
	}
	return at, true
}

func (r *Site) working() bool { return r.Out != nil || r.Check != nil }

func (r *Site) empty() bool {
	return !r.working() && len(r.Paths) == 0 && len(r.Bundles) == 0 && len(r.Drops) == 0 && r.N == 0
}

// left is how many pages are reserved for the robot that is out.
func (r *Site) left() int64 {
	if r.Out == nil {
		return 0
	}
	return r.Out.Left
}

func (r *Site) origin() canon.Origin { return canon.URL(string(r.key[4:]) + "/").Origin() }

// path returns a path of the record, or nil.
func (r *Site) path(about, server canon.URL) *Path {
	i := slices.IndexFunc(r.Paths, func(p Path) bool { return p.About == about && p.Server == server })
	if i < 0 {
		return nil
	}
	return &r.Paths[i]
}

// drop returns why a server is not used, or nil.
func (r *Site) drop(server canon.URL) *Drop {
	i := slices.IndexFunc(r.Drops, func(d Drop) bool { return d.Server == server })
	if i < 0 {
		return nil
	}
	return &r.Drops[i]
}

// wakeAt determines when step has something to do.
func (r *Site) wakeAt(now time.Time) {
	switch c := r.Check; {
	case r.Out != nil:
		r.wake = r.Out.Life.Add(GiveUp)
	case c != nil && len(c.Asked) > 0:
		r.wake = c.AskedAt.Add(GiveUp)
		if len(c.Waiting) > 0 && c.Due.Before(r.wake) {
			r.wake = c.Due
		}
	case c != nil && len(c.Waiting) > 0:
		r.wake = c.Due
	default:
		r.wake = now
	}
}

// merge takes in what was reported of a robot. Reports may come twice or late, and all counts only
// grow. It returns how much they have grown.
func (c *Counts) merge(d *crawl.Dispatch) store.DispatchCounts {
	more := store.DispatchCounts{Pages: max(d.Pages-c.Pages, 0), Unchanged: max(d.Unchanged-c.Unchanged, 0), Received: max(d.Received-c.Received, 0)}
	c.Requests, c.BytesSent, c.Received = max(c.Requests, d.Requests), max(c.BytesSent, d.Sent), max(c.Received, d.Received)
	c.Documents, c.Pages = max(c.Documents, d.Documents), max(c.Pages, d.Pages)
	c.Unchanged, c.Ignored = max(c.Unchanged, d.Unchanged), max(c.Ignored, d.Ignored)
	if c.Began.IsZero() {
		c.Began = d.Began.UTC()
	}
	return more
}
