package dispatch

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
)

const (
	// Patience is how long the pages of an origin wait for a mobile robot after its last sign of
	// life.
	Patience = hosts.DispatchPatience
	// GiveUp is the time without a sign of life after which a dispatch counts as failed, because
	// its request or the answer may be lost.
	GiveUp = 24 * time.Hour
	// MaxPaths is the maximum number of paths of an origin for which robots are sent.
	MaxPaths = 16
	// MaxLines is the maximum number of lines of a robots.txt that may name a server. Each is
	// compared with all that follow, so a file with very many would cost much.
	MaxLines = 64
	// MaxWorking is the maximum number of origins of a shard for which a robot is out, or what it
	// brought is being compared: their hosts stay in memory. Others wait for their turn, and their
	// pages are fetched meanwhile.
	MaxWorking = 256
	// MaxBundles is for how many robots of an origin it is known which pages they brought.
	MaxBundles = 64

	// AgainAfter is how long no robot is sent after one that brought what is there, or longer if
	// pages are fetched again less often.
	AgainAfter = 24 * time.Hour
	// RefusedFor is how long no robot is sent after the server did not accept one.
	RefusedFor = 7 * 24 * time.Hour
	// DroppedFor is how long a server is not used after what it sent was wrong.
	DroppedFor = 30 * 24 * time.Hour

	atOnce    = 16                      // how many dispatches begin at once
	soon      = time.Second             // when a dispatch begins for which there were no pages
	unwanted  = time.Hour               // when one is that was not wanted any more
	leastPart = 256                     // how many pages of a limit a dispatch may have at least
	latest    = DroppedFor + RefusedFor // no due time is later
)

// Above is what dispatches need of packages above this one.
type Above struct {
	// Robots is what a fetcher needs to know of an origin's robots.txt.
	Robots func(h *hosts.Host, o *hosts.Origin, now time.Time) crawl.Robots
	// Refetch has a URL that is done fetched again, if the spec permits it.
	Refetch func(h *hosts.Host, r *urls.Record) error
	// Expired notes that a visit which is over may still report so many pages.
	Expired func(id crawl.VisitID, n int, now time.Time)
	// ReportBudget reports how many pages the shard uses.
	ReportBudget func(now time.Time)
}

// Dispatches are those of one shard. The caller of their methods has locked the ledger.
type Dispatches struct {
	*records
	checks *checks
	asked  bool // more of the page budget is being reserved
	spent  bool // when a robot was to be sent last, there were no pages for it
}

// New returns the dispatches of one shard.
func New(features *hosts.Features, ledger *hosts.Ledger, urls *urls.URLs, above Above) *Dispatches {
	r := &records{features: features, ledger: ledger, urls: urls, above: above, working: map[string]*Site{}}
	return &Dispatches{records: r, checks: &checks{r}}
}

// Feature sends mobile robots.
func (s *Dispatches) Feature() hosts.Feature {
	return hosts.Feature{
		Aux: map[crawl.AuxKind]hosts.AuxKind{
			crawl.AuxDispatch: {Want: s.wantRequest, Dress: s.dressRequest, Answer: s.answer},
			crawl.AuxVerify:   {From: polite.PageFrom, Answer: s.checks.answer},
		},
		Ask:           s.ask,
		MirrorChanged: s.mirrorChanged,
		Respec:        s.respec,
		Load:          s.load,
		Upkeep:        s.Upkeep,
		Pass:          hosts.Pass{Some: s.checks.refetchSome, Left: s.checks.refetches},
		Times:         seeTimes,
	}
}

// load finds the origins for which something is under way: their hosts are in memory. Due times
// that a wrong clock has put too far into the future become due.
func (s *Dispatches) load(now time.Time) error {
	s.next, s.working = time.Time{}, map[string]*Site{}
	s.ledger.ReservePages(-s.ledger.Reserved)
	if s.ledger.Tx.Bucket(store.BucketDispatches) == nil {
		return nil // a file of an older version, opened for reading only
	}
	for _, h := range s.ledger.SortedHosts() {
		for i := range h.Origins {
			if h.Origins[i].Dispatch == nil {
				continue
			}
			site, err := s.site(h, i)
			if err != nil {
				return err
			}
			if site.working() {
				s.working[string(site.key)] = site
				s.ledger.ReservePages(site.left())
			} else if s.ledger.Tx.Writable() {
				h.Origins[i].DispatchEnded()
			}
		}
	}
	var late [][]byte
	c, limit := s.ledger.Tx.Bucket(store.BucketDispatchesDue).Cursor(), now.Add(latest).Unix()
	for k, _ := c.Last(); k != nil && int64(binary.BigEndian.Uint64(k)) > limit && s.ledger.Tx.Writable(); k, _ = c.Prev() {
		late = append(late, slices.Clone(k[8:]))
	}
	for _, k := range late {
		site, err := s.read(k)
		if err != nil {
			return err
		}
		for i := range site.Paths {
			site.Paths[i].Due = now
		}
		if err := s.put(site); err != nil {
			return err
		}
	}
	return nil
}

