package schedule

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/shardtest"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/pkg/canon"
)

// sent makes a trace of requests for pages that begin so many seconds after begin and take one
// second.
func sent(host canon.Host, begin time.Time, from int, starts ...int) crawl.Trace {
	var all []crawl.Exchange
	for i, s := range starts {
		at := begin.Add(time.Duration(s) * time.Second)
		all = append(all, crawl.Exchange{URL: fmt.Sprintf("http://%s/%d", host, from+i), Start: at, End: at.Add(time.Second), Status: 200,
			Bytes: 7, Bound: 2 * time.Second, BoundSource: "configured"})
	}
	t := crawl.Trace{Host: host, Begin: begin.UnixMicro(), From: from, After: 2 * time.Second, AfterSource: "configured"}
	t.Trace(all, begin)
	return t
}

// paths returns the URLs of a timeline, without their host.
func paths(t crawl.Timeline) (all []string) {
	for _, r := range t.Requests {
		all = append(all, canon.URL(r.URL).Path())
	}
	return all
}

// report applies what a visit reports about its requests.
func (o *open) report(id crawl.VisitID, tr crawl.Trace) {
	o.t.Helper()
	if err := o.timeline.Apply(&tr, id); err != nil {
		o.t.Fatal(err)
	}
}

// of reads the timeline of a host.
func (o *open) of(name canon.Host, before time.Time, limit int) crawl.Timeline {
	o.t.Helper()
	h, _ := o.Host(name)
	tl, err := o.timeline.Of(h, before, limit)
	if err != nil {
		o.t.Fatal(err)
	}
	return tl
}

// What visits report about their requests is kept in the order in which they were sent, whenever
// and however often it is reported.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		begin := time.Now().Add(-time.Minute)
		older, newer := crawl.VisitID{Epoch: 1, N: 1 << 20}, crawl.VisitID{Epoch: 2, N: 1}
		second := sent("a.example", begin.Add(40*time.Second), 0, 0, 3)
		o.report(newer, second)
		last := sent("a.example", begin, 2, 10)
		last.After, last.AfterSource = 29*time.Second, "retry-after"
		o.report(older, last)
		o.report(older, sent("a.example", begin, 0, 1, 4))
		want := []string{"/0", "/1", "/2", "/0", "/1"}
		check := func(when string) {
			t.Helper()
			if got := o.of("a.example", time.Time{}, Keep); !reflect.DeepEqual(paths(got), want) || len(got.Unknown) != 0 || got.More {
				t.Errorf("%s: %q, %+v", when, paths(got), got)
			}
		}
		check("reported")
		o.Reopen()
		check("opened again")
		o.report(older, sent("a.example", begin, 0, 1, 4))
		o.report(newer, second)
		// By a visit that does not know how much was reported.
		o.report(older, sent("a.example", begin, 1, 4, 10))
		check("reported again")
		o.report(newer, sent("a.example", begin.Add(40*time.Second), 0, 0))
		check("fewer reported than are known")

		got := o.of("a.example", time.Time{}, Keep).Requests
		for i, want := range []crawl.Request{
			{Start: begin.Add(time.Second), BoundS: 2, BoundSource: "configured", Visit: older.String()},
			{Start: begin.Add(4 * time.Second), BoundS: 2, BoundSource: "configured", Visit: older.String()},
			{Start: begin.Add(10 * time.Second), BoundS: 2, BoundSource: "configured", Visit: older.String()},
			{Start: begin.Add(40 * time.Second), BoundS: 29, BoundSource: "retry-after", Visit: newer.String()},
			{Start: begin.Add(43 * time.Second), BoundS: 2, BoundSource: "configured", Visit: newer.String()},
		} {
			want.URL, want.Kind, want.Status, want.Bytes = got[i].URL, "page", 200, 7
			want.Start = want.Start.UTC()
			want.End = want.Start.Add(time.Second)
			if got[i] != want {
				t.Errorf("%d: %+v, want %+v", i, got[i], want)
			}
		}
		if got := o.of("a.example", begin.Add(40*time.Second), 2); !got.More || !reflect.DeepEqual(paths(got), []string{"/1", "/2"}) {
			t.Errorf("two before the fourth: %q, more %v", paths(got), got.More)
		}
		o.report(older, sent("nobody.example", begin, 0, 1)) // an unknown host
		o.report(newer, crawl.Trace{Host: "a.example", From: 7, Requests: []crawl.Sent{{Shared: 1}}})
		check("nonsense")
	})
}

