package fetcher

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/queue"
)

// visited is what a site received from crawls, by their User-Agent.
type visited struct {
	mu    sync.Mutex
	who   []string
	start []time.Time
	end   []time.Time
}

func (v *visited) count(who string) (n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, w := range v.who {
		if w == who {
			n++
		}
	}
	return n
}

func (v *visited) serve(w http.ResponseWriter, r *http.Request) {
	who, _, _ := strings.Cut(r.UserAgent(), "/")
	v.mu.Lock()
	v.who, v.start = append(v.who, who), append(v.start, time.Now())
	v.mu.Unlock()
	w.WriteHeader(404)
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end = append(v.end, time.Now())
}

// check compares what was received with the delay.
func (v *visited) check(t *testing.T, delay time.Duration) {
	t.Helper()
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := 1; i < len(v.start); i++ {
		if gap := v.start[i].Sub(v.end[i-1]); gap < delay {
			t.Errorf("request %d, of %s, came %v after the one before, of %s", i, v.who[i], gap, v.who[i-1])
		}
	}
}

// twoCrawls are frontiers of crawls one and two on one server, and a fetcher for each that knows
// nothing of the other. cut cuts the first one's connection to NATS.
func twoCrawls(t *testing.T, addr string) (desks [2]*desk, cut func()) {
	t.Helper()
	srv := broker.Start(t)
	for i, name := range []string{"one", "two"} {
		var q [2]*queue.Conn // of the frontier, and of the fetcher
		for j := range q {
			q[j] = broker.Dial(t, srv)
		}
		desks[i] = newDeskOn(t, q[0], crawl.Names(name), 1)
		spec := testSpec(1, addr)
		spec.Name, spec.Agent = name, name
		runFetcher(t, newFetcher(t, q[1], spec, Options{Slots: 4, Grace: time.Second}))
		if i == 0 {
			cut = q[1].NC.Close
		}
	}
	return desks, cut
}

// For a site two crawls of one cluster are one visitor, and they take turns, although one fetcher
// knows nothing of the other.
func TestCrawlsShareHosts(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const delay, visits, pages = 20 * time.Millisecond, 6, 4
		var site visited
		addr := origin(t, site.serve)
		desks, _ := twoCrawls(t, addr)
		var wg sync.WaitGroup
		for _, d := range desks {
			wg.Go(func() {
				for range visits {
					v := manyURLs(t, pages)
					v.Delay = delay
					for out := d.outcome(d.grant(v)); len(out.Results) == 0; out = d.outcome(d.grant(v)) {
						time.Sleep(10 * time.Millisecond) // it was returned
					}
				}
			})
		}
		wg.Wait()
		if one, two := site.count("one"), site.count("two"); one != visits*pages || two != one {
			t.Errorf("%d and %d requests", one, two)
		}
		site.check(t, delay)
		if t.Failed() {
			b, err := desks[0].q.JS.Stream(t.Context(), "KV_"+crawl.HostsBucket)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("requests by %v at %v; claims: %+v", site.who, site.start, b.CachedInfo())
		}
		turns := 0
		for i, who := range site.who {
			if i > 0 && who != site.who[i-1] {
				turns++
			}
		}
		if turns < visits/2 { // up to twice as many, on a machine that has nothing else to do
			t.Errorf("only %d turns: %v", turns, site.who)
		}
	})
}

// A fetcher that is cut off from the cluster stops by itself, long before the lease of its frontier
// ends. The other crawl begins after the pause of the host.
func TestCutOffAtSharedHost(t *testing.T) {
	virtual(t, func(t *testing.T) {
		const delay, term = 30 * time.Millisecond, 10 * time.Second
		var site visited
		addr := origin(t, site.serve)
		desks, cut := twoCrawls(t, addr)
		v := manyURLs(t, 400)
		v.Delay, v.Lease = delay, time.Minute
		desks[0].grant(v)
		for end := time.Now().Add(ample); site.count("one") < 5; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the first crawl does not begin")
			}
		}
		cut()
		began := time.Now()
		v = manyURLs(t, 3)
		v.Delay, v.Lease = delay, time.Minute
		out := desks[1].outcome(desks[1].grant(v))
		if len(out.Results) != 3 || site.count("two") != 3 {
			t.Errorf("%d requests of the second crawl, %s", site.count("two"), classes(out))
		}
		if took := time.Since(began); took < term {
			t.Errorf("the second crawl was done %v after the first one was cut off", took)
		}
		n := site.count("one")
		if n >= 400 {
			t.Errorf("the first crawl went on to its end")
		}
		site.check(t, delay)
		site.mu.Lock()
		defer site.mu.Unlock()
		for i, who := range site.who {
			if i >= n && who == "one" {
				t.Errorf("request %d is of the one that was cut off, after the other began", i)
			}
		}
	})
}
