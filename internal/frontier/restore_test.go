package frontier

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/hosts"
	"github.com/curtsy/curtsy/internal/frontier/judge"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/frontier/urls"
	"github.com/curtsy/curtsy/internal/testaid"
	"github.com/curtsy/curtsy/pkg/canon"
)

// dump returns all state of a shard that follows from its log, as texts by subject: without times
// of its own clock, and without numbers that only define an order.
func dump(t testing.TB, s *Shard) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := s.URLs.EachRecord(func(_ *hosts.Host, _ []byte, r *urls.Record) (bool, error) {
		x := *r
		x.Order, x.Due = 0, time.Time{}
		all["url "+string(r.URL)] = fmt.Sprintf("%+v waits %v", x, !r.Due.IsZero())
		return false, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range s.Ledger.Hosts {
		x := fmt.Sprintf("queued %d later %d stored %d fetched %d delay %v backoff %d private %v response %v last %v why %q aux %v",
			h.Queued, h.Later, h.Stored, h.Fetched, h.Delay, h.Backoff, h.Private, h.Response, h.Last, "", len(h.Aux))
		for _, o := range h.Origins {
			x += fmt.Sprintf("\n  %v ready %d failures %d copy %v digest %x status %d crawl-delay %v %v pending %q hops %d visit %v data %v %q",
				o.Origin, o.Ready, o.History.Failures, o.Copy, o.Digest, o.Status, o.CrawlDelay, o.HasDelay, o.PendingOn, o.Redirects, o.Visit, o.Data, o.DataOn)
		}
		all["host "+string(h.Name)] = x
	}
	all["counts"] = fmt.Sprintf("%+v", s.Ledger.Meta.Counts)
	for i, m := range s.Ledger.Unsent {
		data, err := s.Ledger.Outgoing(m)
		if err != nil {
			t.Fatal(err)
		}
		all[fmt.Sprintf("outbox %d", i)] = fmt.Sprintf("%d %x", m.Shard, data)
	}
	return all
}

func compare(t testing.TB, got, want map[string]string) {
	t.Helper()
	n := 0
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			if n++; n < 6 {
				t.Errorf("%s:\n  got  %s\n  want %s", k, got[k], want[k])
			}
		}
	}
	for k, v := range got {
		if _, ok := want[k]; !ok {
			t.Errorf("%s is too much: %s", k, v)
		}
	}
}

// copyState makes a checkpoint like the service does, into a file instead of the object store.
func (b *bench) copyState() {
	b.t.Helper()
	b.s.Ledger.Mu.Lock()
	im, err := b.s.copies.Image()
	b.s.Ledger.Mu.Unlock()
	if err != nil {
		b.t.Fatal(err)
	}
	defer im.Close()
	var buf bytes.Buffer
	if _, err := im.Tx.WriteTo(&buf); err != nil {
		b.t.Fatal(err)
	}
	b.copy, b.copyName = buf.Bytes(), im.Name().String()
}

// lose kills the shard together with its directory, and restores the last copy in another one, on a
// machine with another clock.
func (b *bench) lose() {
	b.t.Helper()
	b.crash()
	b.dir = b.t.TempDir()
	path := filepath.Join(b.dir, store.FileName(0))
	if err := os.WriteFile(path, b.copy, 0o600); err != nil {
		b.t.Fatal(err)
	}
	if err := restore.Arrive(path, b.copyName, int64(len(b.copy)), time.Now()); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

// A checkpoint and the log after it give the state of a shard that was never lost, after waiting
// URLs were loaded and the passes are done; also if passes were running when it was lost, and
// whatever visits were outstanding. One thing does not only depend on the log: whether a host that
// had reached its limit of pages, and has lost one since, had its queue refused in between. So with
// such a limit nothing in this test removes a stored page: none is lost by the indexer or fetched
// again, and no late outcome is about one that another visit has stored.
func TestACheckpointAndTheLogGiveTheSameState(t *testing.T) {
	for seed := range uint64(testaid.Runs(12, 4)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { restoreRun(t, seed) })
		})
	}
}

