package frontier

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/schedule"
	"github.com/curtsy/curtsy/internal/questions"
	"github.com/curtsy/curtsy/pkg/canon"
)

// timeline requests a timeline like a page does.
func (b *bench) timeline(q questions.TimelineRequest) (t crawl.Timeline) {
	b.t.Helper()
	a := answers{shards: func() []*Shard { return []*Shard{b.s} }, spec: func() crawl.Spec { return b.spec }}
	found := false
	err := a.timeline(b.t.Context(), q, func(answer crawl.Timeline) error {
		t, found = answer, true
		return nil
	})
	if err != nil || !found {
		b.t.Fatalf("timeline of %s: %v, %v", q.Host, found, err)
	}
	return t
}

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

// What visits report about their requests is kept in the order in which they were sent, whenever
// and however often it is reported; and a crash loses none of it.
func TestTimeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		begin := time.Now().Add(-time.Minute)
		older, newer := crawl.VisitID{Epoch: 1, N: 1 << 20}, crawl.VisitID{Epoch: 2, N: 1}
		report := func(id crawl.VisitID, tr crawl.Trace) { b.event(crawl.Event{Visit: id, Traces: []crawl.Trace{tr}}) }
		second := sent("a.example", begin.Add(40*time.Second), 0, 0, 3)
		report(newer, second)
		last := sent("a.example", begin, 2, 10)
		last.After, last.AfterSource = 29*time.Second, "retry-after"
		report(older, last)
		b.commit()
		report(older, sent("a.example", begin, 0, 1, 4))
		want := []string{"/0", "/1", "/2", "/0", "/1"}
		check := func(when string) {
			t.Helper()
			got := b.timeline(questions.TimelineRequest{Host: "a.example"})
			if !reflect.DeepEqual(paths(got), want) || len(got.Unknown) != 0 || got.More || got.DelayS != 1 || got.DelaySource != "configured" {
				t.Errorf("%s: %q, %+v", when, paths(got), got)
			}
		}
		check("reported")
		b.crash()
		b.open()
		check("after a crash")
		report(older, sent("a.example", begin, 0, 1, 4))
		report(newer, second)
		// By a visit that does not know how much was reported.
		report(older, sent("a.example", begin, 1, 4, 10))
		check("reported again")

		got := b.timeline(questions.TimelineRequest{Host: "a.example"}).Requests
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
		if got := b.timeline(questions.TimelineRequest{Host: "a.example", Limit: 2, Before: begin.Add(40 * time.Second)}); !got.More ||
			!reflect.DeepEqual(paths(got), []string{"/1", "/2"}) {
			t.Errorf("two before the fourth: %q, more %v", paths(got), got.More)
		}
		report(older, sent("nobody.example", begin, 0, 1)) // an unknown host
		report(v.ID, crawl.Trace{Host: "a.example", From: 7, Requests: []crawl.Sent{{Shared: 1}}})
		check("nonsense")
	})
}

// Only the last requests of a host are kept, and no more are on disk.
func TestTimelineIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://b.example/")
		begin := time.Now()
		b.event(crawl.Event{Visit: crawl.VisitID{Epoch: 1, N: 1}, Traces: []crawl.Trace{sent("b.example", begin, 0, 1)}})
		reported := 0
		for n := uint64(1); reported < 3*schedule.Keep; n++ {
			starts := []int{reported}
			for len(starts) < int(1+n%40) {
				starts = append(starts, reported+len(starts))
			}
			b.event(crawl.Event{Visit: crawl.VisitID{Epoch: 1, N: n}, Traces: []crawl.Trace{sent("a.example", begin, reported, starts...)}})
			reported += len(starts)
			got := b.timeline(questions.TimelineRequest{Host: "a.example"}).Requests
			if len(got) < min(reported, schedule.Keep) || len(got) > schedule.Keep+200 {
				t.Fatalf("%d requests kept of %d", len(got), reported)
			}
			if last := got[len(got)-1].URL; last != fmt.Sprintf("http://a.example/%d", reported-1) {
				t.Fatalf("the last is %s of %d", last, reported)
			}
			if first := got[0].URL; first != fmt.Sprintf("http://a.example/%d", reported-len(got)) {
				t.Fatalf("the first of %d is %s of %d", len(got), first, reported)
			}
		}
		if got := b.timeline(questions.TimelineRequest{Host: "b.example"}); len(got.Requests) != 1 {
			t.Errorf("its neighbour's: %+v", got)
		}
	})
}

