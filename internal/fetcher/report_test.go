package fetcher

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/canon"
)

// outcomes returns the outcomes of a visit in the order of its shard's log.
func (d *desk) outcomes(id crawl.VisitID) (list []crawl.Outcome) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		if e.Visit == id && e.Outcome != nil {
			list = append(list, *e.Outcome)
		}
	}
	return list
}

// A visit with a delay reports each request before the next one. Its page is stored by then, and
// its links, also those of another shard, are in the same message. Each result comes once, and sums
// grow.
func TestEachPageIsToldBeforeTheNext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const shards = 2
		other := "o.test"
		for crawl.ShardOf(canon.Host(other), shards) == crawl.ShardOf("h.test", shards) {
			other = "o" + other
		}
		d := newDesk(t, shards)
		var asked atomic.Int32
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			before := int(asked.Add(1)) - 1
			ctx := r.Context()
			for what, stream := range map[string]string{
				"pages": d.name.PagesStream(), "outcomes with links": d.name.EventsStream(crawl.ShardOf("h.test", shards)),
			} {
				s, err := d.q.JS.Stream(ctx, stream)
				if err != nil {
					t.Error(err)
					return
				}
				if n := int(s.CachedInfo().State.LastSeq); n != before {
					t.Errorf("request %d for %s: %d messages of %s so far", before+1, r.URL, n, what)
				}
			}
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="http://%s%s/to">x</a> <a href="/from%s">y</a>`, other, r.URL.Path, r.URL.Path)
		})
		startFetcher(t, d, testSpec(shards, addr), Options{})
		v := open(visitTo(t, "http://h.test/1", "http://h.test/2", "http://h.test/3", "http://h.test/4"))
		v.Shard, v.Delay = crawl.ShardOf("h.test", shards), 100*time.Millisecond
		id := d.grant(v)
		if out := d.outcome(id); classes(out) != "stored stored stored stored" {
			t.Error(classes(out))
		}
		reported := d.outcomes(id)
		if len(reported) != 4 {
			t.Fatalf("%d outcomes of a visit with four requests", len(reported))
		}
		for i, out := range reported {
			if len(out.Results) != 1 || out.Results[0].URL != v.URLs[i].URL || out.Requests != i+1 || out.Partial != (i < 3) {
				t.Errorf("outcome %d: %+v", i, out)
			}
			if i > 0 && out.Bytes <= reported[i-1].Bytes {
				t.Errorf("outcome %d tells of %d bytes so far, the one before of %d", i, out.Bytes, reported[i-1].Bytes)
			}
		}
		if n := len(d.links()); n != 8 {
			t.Errorf("%d links of 8", n)
		}
	})
}

// Without a delay a visit reports all its pages at once, unless it takes long. Slow pages are
// reported one by one.
func TestToldAtLeastOnceASecond(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var slow sync.Map
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			if wait, ok := slow.Load(r.URL.Path); ok {
				time.Sleep(wait.(time.Duration))
			}
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, "text of ", r.URL)
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		slow.Store("/3", 1100*time.Millisecond)
		slow.Store("/5", 1100*time.Millisecond)
		id := d.grant(open(visitTo(t, "http://h.test/1", "http://h.test/2", "http://h.test/3", "http://h.test/4", "http://h.test/5", "http://h.test/6")))
		d.outcome(id)
		first := d.outcomes(id)[0]
		if n := len(first.Results); n == 0 || n > 3 || !first.Partial {
			t.Errorf("the first outcome has %d results", n)
		}
		if n := len(d.outcomes(id)); n < 3 || n > 6 {
			t.Errorf("%d outcomes of a visit that took more than two seconds", n)
		}
	})
}

// Auxiliary requests that are done are also reported one by one, each once, after their answers.
func TestEachAuxRequestIsReportedBeforeTheNext(t *testing.T) {
	virtual(t, func(t *testing.T) {
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "page")
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := open(visitTo(t, "http://h.test/"))
		v.URLs, v.Delay = nil, 50*time.Millisecond
		for i := range 3 {
			u := mustURL(t, fmt.Sprintf("http://h.test/%d", i))
			v.Aux = append(v.Aux, crawl.AuxRequest{Kind: crawl.AuxSample, URL: u, Origin: u.Origin()})
		}
		id := d.grant(v)
		d.outcome(id)
		reported := d.outcomes(id)
		if len(reported) != 3 {
			t.Fatalf("%d outcomes of a visit with three auxiliary requests", len(reported))
		}
		for i, out := range reported {
			if len(out.Done) != 1 || out.Done[0].URL != v.Aux[i].URL || out.Requests != i+1 {
				t.Errorf("outcome %d: %+v", i, out)
			}
		}
	})
}