func restoreRun(t *testing.T, seed uint64) {
	rng, turns := rand.New(rand.NewPCG(seed, 11)), rand.New(rand.NewPCG(seed, 12))
	spec := testSpec("http://h0.example/")
	if seed%3 == 1 {
		spec.MaxPagesPerHost = 12
	}
	if seed%4 == 2 {
		spec.MaxDepth = 2
	}
	// Hardly anything becomes due in so short a time, but when it does must be the same.
	spec.Recrawl = seed%2 == 0 && spec.MaxPagesPerHost == 0
	b, control := newBench(t, spec), newBench(t, spec)
	b.start = store.StartLease
	b.copyState()
	event := func(ev crawl.Event) {
		b.event(ev)
		if err := control.s.apply(b.log[len(b.log)-1:]); err != nil {
			t.Fatal(err)
		}
	}
	url := func() canon.URL {
		return mustParse(t, fmt.Sprintf("http://h%d.example:%d/%d", rng.IntN(6), 80+rng.IntN(2), rng.IntN(30)))
	}
	var out, late []crawl.Visit
	for range 600 {
		if turns.IntN(4) == 0 {
			b.refillSome()
		}
		switch p := rng.IntN(100); {
		case p < 20:
			l := crawl.Links{Depth: rng.IntN(4), FoundOn: url()}
			for range 1 + rng.IntN(6) {
				l.URLs = append(l.URLs, url())
			}
			event(crawl.Event{Links: []crawl.Links{l}})
		case p < 45:
			out = append(out, b.grant(1+rng.IntN(3))...)
		case p < 70 && len(out) > 0:
			v := out[0]
			if out = out[1:]; spec.MaxPagesPerHost > 0 && b.s.Visits.Outstanding[v.ID] == nil {
				continue // its lease has ended: late, too
			}
			event(randomEnd(rng, v, url))
			if rng.IntN(4) == 0 { // reported twice
				ev, _ := crawl.DecodeEvent(b.log[len(b.log)-1].Data)
				event(ev)
			}
		case p < 73 && len(late) > 0 && spec.MaxPagesPerHost == 0:
			event(randomEnd(rng, late[0], url))
			late = late[1:]
		case p < 75 && spec.MaxPagesPerHost == 0:
			event(crawl.Event{StoreFailed: []string{string(url())}})
		case p < 80:
			b.commit()
		case p < 84:
			b.copyState()
		case p < 87:
			late, out = append(late, out...), nil
			if rng.IntN(3) == 0 {
				b.crash()
				b.open()
			} else {
				b.lose()
			}
		default:
			time.Sleep(time.Duration(rng.IntN(20000)) * time.Millisecond)
			b.s.Ledger.Mu.Lock()
			b.s.Visits.Expire(time.Now())
			b.s.Ledger.Mu.Unlock()
		}
	}
	b.lose()
	b.verify()
	time.Sleep(time.Hour)
	for _, x := range []*bench{b, control} { // waiting URLs are loaded by granting
		if err := x.s.URLs.EnqueueLater(time.Now()); err != nil {
			t.Fatal(err)
		}
		x.refillAll()
	}
	compare(t, dump(t, b.s), dump(t, control.s))
}

