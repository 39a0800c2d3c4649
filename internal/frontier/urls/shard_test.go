package urls

import (
	"bytes"
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
	"github.com/curtsy/curtsy/pkg/canon"
)

var testMetrics = store.NewMetrics(nil)

// testShard is the file of a shard with the packages up to this one. What stands above them does
// nothing.
type testShard struct {
	t *testing.T
	*hosts.Ledger
	urls    *URLs
	recrawl *Recrawl
	log     bytes.Buffer // the crawl log
	vouched int64        // until when reports vouch for each page
}

func testSpec() crawl.Spec {
	return crawl.Spec{Name: "t", Shards: 1, Scope: "any", MaxDepth: -1, Agent: "curtsy", Delay: time.Second, Seeds: []string{"http://a.example/"}}
}

func refetching() crawl.Spec {
	spec := testSpec()
	spec.Recrawl = true
	return spec
}

func openShard(t *testing.T, spec crawl.Spec) *testShard {
	return openFile(t, spec, filepath.Join(t.TempDir(), "shard.db"))
}

func openFile(t *testing.T, spec crawl.Spec, path string) *testShard {
	t.Helper()
	j, err := judge.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	s := &testShard{t: t}
	s.Ledger = hosts.New(hosts.Options{Path: path, Log: slog.New(slog.DiscardHandler), Judge: j, Hooks: hosts.Hooks{
		Schedule: func(time.Time) { s.TakeUnscheduled() },
		Uses:     func(*hosts.Host) bool { return false },
		Loaded:   func(*hosts.Host, time.Time) {},
	}})
	s.Attach(&s.log, &budget.Budget{}, testMetrics)
	s.Own(1, func() bool { return true })
	f := hosts.NewFeatures(s.Ledger)
	f.Register(nil)
	s.urls = New(f, s.Ledger, func(h *hosts.Host, r *Record, at time.Time) error { return s.recrawl.Plan(h, r, at) })
	s.recrawl = NewRecrawl(s.Ledger, polite.New(f, s.Ledger), s.urls, func(*hosts.Host, *Record) int64 { return s.vouched })
	s.must(s.OpenFile(false), s.Begin(true))
	s.urls.LoadLater()
	t.Cleanup(s.crash)
	return s
}

func (s *testShard) must(errs ...error) {
	s.t.Helper()
	if err := errors.Join(errs...); err != nil {
		s.t.Fatal(err)
	}
}

// crash ends the shard without a commit. It may be called again.
func (s *testShard) crash() {
	if s.DB == nil {
		return
	}
	if s.Tx != nil {
		s.must(s.Tx.Rollback())
	}
	s.EndTx()
	s.must(s.CloseFile())
}

// reopened commits, closes the file and opens it again.
func (s *testShard) reopened() *testShard {
	s.t.Helper()
	s.must(s.Commit(true))
	s.crash()
	return openFile(s.t, s.Judge.Spec, s.Path)
}

// respec replaces the spec.
func (s *testShard) respec(change func(spec *crawl.Spec)) {
	s.t.Helper()
	spec := s.Judge.Spec
	change(&spec)
	j, err := judge.New(spec)
	s.must(err)
	s.SetJudge(j)
}

// insert adds a URL with a verdict.
func (s *testShard) insert(u canon.URL, v Verdict, set ...func(r *Record)) {
	s.t.Helper()
	h, err := s.urls.LinkedHost(u.Host(), true)
	s.must(err)
	i, ok := s.OriginOf(h, u.Origin())
	if !ok {
		s.t.Fatal("the host has no capacity for an origin")
	}
	r := Record{URL: u, Origin: i, Order: s.Meta.NextOrder()}
	for _, f := range set {
		f(&r)
	}
	s.must(s.urls.Insert(h, &r, v), s.PutKnown(h.ID, store.SeenHash(u), r.Order), s.urls.PutNew(h.ID, &r))
}

// find returns the host, the key and the record of a URL.
func (s *testShard) find(u canon.URL) (*hosts.Host, []byte, Record) {
	s.t.Helper()
	h, err := s.HostNamed(u.Host())
	s.must(err)
	if h == nil {
		s.t.Fatalf("the host of %s is unknown", u)
	}
	k, v := s.urls.Lookup(h, u)
	r, err := DecodeRecord(k, v)
	s.must(err)
	return h, k, r
}