// A visit without an outcome leaves a gap that is named, from the last of its known requests, until
// its outcome arrives after all.
func TestTimelineUnknown(t *testing.T) {
	for _, late := range []string{"outcome", "journal"} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, testSpec("http://a.example/"))
			b.links(0, "", "http://a.example/")
			granted := time.Now()
			v := b.grant(1)[0]
			b.event(crawl.Event{Visit: v.ID, Traces: []crawl.Trace{sent("a.example", granted, 0, 1)}})
			time.Sleep(11 * time.Second)
			if err := b.s.upkeep(time.Now()); err != nil {
				t.Fatal(err)
			}
			expired := time.Now()
			b.crash()
			b.open()
			want := []crawl.Unknown{{From: granted.Add(2 * time.Second).UTC(), To: expired.UTC(), Visit: v.ID.String()}}
			if got := b.timeline(questions.TimelineRequest{Host: "a.example"}); !reflect.DeepEqual(got.Unknown, want) || len(got.Requests) != 1 {
				t.Errorf("%+v, want %+v", got, want)
			}
			if late == "outcome" {
				b.finish(v, crawl.Stored, "")
			} else {
				tr := sent("a.example", granted, 1, 3)
				tr.Last = true
				b.event(crawl.Event{Visit: v.ID, Traces: []crawl.Trace{tr}})
			}
			if got := b.timeline(questions.TimelineRequest{Host: "a.example"}); len(got.Unknown) != 0 {
				t.Errorf("reported by its %s: %+v", late, got)
			}
		})
	}
}

// The times of requests follow the clock of the machine that owns the shard.
func TestTimelineOfAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		begin := time.Now().Add(-time.Minute)
		b.event(crawl.Event{Visit: crawl.VisitID{Epoch: 1, N: 1}, Traces: []crawl.Trace{sent("a.example", begin, 0, 1, 5)}})
		if err := shiftTimes(b.s.ledger.Tx, -time.Hour); err != nil {
			t.Fatal(err)
		}
		got := b.timeline(questions.TimelineRequest{Host: "a.example"})
		if at := got.Requests[1].Start; !at.Equal(begin.Add(5*time.Second - time.Hour)) {
			t.Errorf("the second request was sent at %v", at)
		}
		b.s.ledger.Tx.Bucket(hosts.BucketTimeline).ForEach(func(k, v []byte) error {
			if len(v) > 120 {
				t.Errorf("two requests take %d bytes", len(v))
			}
			return nil
		})
		if err := b.s.ledger.Tx.Bucket(hosts.BucketTimeline).Put([]byte("odd"), nil); err != nil {
			t.Fatal(err)
		}
		if err := shiftTimes(b.s.ledger.Tx, time.Hour); err == nil {
			t.Error("a damaged record is shifted")
		}
	})
}

// The URL of a request is not shown after it was forgotten, nor any URL of a forgotten host; the
// request is.
func TestTimelineForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Traces: []crawl.Trace{sent("a.example", time.Now(), 0, 0, 3)}})
		for entry, want := range map[string][2]string{
			"http://a.example/1": {"http://a.example/0", ""}, "a.example": {}, "b.example": {"http://a.example/0", "http://a.example/1"},
		} {
			b.respec(func(s *crawl.Spec) { s.Forgotten = []string{entry} })
			got := b.timeline(questions.TimelineRequest{Host: "a.example"}).Requests
			if len(got) != 2 || got[0].URL != want[0] || got[1].URL != want[1] || got[1].Start.IsZero() {
				t.Errorf("%s forgotten: %+v", entry, got)
			}
		}
	})
}
