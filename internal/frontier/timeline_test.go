package frontier

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
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