// Upkeep continues what is under way, and begins the dispatches that are due.
func (s *Dispatches) Upkeep(now time.Time) error {
	if !s.ledger.Phase.Active() {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(s.working)) {
		site := s.working[k]
		if !now.Before(site.wake) {
			if err := s.step(site, now); err != nil {
				return err
			}
		}
		if site.dirty {
			if err := s.put(site); err != nil {
				return err
			}
		}
	}
	spec := &s.ledger.Judge.Spec
	if now.Before(s.next) || len(s.working) >= MaxWorking || !spec.SendsRobots() || spec.Paused {
		return nil
	}
	s.next = now.Add(time.Hour)
	var due [][]byte
	c := s.ledger.Tx.Bucket(store.BucketDispatchesDue).Cursor()
	for k, _ := c.First(); k != nil; k, _ = c.Next() {
		if at := time.Unix(int64(binary.BigEndian.Uint64(k)), 0); at.After(now) || len(due) == min(atOnce, MaxWorking-len(s.working)) {
			if at.Before(s.next) {
				s.next = at
			}
			break
		}
		due = append(due, slices.Clone(k[8:]))
	}
	for _, k := range due {
		site, err := s.read(k)
		if err != nil {
			return err
		}
		if err := s.begin(site, now); err != nil {
			return err
		}
	}
	return nil
}

// step continues what is under way for an origin.
func (s *Dispatches) step(site *Site, now time.Time) error {
	h, i, err := s.hostOf(site)
	if err != nil {
		return err
	}
	switch {
	case h == nil:
		return fmt.Errorf("%w: dispatches of %s: its host is not known", store.ErrRecord, site.origin())
	case site.Check != nil:
		return s.checks.more(h, i, site, now)
	case site.Out != nil && now.Sub(site.Out.Life) >= GiveUp:
		return s.finish(h, i, site, &crawl.Dispatch{State: crawl.DispatchFailed, Reason: "there was no answer"}, now, now)
	}
	site.wakeAt(now)
	return nil
}

// Full reports that a mobile robot has brought as many pages as were reserved for it, so that a
// further one would exceed --max-pages. id is the visit that they carry.
func (s *Dispatches) Full(id crawl.VisitID) bool {
	site := s.of(id)
	return site != nil && site.Out.Limit > 0 && site.Out.Left <= 0
}

// Owns reports that the visit is that of pages which a mobile robot is bringing.
func (s *Dispatches) Owns(id crawl.VisitID) bool { return s.of(id) != nil }

// Stored notes that a page is stored which was not before. id is the visit that reported it. The
// record is written by Upkeep: if a crash comes before that, too many pages stay reserved until the
// robot has ended.
func (s *Dispatches) Stored(id crawl.VisitID) {
	site := s.of(id)
	if site == nil || site.Out.Left <= 0 {
		return
	}
	site.Out.Left--
	s.ledger.ReservePages(-1)
	site.dirty = true
}

// Pending is how many origins keep the crawl from being done: their pages wait for a robot, or
// pages that one brought are to be requested by limit. All for which robots are to be sent by then
// count as one, unless there are no pages for them.
func (s *Dispatches) Pending(limit, now time.Time) (n int) {
	if s.ledger.Tx.Bucket(store.BucketDispatchesDue) == nil {
		return 0 // a file of an older version, opened for reading only
	}
	for _, site := range s.working {
		switch {
		case site.Out != nil && !site.Out.Unwanted && now.Sub(site.Out.Life) < Patience, site.Check != nil && !site.wake.After(limit):
			n++
		}
	}
	due, _ := s.ledger.Tx.Bucket(store.BucketDispatchesDue).Cursor().First()
	if spec := &s.ledger.Judge.Spec; due != nil && spec.SendsRobots() && !s.spent && binary.BigEndian.Uint64(due) <= uint64(max(limit.Unix(), 0)) {
		n++
	}
	return n
}

// respec asks all origins again, because the settings have changed by which servers are used.
func (s *Dispatches) respec() error {
	s.next = time.Time{}
	text := s.settings()
	if text == s.ledger.Meta.Dispatches {
		return nil
	}
	s.ledger.Meta.AskedDispatches("") // so that a crash makes it begin again
	if text != "" {
		s.features.AskAll(func() { s.ledger.Meta.AskedDispatches(s.settings()) })
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(s.working)) {
		site := s.working[k]
		h, i, err := s.hostOf(site)
		if err != nil {
			return err
		}
		if h != nil {
			if err := s.refuse(h, i, site); err != nil {
				return err
			}
		}
	}
	return nil
}

// settings are those by which servers are used; empty: none is.
func (s *Dispatches) settings() string {
	spec := &s.ledger.Judge.Spec
	if !spec.SendsRobots() {
		return ""
	}
	return fmt.Sprintf("%q|%v|%v|%x", spec.RobotServers, spec.Refreshes(), spec.RecrawlMin, spec.ScopeHash())
}

// mirrorChanged stops what is under way for an origin that has become a mirror.
func (s *Dispatches) mirrorChanged(h *hosts.Host, i int, now time.Time) error {
	o := &h.Origins[i]
	if !o.Mirror.Mirrored() || o.Dispatch == nil && !o.Agents {
		return nil
	}
	site, err := s.site(h, i)
	if err != nil || !site.known {
		return err
	}
	if err := s.refresh(h, i, site, now); err != nil {
		return err
	}
	if site.Check != nil {
		return s.checks.end(h, i, site, now)
	}
	return s.put(site)
}
