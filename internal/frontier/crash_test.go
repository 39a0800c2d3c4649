package frontier

import (
	"fmt"
	rand "math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// TestCrashesLoseNothing drives a shard with random links, visits, outcomes (also late and repeated
// ones), commits and crashes, and compares it with what a fetcher saw: every URL is accounted for
// exactly once, no host is ever granted twice at the same time or before its delay, and after the
// last crash the work still ends.
func TestCrashesLoseNothing(t *testing.T) {
	for seed := range uint64(testaid.Runs(16, 8)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crashRun(t, seed, seed%2 == 1, false) })
		})
	}
}

// The same is true with evicted hosts, and when a domain has more names than are accepted: they are
// accepted when its pages are stored.
func TestCrashesLoseNothingOfEvictedHosts(t *testing.T) {
	defer func(n int) { hosts.MaxResident = n }(hosts.MaxResident)
	hosts.MaxResident = 1
	for seed := uint64(100); seed < 116; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crashRun(t, seed, seed%2 == 1, true) })
		})
	}
}

func crashRun(t *testing.T, seed uint64, again, names bool) {
	rng := rand.New(rand.NewPCG(seed, 7))
	spec := testSpec("http://h0.example/")
	spec.Recrawl, spec.RecrawlMin, spec.RecrawlMax = again, time.Second, 4*time.Second
	pattern := "http://h%d.example/%d"
	if names {
		pattern, spec.MaxHosts = "http://h%d.one.example/%d", 2
		if seed%4 < 2 {
			pattern = "http://h%d.example/%d"
		}
	}
	b := newBench(t, spec)
	known := map[canon.URL]bool{}
	type out struct {
		v crawl.Visit
	}
	var outstanding, late []out
	lastEnd := map[canon.Host]time.Time{}
	url := func() canon.URL {
		return mustParse(t, fmt.Sprintf(pattern, rng.IntN(6), rng.IntN(40)))
	}
	work := func(steps int) {
		for range steps {
			switch p := rng.IntN(100); {
			case p < 25:
				l := crawl.Links{Depth: rng.IntN(4)}
				for range 1 + rng.IntN(6) {
					u := url()
					known[u] = true
					l.URLs = append(l.URLs, u)
				}
				b.event(crawl.Event{Links: []crawl.Links{l}})
			case p < 55:
				for _, v := range b.grant(1 + rng.IntN(3)) {
					for _, o := range outstanding {
						if o.v.Host == v.Host {
							t.Fatalf("%s granted twice at once", v.Host)
						}
					}
					if since := time.Since(lastEnd[v.Host]); !lastEnd[v.Host].IsZero() && since < v.Delay {
						t.Fatalf("%s granted %v after its last response, delay %v", v.Host, since, v.Delay)
					}
					outstanding = append(outstanding, out{v: v})
				}
			case p < 80 && len(outstanding) > 0:
				i := rng.IntN(len(outstanding))
				o := outstanding[i]
				outstanding = append(outstanding[:i], outstanding[i+1:]...)
				lastEnd[o.v.Host] = time.Now()
				class, reason := crawl.Stored, crawl.Reason("")
				switch rng.IntN(6) {
				case 0:
					class, reason = crawl.Failed, crawl.ReasonHTTP4xx
				case 1:
					class, reason = crawl.Redirected, crawl.ReasonRedirect
				case 2:
					class, reason = crawl.Returned, ""
				}
				if again {
					b.answer(o.v, func(u crawl.VisitURL) crawl.Result { return anyAnswer(rng, u) })
				} else {
					b.finish(o.v, class, reason)
				}
				if rng.IntN(3) == 0 { // the publish was retried
					last := b.log[len(b.log)-1]
					last.Seq++
					b.log = append(b.log, last)
					if err := b.s.apply(b.log[len(b.log)-1:]); err != nil {
						t.Fatal(err)
					}
				}
			case p < 88:
				b.commit()
			case p < 92:
				// The process is killed, with its fetchers; their outcomes may already be in
				// transit.
				b.crash()
				for _, o := range outstanding {
					lastEnd[o.v.Host] = time.Now()
					if rng.IntN(2) == 0 {
						late = append(late, o)
					}
				}
				outstanding = nil
				b.open()
			case p < 94 && len(late) > 0:
				b.finish(late[0].v, crawl.Stored, "")
				late = late[1:]
			case p < 95 && again:
				b.respec(func(s *crawl.Spec) {
					s.Recrawl = rng.IntN(3) > 0
					s.Forgotten = [][]string{nil, {"h1.example"}, {"h1.example", "http://h2.example/1"}}[rng.IntN(3)]
				})
			case p < 97:
				b.refillSome()
			default:
				time.Sleep(time.Duration(rng.IntN(3000)) * time.Millisecond)
			}
			if st := b.status(); int(st.Discovered) != len(known) {
				t.Fatalf("discovered %d, offered %d", st.Discovered, len(known))
			}
		}
	}
	work(400)
	for _, o := range outstanding {
		b.finish(o.v, crawl.Stored, "")
	}
	outstanding = nil
	b.verify()
	b.respec(func(s *crawl.Spec) { s.Recrawl, s.Forgotten = false, nil })
	b.refillAll()
	b.verify()
	if n := b.status().ByReason["forgotten"]; n > 0 {
		t.Errorf("%d URLs are still forgotten", n)
	}
	for i := 0; b.status().Queued > 0; i++ {
		if i > 10000 {
			t.Fatalf("the work does not end: %+v", b.status())
		}
		for _, v := range b.grant(4) {
			b.finish(v, crawl.Stored, "")
		}
		b.commit() // frees memory
		time.Sleep(500 * time.Millisecond)
	}
	st := b.status()
	if int(st.Discovered) != len(known) || st.InFlight != 0 {
		t.Fatalf("at the end %+v, offered %d", st, len(known))
	}
	if n := st.ByReason["hosts"]; n > 0 {
		t.Errorf("%d URLs are still refused for their names, and %d pages are stored", n, st.Stored)
	}
	b.verify()
}