// randomEnd returns a random end of a visit, with facts about robots.txt and data.txt.
func randomEnd(rng *rand.Rand, v crawl.Visit, url func() canon.URL) crawl.Event {
	o := &crawl.Outcome{Host: v.Host, Delay: v.Delay, Requests: len(v.URLs) + len(v.Aux), Private: true, Bytes: int64(rng.IntN(9999)), Done: v.Aux}
	ev := crawl.Event{Visit: v.ID, Outcome: o}
	if rng.IntN(8) == 0 {
		o.Overloads, o.RetryAfter = 1, time.Duration(rng.IntN(60))*time.Second
	}
	for _, e := range v.Aux {
		ev.Answers = append(ev.Answers, crawl.Answer{Aux: e, Robots: crawl.Robots{State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour}})
	}
	for _, r := range v.Robots {
		f := crawl.Robots{Origin: r.Origin, State: crawl.RobotsUnavailable, Status: 404, Fresh: 24 * time.Hour}
		switch rng.IntN(12) {
		case 0:
			f = crawl.Robots{Origin: r.Origin, State: crawl.RobotsUnreachable, Status: 503}
		case 1:
			f = crawl.Robots{Origin: r.Origin, State: crawl.RobotsPending, Location: string(url()), Redirects: 1, Status: 301}
		case 2:
			body := []byte("User-agent: *\nCrawl-delay: 2\n")
			f = crawl.Robots{Origin: r.Origin, State: crawl.RobotsParsed, Status: 200, Body: body, Digest: bytes.Repeat([]byte{7}, 32), HasCrawlDelay: true, CrawlDelay: 2 * time.Second, Fresh: time.Hour}
		}
		ev.Robots = append(ev.Robots, f)
		if rng.IntN(5) == 0 {
			ev.Probes = append(ev.Probes, crawl.Probe{Origin: r.Origin, State: crawl.ProbeRead, Status: 200, Fresh: time.Hour})
		}
	}
	for _, u := range v.URLs {
		r := crawl.Result{URL: u.URL, Status: 200, Took: time.Duration(rng.IntN(999)) * time.Millisecond, FetchedAt: time.Now()}
		switch rng.IntN(8) {
		case 0:
			r.Class, r.Reason, r.Status = crawl.Failed, crawl.ReasonHTTP4xx, 404
		case 1:
			r.Class, r.Reason, r.Status, r.Location = crawl.Redirected, crawl.ReasonRedirect, 301, string(url())
			ev.Links = append(ev.Links, crawl.Links{FoundOn: u.URL, Depth: u.Depth, Redirects: u.Redirects + 1, URLs: []canon.URL{canon.URL(r.Location)}})
		case 2:
			r.Class, r.Reason, r.Status = crawl.Retry, crawl.ReasonHTTP5xx, 500
		case 3:
			r = crawl.Result{URL: u.URL, Class: crawl.Returned}
		default:
			r.Class = crawl.Stored
		}
		o.Results = append(o.Results, r)
	}
	return ev
}

// The log is replayed with the current spec, not with that of its time: what the earlier spec
// allowed and was fetched still counts, and a redirect that it excluded is followed.
func TestASpecChangedSinceTheCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.spec.Scope = "host"
		b.crash()
		b.open()
		change := func(scope string) {
			b.spec.Scope = scope
			j, err := judge.New(b.spec)
			if err != nil {
				t.Fatal(err)
			}
			b.s.Ledger.Mu.Lock()
			b.s.Specs.Change(j)
			b.s.Ledger.Mu.Unlock()
			b.refillAll()
		}
		b.links(0, "", "http://a.example/", "http://a.example/2")
		b.copyState()
		time.Sleep(time.Minute)
		v := b.grant(1)[0]
		b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")}, Outcome: &crawl.Outcome{
			Host: v.Host, Requests: 2, Delay: v.Delay, Results: []crawl.Result{
				{URL: v.URLs[0].URL, Class: crawl.Redirected, Status: 301, Location: "http://b.example/"},
				{URL: v.URLs[1].URL, Class: crawl.Stored, Status: 200}}}})
		change("any")
		want := dump(t, b.s)
		b.lose()
		b.refillAll()
		compare(t, dump(t, b.s), want)
		if r := b.record("http://b.example/"); r.Class != crawl.Queued {
			t.Errorf("where the redirect leads is %v, want queued", r.Class)
		}

		time.Sleep(time.Minute)
		b.copyState()
		b.links(1, "http://a.example/2", "http://b.example/x")
		b.finish(b.grant(1)[0], crawl.Stored, "")
		change("host")
		b.lose()
		b.refillAll()
		if r := b.record("http://b.example/x"); r.Class != crawl.Stored {
			t.Errorf("fetched while it was in scope, now %v", r.Class)
		}
		b.verify()
	})
}

