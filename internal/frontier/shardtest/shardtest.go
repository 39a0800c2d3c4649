// Package shardtest opens the records of a shard in a temporary directory, so that a test of a
// package above them needs no whole shard: it opens, calls, and looks. Only tests import it.
package shardtest

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/polite"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// Spec is the spec of a crawl of one shard, with a delay of one second.
func Spec() crawl.Spec {
	return crawl.Spec{
		Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", Delay: time.Second, HoldMax: 10 * time.Minute, AllowPrivate: true,
	}
}

// Shard has the packages below the tested one, on a file. It is for one goroutine.
type Shard struct {
	Ledger   *hosts.Ledger
	Features *hosts.Features
	URLs     *urls.URLs
	Polite   *polite.Polite
	Recrawl  *urls.Recrawl

	Accepted []crawl.Links // what the tested package has offered as links

	t    testing.TB
	wire func(*Shard) Tested
	over Tested
}

// Tested is what the tested package does for those below it. A nil function means that it does
// nothing.
type Tested struct {
	Features []hosts.Feature
	Schedule func(now time.Time)
	Vouched  func(*hosts.Host, *urls.Record) int64
	Uses     func(*hosts.Host) bool
}

// Open makes a shard with an empty file, which may grant visits. wire makes the tested package on
// it. The file is closed when the test ends.
func Open(t testing.TB, spec crawl.Spec, wire func(*Shard) Tested) *Shard {
	t.Helper()
	s := &Shard{t: t, wire: wire}
	s.open(filepath.Join(t.TempDir(), "shard.db"), spec, 1)
	t.Cleanup(s.close)
	return s
}

// Reopen commits, and opens the file again as the next owner does. wire is called again, and hosts
// that the test knew are no longer those of the shard.
func (s *Shard) Reopen() {
	s.t.Helper()
	s.Commit()
	l := s.Ledger
	s.close()
	s.open(l.Path, l.Judge.Spec, l.Epoch+1)
}

func (s *Shard) open(path string, spec crawl.Spec, epoch uint64) {
	s.t.Helper()
	j, err := judge.New(spec)
	s.check(err)
	s.Ledger = hosts.New(hosts.Options{Path: path, Log: slog.New(slog.DiscardHandler), Judge: j, Hooks: hosts.Hooks{
		Schedule: func(now time.Time) {
			if s.over.Schedule != nil {
				s.over.Schedule(now)
			} else {
				s.Ledger.TakeUnscheduled()
			}
		},
		Accept: func(l *crawl.Links, _ time.Time) error {
			s.Accepted = append(s.Accepted, *l)
			return nil
		},
		Uses:   func(h *hosts.Host) bool { return s.over.Uses != nil && s.over.Uses(h) },
		Loaded: func(*hosts.Host, time.Time) {},
	}})
	s.Features = hosts.NewFeatures(s.Ledger)
	s.URLs = urls.New(s.Features, s.Ledger, func(h *hosts.Host, r *urls.Record, at time.Time) error { return s.Recrawl.Plan(h, r, at) })
	s.Polite = polite.New(s.Features, s.Ledger)
	s.Recrawl = urls.NewRecrawl(s.Ledger, s.Polite, s.URLs, func(h *hosts.Host, r *urls.Record) int64 {
		if s.over.Vouched == nil {
			return 0
		}
		return s.over.Vouched(h, r)
	})
	s.over = s.wire(s)
	s.Features.Register(s.over.Features)
	s.Ledger.Attach(nil, &budget.Budget{}, store.NewMetrics(nil))
	s.Ledger.Own(epoch, func() bool { return true })
	s.check(s.Ledger.OpenFile(false))
	s.check(s.Ledger.Begin(true))
	s.check(s.Ledger.LoadHosts())
	s.check(s.Features.LoadAux())
	s.check(s.Ledger.LoadOutbox())
	s.URLs.LoadLater()
	s.Ledger.Meta.DecidedBy(s.Ledger.Judge.Fingerprint())
	s.check(s.Features.Load(time.Now()))
	s.Ledger.Phase.Begin(store.StartClean, 0)
	s.Ledger.Phase.CaughtUp(store.StartClean, time.Now())
}