// anyAnswer returns a random result of fetching a page, for the first time or again.
func anyAnswer(rng *rand.Rand, u crawl.VisitURL) crawl.Result {
	if u.ETag != "" && rng.IntN(2) == 0 {
		return crawl.Result{Class: crawl.Stored, Status: 304, NotModified: true}
	}
	switch rng.IntN(8) {
	case 0:
		return crawl.Result{Class: crawl.Failed, Status: 404, Reason: crawl.ReasonHTTP4xx, Kept: u.Keep}
	case 1:
		return crawl.Result{Class: crawl.Retry, Status: 500, Reason: crawl.ReasonHTTP5xx}
	case 2:
		return crawl.Result{Class: crawl.Refused, Status: 200, Reason: crawl.ReasonNoindex}
	case 3:
		return crawl.Result{Class: crawl.Returned}
	case 4:
		return crawl.Result{Class: crawl.Failed, Reason: crawl.ReasonConnect}
	}
	return crawl.Result{Class: crawl.Stored, Status: 200, Digest: 1 + rng.Uint64N(3), ETag: `"e"`, Rendering: crawl.Rendering(rng.IntN(4))}
}

// respec changes the spec while the shard is open.
func (b *bench) respec(change func(*crawl.Spec)) {
	b.t.Helper()
	change(&b.spec)
	j, err := judge.New(b.spec)
	if err != nil {
		b.t.Fatal(err)
	}
	b.s.Ledger.Mu.Lock()
	defer b.s.Ledger.Mu.Unlock()
	b.s.Specs.Change(j)
	if b.s.Ledger.Phase.Err != nil {
		b.t.Fatal(b.s.Ledger.Phase.Err)
	}
}