// The clocks of two machines differ: what was left to wait when the copy was made is waited after
// it, whatever the clocks show, and a robots.txt gets no younger.
func TestTimesTravelAsDurations(t *testing.T) {
	for _, ahead := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, testSpec("http://a.example/"))
				b.start = store.StartClean
				b.links(0, "", "http://a.example/", "http://b.example/", "http://b.example/2")
				for _, v := range b.grant(2) {
					if v.Host == "b.example" {
						b.finish(v, crawl.Retry, crawl.ReasonHTTP5xx) // waits for 5 s
						continue
					}
					b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK("http://a.example/")}, Outcome: &crawl.Outcome{
						Host: v.Host, Requests: 1, Overloads: 1, Delay: v.Delay, RetryAfter: time.Hour,
						Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
				}
				b.copyState()
				dir := t.TempDir()
				path := filepath.Join(dir, store.FileName(0))
				if err := os.WriteFile(path, b.copy, 0o600); err != nil {
					t.Fatal(err)
				}
				// The time of the other machine's clock at this moment
				there := time.Now().Add(ahead)
				if err := restore.Arrive(path, b.copyName, 1, there); err != nil {
					t.Fatal(err)
				}
				db, err := store.OpenDB(path, true)
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				err = db.View(func(tx *bolt.Tx) error {
					err := hosts.LoadHosts(tx, func(h *hosts.Host) error {
						o := h.Origins[0]
						left := map[canon.Host]time.Duration{"a.example": time.Hour, "b.example": time.Second}[h.Name]
						if got := h.Due.Sub(there); got < left || got > left+2*time.Second {
							t.Errorf("%s is due in %v by the other clock, want %v", h.Name, got, left)
						}
						if age := there.Sub(o.History.Fetched); age < 0 || age > max(ahead, 0)+time.Second {
							t.Errorf("robots.txt of %s is %v old by the other clock", h.Name, age)
						}
						return nil
					})
					if err != nil {
						return err
					}
					n := 0
					return errors.Join(tx.Bucket(store.BucketLater).ForEach(func(k, _ []byte) error {
						r, err := urls.DecodeRecord(k[8:], store.Records(tx).Get(k[8:]))
						if n++; n > 2 || err != nil {
							t.Error("too many wait, or", err)
						}
						if got := r.Due.Sub(there); got < 4*time.Second || got > 6*time.Second {
							t.Errorf("%s is tried again in %v by the other clock, want 5s", r.URL, got)
						}
						if !bytes.Equal(k, store.LaterKey(nil, r.Due, store.KeyHost(k[8:]), r.Order)) {
							t.Errorf("%s waits under another key than its time's", r.URL)
						}
						return nil
					}))
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Evicted hosts also wait for the same remaining time if the shard comes from a machine whose clock
// was ahead, or behind.
func TestEvictionTimesTravelAsDurations(t *testing.T) {
	for _, ahead := range []time.Duration{-3 * time.Hour, 0, 3 * time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			fewResident(t)
			synctest.Test(t, func(t *testing.T) {
				const shops = 40
				b := manyShops(t, shops, 2)
				asked := map[canon.Host]time.Time{}
				for len(asked) < shops {
					for _, v := range b.grant(8) {
						b.event(crawl.Event{Visit: v.ID, Robots: []crawl.Robots{robotsOK(v.URLs[0].URL)}, Outcome: &crawl.Outcome{
							Host: v.Host, Requests: 1, Overloads: 1, Delay: v.Delay, RetryAfter: time.Hour,
							Results: []crawl.Result{{URL: v.URLs[0].URL, Class: crawl.Returned}}}})
						asked[v.Host] = time.Now()
					}
					b.commit()
				}
				if n, _ := b.evicted(); n < shops/2 {
					t.Fatalf("%d hosts are evicted", n)
				}
				b.copyState()
				b.crash()
				b.dir = t.TempDir()
				path := filepath.Join(b.dir, store.FileName(0))
				if err := os.WriteFile(path, b.copy, 0o600); err != nil {
					t.Fatal(err)
				}
				db, err := store.OpenDB(path, false)
				if err != nil {
					t.Fatal(err)
				}
				// As written with a clock that is ahead of ours
				err = db.Update(func(tx *bolt.Tx) error {
					m, err := store.LoadMeta(tx)
					m.Written += ahead.Milliseconds()
					return errors.Join(err, restore.ShiftTimes(tx, ahead), m.Save(tx))
				})
				if err = errors.Join(err, db.Close(), restore.Arrive(path, b.copyName, 1, time.Now())); err != nil {
					t.Fatal(err)
				}
				b.start = store.StartClean
				b.open()
				again := map[canon.Host]bool{}
				for began := time.Now(); len(again) < shops && time.Since(began) < 2*time.Hour; time.Sleep(time.Second) {
					for _, v := range b.grant(8) {
						if since := time.Since(asked[v.Host]); since < time.Hour && !again[v.Host] {
							t.Fatalf("%s is granted after %v, and its Retry-After was an hour", v.Host, since)
						}
						again[v.Host] = true
						b.finish(v, crawl.Stored, "")
					}
					b.commit()
				}
				if len(again) < shops {
					t.Errorf("%d of %d hosts are granted within two hours", len(again), shops)
				}
			})
		})
	}
}

