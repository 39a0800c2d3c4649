package shard

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/budget"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/pkg/canon"
)

// rig is a shard that grants visits, in virtual time. Its events are applied twice, which must make
// no difference.
type rig struct {
	t *testing.T
	*Parts
}

// inRig calls do with the rig of a new shard.
func inRig(t *testing.T, spec crawl.Spec, do func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		j, err := judge.New(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{t, New(hosts.Options{Path: filepath.Join(t.TempDir(), "shard.db"), Log: slog.New(slog.DiscardHandler), Judge: j})}
		l := r.Ledger
		l.Attach(nil, &budget.Budget{}, store.NewMetrics(nil))
		r.Visits.Attach(schedule.NewSlots(), make(chan struct{}, 1))
		l.Own(1, func() bool { return true })
		r.check(errors.Join(l.OpenFile(false), l.Begin(true), l.LoadHosts(), r.Features.Load(time.Now()), r.Specs.Load(time.Now())))
		l.Phase.Begin(store.StartClean, 0)
		l.Phase.CaughtUp(store.StartClean, time.Now())
		do(r)
		r.check(errors.Join(l.Tx.Rollback(), l.CloseFile()))
	})
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// event applies an event twice.
func (r *rig) event(ev crawl.Event) {
	r.t.Helper()
	now := time.Now()
	r.check(r.Ledger.Guarded(func() error { return errors.Join(r.Events.Apply(&ev, now, now), r.Events.Apply(&ev, now, now)) }))
}

func (r *rig) links(urls ...canon.URL) {
	r.t.Helper()
	r.event(crawl.Event{Links: []crawl.Links{{URLs: urls}}})
}

// visit grants the next visit.
func (r *rig) visit() crawl.Visit {
	r.t.Helper()
	for range 100 {
		var list []crawl.Visit
		r.check(r.Ledger.Guarded(func() (err error) {
			list, _, err = r.Visits.Grant(1, schedule.MaxGrantBytes, time.Now())
			return err
		}))
		if len(list) > 0 {
			return list[0]
		}
		time.Sleep(time.Second)
	}
	r.t.Fatal("no visit is granted")
	return crawl.Visit{}
}

// report ends a visit with a result for each of its URLs.
func (r *rig) report(v crawl.Visit, result func(canon.URL) crawl.Result) {
	r.t.Helper()
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs)}
	for _, u := range v.URLs {
		res := result(u.URL)
		res.URL, res.FetchedAt = u.URL, time.Now()
		o.Results = append(o.Results, res)
	}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	for _, x := range v.Robots {
		ev.Robots = append(ev.Robots, crawl.Robots{Origin: x.Origin, State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour})
	}
	r.event(ev)
}

func stored(canon.URL) crawl.Result { return crawl.Result{Class: crawl.Stored, Status: 200, Digest: 1} }

// record is what the shard knows of a URL.
func (r *rig) record(u canon.URL) urls.Record {
	r.t.Helper()
	h, err := r.Ledger.HostNamed(u.Host())
	r.check(err)
	if h == nil {
		r.t.Fatalf("the host of %s is unknown", u)
	}
	k, v := r.URLs.Lookup(h, u)
	if v == nil {
		r.t.Fatalf("%s is unknown", u)
	}
	x, err := urls.DecodeRecord(k, v)
	r.check(err)
	return x
}

func (r *rig) wantClass(u canon.URL, class crawl.Class, reason crawl.Reason) {
	r.t.Helper()
	if x := r.record(u); x.Class != class || x.Reason != reason {
		r.t.Errorf("%s is %v %q, want %v %q", u, x.Class, x.Reason, class, reason)
	}
}

// origin is what the shard knows of the http origin of a host.
func (r *rig) origin(host canon.Host) *hosts.Origin {
	r.t.Helper()
	h, err := r.Ledger.HostNamed(host)
	r.check(err)
	i, ok := h.OriginIndex(canon.Origin{Scheme: "http", Host: host, Port: 80})
	if !ok {
		r.t.Fatalf("%s has no such origin", host)
	}
	return &h.Origins[i]
}

func spec() crawl.Spec { return shardtest.Spec() }