// Only the last requests of a host are kept, and no more are on disk.
func TestTimelineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/", "http://b.example/")
		begin := time.Now()
		o.report(crawl.VisitID{Epoch: 1, N: 1}, sent("b.example", begin, 0, 1))
		reported := 0
		for n := uint64(1); reported < 3*Keep; n++ {
			starts := []int{reported}
			for len(starts) < int(1+n%40) {
				starts = append(starts, reported+len(starts))
			}
			o.report(crawl.VisitID{Epoch: 1, N: n}, sent("a.example", begin, reported, starts...))
			reported += len(starts)
			got := o.of("a.example", time.Time{}, 4*Keep).Requests
			if len(got) < min(reported, Keep) || len(got) > Keep+200 {
				t.Fatalf("%d requests kept of %d", len(got), reported)
			}
			if last := got[len(got)-1].URL; last != fmt.Sprintf("http://a.example/%d", reported-1) {
				t.Fatalf("the last is %s of %d", last, reported)
			}
			if first := got[0].URL; first != fmt.Sprintf("http://a.example/%d", reported-len(got)) {
				t.Fatalf("the first of %d is %s of %d", len(got), first, reported)
			}
		}
		if got := o.of("b.example", time.Time{}, Keep); len(got.Requests) != 1 {
			t.Errorf("its neighbour's: %+v", got)
		}
	})
}

// A visit that did not answer leaves a gap that is named, from the last of its known requests,
// until it reports all of them after all.
func TestTimelineOfASilentVisit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		granted := time.Now()
		v := o.one()
		o.report(v.ID, sent("a.example", granted, 0, 1))
		time.Sleep(times.OwnerLease + time.Second)
		if err := o.visits.Expire(time.Now()); err != nil {
			t.Fatal(err)
		}
		want := []crawl.Unknown{{From: granted.Add(2 * time.Second).UTC(), To: time.Now().UTC(), Visit: v.ID.String()}}
		if got := o.of("a.example", time.Time{}, Keep); !reflect.DeepEqual(got.Unknown, want) || len(got.Requests) != 1 {
			t.Errorf("%+v, want %+v", got, want)
		}
		tr := sent("a.example", granted, 1, 3)
		tr.Last = true
		o.report(v.ID, tr)
		if got := o.of("a.example", time.Time{}, Keep); len(got.Unknown) != 0 || len(got.Requests) != 2 {
			t.Errorf("reported after all: %+v", got)
		}
	})
}

// The times of requests follow the clock of the machine that owns the shard.
func TestTimelineOfAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := opened(t, shardtest.Spec())
		o.Link(0, "http://a.example/")
		begin := time.Now().Add(-time.Minute)
		o.report(crawl.VisitID{Epoch: 1, N: 1}, sent("a.example", begin, 0, 1, 5))
		shift := o.timeline.Feature().Times
		if err := shift(o.Ledger.Tx, times.ShiftBy(-time.Hour)); err != nil {
			t.Fatal(err)
		}
		if at := o.of("a.example", time.Time{}, Keep).Requests[1].Start; !at.Equal(begin.Add(5*time.Second - time.Hour)) {
			t.Errorf("the second request was sent at %v", at)
		}
		b := o.Ledger.Tx.Bucket(store.BucketTimeline)
		err := b.ForEach(func(_, v []byte) error {
			if len(v) > 120 {
				t.Errorf("two requests take %d bytes", len(v))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Put([]byte("odd"), nil); err != nil {
			t.Fatal(err)
		}
		if err := shift(o.Ledger.Tx, times.ShiftBy(time.Hour)); err == nil {
			t.Error("a damaged record is shifted")
		}
	})
}