// verify compares counters and queues with the records that they count.
func (b *bench) verify() {
	b.t.Helper()
	var c store.Counts
	queued := map[store.HostID]int64{}
	again := map[string]bool{}
	err := b.s.URLs.EachRecord(func(h *hosts.Host, k []byte, r *urls.Record) (bool, error) {
		if r.Next > 0 {
			again[string(urls.AgainKey(nil, h.ID, r.Origin, r.Pace, r.Next, r.Order))] = true
			if o := h.Origins[r.Origin]; r.Class == crawl.Queued || o.AgainDue > r.Next {
				b.t.Errorf("%s, %v, is asked for again at %d, its host thinks %d", r.URL, r.Class, r.Next, o.AgainDue)
			}
		}
		if r.Class == crawl.Stored {
			c.Rendering.Count(r.Rendering, 1)
		}
		switch r.Class {
		case crawl.Queued:
			c.Queued++
			queued[h.ID]++
		case crawl.Stored:
			c.Stored++
		case crawl.Redirected:
			c.Redirected++
		case crawl.Refused:
			c.Refused++
		case crawl.Failed:
			c.Failed++
		default:
			b.t.Errorf("%s has class %v", r.URL, r.Class)
		}
		return false, nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
	got := b.s.Ledger.Meta.Counts
	if got.Queued != c.Queued || got.Stored != c.Stored || got.Redirected != c.Redirected || got.Refused != c.Refused || got.Failed != c.Failed || got.Rendering != c.Rendering {
		b.t.Errorf("counters %+v, records say %+v", got, c)
	}
	var entries int64
	// Not Stats, which only reads committed pages.
	cur := b.s.Ledger.Ready().Cursor()
	for k, _ := cur.First(); k != nil; k, _ = cur.Next() {
		entries++
	}
	if entries+got.Later != c.Queued {
		b.t.Errorf("%d queue entries + %d waiting, %d records queued", entries, got.Later, c.Queued)
	}
	var planned int64
	due := b.s.Ledger.Tx.Bucket(store.BucketAgain).Cursor()
	for k, _ := due.First(); k != nil; k, _ = due.Next() {
		if planned++; !again[string(k)] {
			b.t.Errorf("%x is planned, but no record states it", k)
		}
	}
	reported := int64(0)
	domains, closed := map[string]hosts.Domain{}, int64(0)
	for id := store.HostID(1); id <= store.HostID(b.s.Ledger.Meta.NextHost); id++ {
		h, err := b.s.Ledger.HostWith(id)
		if err != nil || h == nil {
			b.t.Fatalf("host %d: %v, %v", id, h, err)
		}
		for _, o := range h.Origins {
			reported += o.Again
		}
		d := domains[h.Domain.Name]
		d.Name, d.Stored = h.Domain.Name, d.Stored+h.Stored
		if h.Closed {
			d.Closed++
			closed++
		} else {
			d.Hosts++
		}
		domains[d.Name] = d
	}
	for name, d := range domains {
		got, err := b.s.Ledger.DomainOf(canon.Host(name))
		if err != nil || got.Hosts != d.Hosts || got.Stored != d.Stored || got.Closed != d.Closed {
			b.t.Errorf("%s has counts of %d hosts, %d pages, %d refused names; it has %d, %d, %d (%v)", name, got.Hosts, got.Stored, got.Closed,
				d.Hosts, d.Stored, d.Closed, err)
		}
	}
	if b.s.Ledger.Meta.Closed != closed {
		b.t.Errorf("the count of refused hosts is %d, %d are", b.s.Ledger.Meta.Closed, closed)
	}
	if planned != int64(len(again)) || planned != reported {
		b.t.Errorf("%d entries of URLs to be asked for again, %d records, their hosts say %d", planned, len(again), reported)
	}
	for id, n := range queued {
		if h, err := b.s.Ledger.HostWith(id); err != nil || h.Queued != n {
			b.t.Errorf("%s has a count of %d queued, there are %d records (%v)", h.Name, h.Queued, n, err)
		}
	}
	if err := b.s.Ledger.PutAway(); err != nil {
		b.t.Fatal(err)
	}
}