// change changes the record of a URL.
func (s *testShard) change(u canon.URL, f func(h *hosts.Host, r *Record) error) {
	s.t.Helper()
	h, k, r := s.find(u)
	s.must(f(h, &r), s.urls.PutURL(k, &r))
}

// check compares all indexes with the records.
func (s *testShard) check() {
	s.t.Helper()
	ready, later, again := map[string]bool{}, map[string]bool{}, map[string]bool{}
	var want store.Counts
	want.ByReason = map[string]int64{}
	perHost := map[*hosts.Host]*[4]int64{}
	s.must(s.urls.EachRecord(func(h *hosts.Host, _ []byte, r *Record) (bool, error) {
		if perHost[h] == nil {
			perHost[h] = new([4]int64)
		}
		n := perHost[h]
		switch {
		case r.Waiting():
			later[string(store.LaterKey(nil, r.Due, h.ID, r.Order))] = true
			want.Later++
		case r.Class == crawl.Queued:
			ready[string(store.QueueKey(nil, h.ID, r.Origin, r.Depth, r.Rank, r.Order))] = true
		}
		if r.Next > 0 {
			again[string(AgainKey(nil, h.ID, r.Origin, r.Pace, r.Next, r.Order))] = true
			n[3]++
		}
		switch r.Class {
		case crawl.Queued:
			want.Queued++
			n[0]++
		case crawl.Stored:
			want.Stored++
			n[1]++
		case crawl.Redirected:
			want.Redirected++
		case crawl.Refused:
			want.Refused++
		case crawl.Failed:
			want.Failed++
			n[2]++
		}
		if r.Class == crawl.Stored {
			want.Rendering.Count(r.Rendering, 1)
		}
		if r.Class != crawl.Queued && r.Reason != "" {
			want.ByReason[string(r.Reason)]++
		}
		return false, nil
	}))
	got := s.Meta.Counts
	if got.Queued != want.Queued || got.Later != want.Later || got.Stored != want.Stored || got.Redirected != want.Redirected || got.Refused != want.Refused || got.Failed != want.Failed || got.Rendering != want.Rendering {
		s.t.Errorf("counts %+v, the records have %+v", got, want)
	}
	for reason, n := range want.ByReason {
		if got.ByReason[reason] != n {
			s.t.Errorf("%d URLs with reason %s, the records have %d", got.ByReason[reason], reason, n)
		}
	}
	for h, n := range perHost {
		var planned int64
		for i := range h.Origins {
			planned += h.Origins[i].Again
		}
		if h.Queued != n[0] || h.Stored != n[1] || h.Failed != n[2] || planned != n[3] {
			s.t.Errorf("%s has queued %d, stored %d, failed %d, planned %d; its records say %v", h.Name, h.Queued, h.Stored, h.Failed, planned, n)
		}
	}
	s.same("queue", ready, func(each func(k []byte)) {
		for c, k := s.Ready().Cursor(), []byte(nil); ; {
			if k == nil {
				k, _ = c.First()
			} else {
				k, _ = c.Next()
			}
			if k == nil {
				return
			}
			each(k)
		}
	})
	for what, want := range map[string]map[string]bool{"waiting URLs": later, "plan": again} {
		bucket := store.BucketLater
		if what == "plan" {
			bucket = store.BucketAgain
		}
		s.same(what, want, func(each func(k []byte)) {
			s.must(s.Tx.Bucket(bucket).ForEach(func(k, _ []byte) error { each(k); return nil }))
		})
	}
}

// same compares the keys of an index with those that the records require.
func (s *testShard) same(what string, want map[string]bool, all func(each func(k []byte))) {
	s.t.Helper()
	n := 0
	all(func(k []byte) {
		if n++; !want[string(k)] {
			s.t.Errorf("the %s has %x, which belongs to no record", what, k)
		}
	})
	if n != len(want) {
		s.t.Errorf("the %s has %d keys, the records require %d", what, n, len(want))
	}
}