func (s *Shard) close() {
	if s.Ledger == nil || s.Ledger.DB == nil {
		return
	}
	if s.Ledger.Tx != nil {
		s.check(s.Ledger.Tx.Rollback())
	}
	s.Ledger.EndTx()
	s.check(s.Ledger.CloseFile())
}

func (s *Shard) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// Commit writes what has changed.
func (s *Shard) Commit() {
	s.t.Helper()
	s.check(s.Ledger.Commit(true))
}

// Host returns the host of that name, and the index of its http origin. It is made if it is not
// known. Its robots.txt was read if it has URLs.
func (s *Shard) Host(name canon.Host) (h *hosts.Host, i int) {
	s.t.Helper()
	h, err := s.Ledger.HostOf(name)
	s.check(err)
	at, ok := s.Ledger.OriginOf(h, canon.Origin{Scheme: "http", Host: name, Port: 80})
	if !ok {
		s.t.Fatalf("%s has no capacity for an origin", name)
	}
	return h, int(at)
}

// Link adds URLs that were found at a depth, as links add them. Their origins have no robots.txt.
func (s *Shard) Link(depth int, all ...string) {
	s.t.Helper()
	for _, raw := range all {
		u, err := canon.Parse(raw)
		s.check(err)
		h, err := s.URLs.LinkedHost(u.Host(), true)
		s.check(err)
		i, ok := s.Ledger.OriginOf(h, u.Origin())
		if !ok {
			s.t.Fatalf("%s: its host has no capacity for an origin", raw)
		}
		if o := &h.Origins[i]; o.Copy == crawl.RobotsUnknown {
			s.check(o.NoRobots(time.Now(), 24*time.Hour))
		}
		if _, v := s.URLs.Lookup(h, u); v != nil {
			continue
		}
		r := &urls.Record{URL: u, Origin: i, Depth: depth, Order: s.Ledger.Meta.NextOrder()}
		s.check(errors.Join(s.URLs.Insert(h, r, s.URLs.Judge(r, h)), s.Ledger.PutKnown(h.ID, store.SeenHash(u), r.Order), s.URLs.PutNew(h.ID, r)))
	}
}

// Record returns the record of a known URL, and its host.
func (s *Shard) Record(raw string) (*hosts.Host, urls.Record) {
	s.t.Helper()
	h, err := s.Ledger.HostNamed(canon.URL(raw).Host())
	s.check(err)
	if h == nil {
		s.t.Fatalf("the host of %s is not known", raw)
	}
	k, v := s.URLs.Lookup(h, canon.URL(raw))
	if v == nil {
		s.t.Fatalf("%s is not known", raw)
	}
	r, err := urls.DecodeRecord(k, v)
	s.check(err)
	return h, r
}

// Set gives a known URL a class. change may change its record first; it may be nil.
func (s *Shard) Set(raw string, v urls.Verdict, change func(r *urls.Record)) {
	s.t.Helper()
	h, r := s.Record(raw)
	if change != nil {
		change(&r)
	}
	s.check(errors.Join(s.URLs.SetState(h, &r, v), s.URLs.PutURL(store.URLKey(nil, h.ID, r.Order), &r)))
}

// Sent returns the events that were sent to shards, by shard, and the pages that were sent to the
// indexer, since the last call.
func (s *Shard) Sent() (events map[int][]crawl.Event, pages []crawl.Page) {
	s.t.Helper()
	events = map[int][]crawl.Event{}
	s.Commit()
	for _, m := range s.Ledger.CommittedOutbox() {
		data, err := s.Ledger.Outgoing(m)
		s.check(err)
		if m.Pages {
			list, err := crawl.DecodePages(data)
			s.check(err)
			pages = append(pages, list...)
		} else {
			ev, err := crawl.DecodeEvent(data)
			s.check(err)
			events[m.Shard] = append(events[m.Shard], ev)
		}
		s.Ledger.MarkSent(m.N)
	}
	return events, pages
}