// A shard that is handed over before its own quiet time is over does not know all visits that may
// be in progress.
func TestHandedOverInItsQuietTimeIsNotClean(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/")
		b.crash()
		b.start = store.StartLease
		b.open()
		clean := func() bool {
			b.s.Ledger.Mu.Lock()
			defer b.s.Ledger.Mu.Unlock()
			im, err := b.s.copies.Farewell()
			if err != nil {
				t.Fatal(err)
			}
			defer im.Close()
			m, err := store.LoadMeta(im.Tx)
			if err != nil {
				t.Fatal(err)
			}
			return m.Clean
		}
		if clean() {
			t.Error("clean while visits of the epoch before may be under way")
		}
		time.Sleep(times.OwnerLease + time.Second/2)
		if !clean() {
			t.Error("not clean after the quiet time")
		}
		b.crash()
		b.start = store.StartClean
		b.open()
		if h := b.s.Ledger.Hosts["a.example"]; !h.Due.After(time.Now()) {
			t.Error("the delay that was owed after the quiet time is forgotten by the next owner")
		}
	})
}

// The table of visits moves with the shard: the host is not granted again, renewals by the fetcher
// work, and its outcome ends the visit.
func TestVisitsMoveWithTheirShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, testSpec("http://a.example/"))
		b.links(0, "", "http://a.example/", "http://a.example/2", "http://b.example/")
		vs := b.grant(2)
		b.s.Ledger.Mu.Lock()
		im, err := b.s.copies.Farewell()
		b.s.Ledger.Mu.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		im.Close()
		time.Sleep(8 * time.Second) // in transit
		b.crash()
		b.start = store.StartClean
		b.n += 6
		b.open()
		if st := b.status(); st.InFlight != 3 || st.Queued != 0 || st.Shards[0].Outstanding != 2 {
			t.Fatalf("%+v, want both visits outstanding", st)
		}
		time.Sleep(4 * time.Second)
		if got := b.grant(5); len(got) != 0 {
			t.Fatalf("%s granted while its visit is out", got[0].Host)
		}
		if r := b.s.Visits.Renew([]crawl.VisitID{vs[0].ID, vs[1].ID, {Epoch: 1, N: 99}}, time.Now()); len(r.Lost) != 1 {
			t.Errorf("lost %v, want only the one that never was", r.Lost)
		}
		b.finish(vs[0], crawl.Stored, "")
		time.Sleep(times.OwnerLease + time.Second)
		b.s.Visits.Expire(time.Now())
		if len(b.s.Visits.Outstanding) != 0 {
			t.Error("a visit that was carried along and not renewed again does not expire")
		}
		if st := b.status(); st.InFlight != 0 || st.Stored == 0 || st.Discovered != 3 {
			t.Errorf("%+v", st)
		}
		b.verify()
	})
}
