package fetcher

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/boottime"
)

// traced returns the requests that a visit has reported, in order.
func (d *desk) traced(id crawl.VisitID) (all []crawl.Exchange, last crawl.Trace) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range d.events {
		for _, tr := range e.Traces {
			if e.Visit != id {
				continue
			}
			if tr.From != len(all) {
				d.t.Errorf("a trace begins with request %d, %d were told of", tr.From, len(all))
			}
			for x := range tr.Each {
				all = append(all, x)
			}
			last = tr
		}
	}
	return all, last
}

// A visit reports all requests that it sent, for whatever purpose, when they began and ended, and
// which pause was due before each.
func TestTraces(t *testing.T) {
	virtual(t, func(t *testing.T) {
		type arrival struct {
			path     string
			from, to time.Time
		}
		var mu sync.Mutex
		var seen []arrival
		addr := origin(t, func(w http.ResponseWriter, r *http.Request) {
			from := time.Now()
			switch r.URL.Path {
			case "/robots.txt":
				w.Write([]byte("User-agent: *\nCrawl-delay: 0.03\n"))
			case "/moved":
				http.Redirect(w, r, "/there", http.StatusFound)
			case "/busy":
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
				time.Sleep(20 * time.Millisecond)
				w.Header().Set("Content-Type", "text/plain")
				w.Write([]byte("text"))
			}
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, arrival{r.URL.Path, from, time.Now()})
		})
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, addr), Options{})
		v := visitTo(t, "http://h.test/a", "http://h.test/moved", "http://h.test/busy", "http://h.test/never")
		v.Delay, v.DelaySource = 10*time.Millisecond, "configured"
		v.Robots = []crawl.Robots{{Origin: v.URLs[0].URL.Origin(), ProbeData: true}}
		v.Aux = []crawl.AuxRequest{{Kind: crawl.AuxSecurityTxt, URL: mustURL(t, "http://h.test/.well-known/security.txt"), Origin: v.URLs[0].URL.Origin()}}
		id := d.grant(v)
		out := d.outcome(id)
		reported, last := d.traced(id)
		kinds := []string{"robots", "security-txt", "data", "page", "page", "page"}
		if len(reported) != len(kinds) || len(seen) != len(kinds) || out.Requests != len(kinds) {
			t.Fatalf("%d requests told of, %d came, %d counted, want %d: %+v", len(reported), len(seen), out.Requests, len(kinds), reported)
		}
		const near = time.Microsecond // the precision of records
		for i, x := range reported {
			was := seen[i]
			if x.Kind.String() != kinds[i] || mustURL(t, x.URL).Path() != was.path || x.Cut || x.Unsent {
				t.Errorf("%d: %+v, want %s %s", i, x, kinds[i], was.path)
			}
			if x.Start.After(was.from.Add(near)) || x.End.Before(x.Start) || was.from.Sub(x.Start) > near || x.End.Sub(was.to) > near {
				t.Errorf("%s: told of %v to %v, was there %v to %v", was.path, x.Start, x.End, was.from, was.to)
			}
			bound, source := 30*time.Millisecond, "crawl-delay"
			if i == 0 {
				bound, source = 10*time.Millisecond, "configured"
			}
			if x.Bound != bound || x.BoundSource != source {
				t.Errorf("%s: bound %v by %q, want %v by %q", was.path, x.Bound, x.BoundSource, bound, source)
			}
			if i > 0 && x.Start.Sub(reported[i-1].End) < x.Bound {
				t.Errorf("%s: %v after the end before, %v are owed", was.path, x.Start.Sub(reported[i-1].End), x.Bound)
			}
		}
		if reported[3].Status != 200 || reported[3].Bytes != 4 || reported[4].Status != 302 || reported[5].Status != 503 {
			t.Errorf("%+v", reported[3:])
		}
		if !last.Last || last.After != 7*time.Second || last.AfterSource != "retry-after" {
			t.Errorf("at its end %+v", last)
		}
	})
}

// A request that never reaches the host is reported as unsent.
func TestTraceOfNoConnection(t *testing.T) {
	virtual(t, func(t *testing.T) {
		d := newDesk(t, 1)
		startFetcher(t, d, testSpec(1, "127.0.0.1:1"), Options{})
		id := d.grant(visitTo(t, "http://h.test/a"))
		d.outcome(id)
		reported, last := d.traced(id)
		if len(reported) != 1 || !reported[0].Unsent || reported[0].Status != 0 || reported[0].End.IsZero() || last.AfterSource != "backoff" {
			t.Errorf("%+v, then %v by %s", reported, last.After, last.AfterSource)
		}
	})
}

// The clock of a shard's owner is used if ours certainly differs, and only then.
func TestClocks(t *testing.T) {
	virtual(t, func(t *testing.T) {
		var c clocks
		say := func(shard int, ahead, before, after time.Duration) time.Duration {
			now := boottime.NewWall().Micro(time.Now())
			g := crawl.Grants{Now: time.UnixMicro(now).Add(ahead), Visits: []crawl.Visit{{Shard: shard}}}
			c.answered(&g, now-before.Microseconds(), now+after.Microseconds())
			return c.ahead(shard)
		}
		for i, tt := range []struct {
			shard                int
			ahead, before, after time.Duration
			want                 time.Duration
		}{
			{1, 0, time.Minute, time.Minute, 0},  // the answer took long
			{1, 900 * time.Millisecond, 0, 0, 0}, // an ordinary difference
			{1, time.Hour, 0, 2 * time.Second, time.Hour - 2*time.Second},
			{1, time.Hour, 0, time.Second, time.Hour - time.Second},     // no less than that
			{1, time.Hour, 0, 5 * time.Second, time.Hour - time.Second}, // the same clock
			{2, -time.Hour, time.Second, 0, -time.Hour},
			{1, time.Hour - time.Minute, 0, 0, time.Hour - time.Minute}, // it was set
			{1, 0, 0, 0, 0},
			{2, -time.Hour, 2 * time.Hour, 0, -time.Hour}, // nothing new
		} {
			if got := say(tt.shard, tt.ahead, tt.before, tt.after).Round(time.Millisecond); got != tt.want {
				t.Errorf("%d: ahead by %v, want %v", i, got, tt.want)
			}
		}
	})
}
