package frontier

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	rand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/asker"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/frontier/restore"
	"github.com/curtsy/curtsy/internal/frontier/store"
	"github.com/curtsy/curtsy/internal/frontier/times"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

// script appends events to the log of shard 0 and keeps them, so that a shard that was never lost
// can be compared with one that was.
type script struct {
	c   *crew
	log *queue.Log
	all []queue.Entry
	rng *rand.Rand
}

func (c *crew) script() *script {
	c.t.Helper()
	names := crawl.Names(c.spec.Name)
	l, err := c.q.OpenLog(c.t.Context(), queue.LogConfig{Stream: names.EventsStream(0), Subject: names.EventsSubject(0)})
	if err != nil {
		c.t.Fatal(err)
	}
	return &script{c: c, log: l, rng: rand.New(rand.NewPCG(1, 2))}
}

func (s *script) event(ev crawl.Event) {
	s.c.t.Helper()
	data := crawl.AppendEvent(nil, &ev)
	seq, err := s.log.Append(s.c.t.Context(), data)
	if err != nil {
		s.c.t.Fatal(err)
	}
	s.all = append(s.all, queue.Entry{Position: queue.Position{Seq: seq, Time: time.Now()}, Data: data})
}

func (s *script) url() canon.URL {
	return canon.URL(fmt.Sprintf("http://h%d.example/%d", s.rng.IntN(6), s.rng.IntN(200)))
}

// work appends links and ends visits, until n events were appended.
func (s *script) work(n int) {
	s.c.t.Helper()
	for until := len(s.all) + n; len(s.all) < until; {
		l := crawl.Links{Depth: s.rng.IntN(3), FoundOn: s.url()}
		for range 5 {
			l.URLs = append(l.URLs, s.url())
		}
		s.event(crawl.Event{Links: []crawl.Links{l}})
		for _, v := range s.c.take(2) {
			ev := randomEnd(s.rng, v, s.url)
			// Without waiting times and auxiliary requests: for those the frontier would append its
			// own events.
			for i := range ev.Robots {
				ev.Robots[i] = crawl.Robots{Origin: ev.Robots[i].Origin, State: crawl.RobotsUnavailable, Status: 404, Fresh: time.Hour}
			}
			ev.Outcome.RetryAfter, ev.Outcome.Overloads = 0, 0
			s.event(ev)
		}
	}
}

// workUntil continues until ok returns true.
func (s *script) workUntil(what string, ok func() bool) {
	s.c.t.Helper()
	until(s.c.t, 30*time.Second, what, func() bool {
		s.work(5)
		s.applied()
		return ok()
	})
}

// twoCheckpoints works until there are two, and the log is purged up to the one before the last.
func (s *script) twoCheckpoints() {
	s.c.t.Helper()
	s.workUntil("two checkpoints", func() bool {
		p, ok := restore.ParseName(s.c.record(0).Previous)
		return ok && s.c.firstOfLog() == p.Seq
	})
}

// applied waits until the shard's owner has applied everything.
func (s *script) applied() *Shard {
	s.c.t.Helper()
	var sh *Shard
	until(s.c.t, 20*time.Second, "the log is applied", func() bool {
		_, sh = s.c.holder(0)
		if sh == nil {
			return false
		}
		sh.Ledger.Mu.Lock()
		defer sh.Ledger.Mu.Unlock()
		return sh.Ledger.Phase.Read && sh.Ledger.Meta.Seq >= s.all[len(s.all)-1].Seq
	})
	return sh
}

// compare compares the shard with one that has applied all events, one by one.
func (s *script) compare() {
	s.c.t.Helper()
	control := newBenchOf(s.c.t, s.c.spec, 0)
	if err := control.s.apply(s.all); err != nil {
		s.c.t.Fatal(err)
	}
	sh := s.applied()
	sh.Ledger.Mu.Lock()
	defer sh.Ledger.Mu.Unlock()
	got, want := dump(s.c.t, sh), dump(s.c.t, control.s)
	for _, m := range []map[string]string{got, want} {
		for k, v := range m { // the times of two clocks
			if i := strings.Index(v, "FetchedAt:"); i >= 0 {
				j := i + strings.IndexByte(v[i:], ' ')
				m[k] = v[:i] + v[j:]
			}
			m[k] = strings.NewReplacer("waits true", "", "waits false", "").Replace(m[k])
			// A waiting retry may have been loaded by now.
			if k == "counts" || strings.HasPrefix(k, "host ") {
				m[k] = withoutWaiting(m[k])
			}
		}
	}
	compare(s.c.t, got, want)
}

func withoutWaiting(s string) string {
	var out []string
	skip := false
	for _, w := range strings.Fields(s) {
		switch {
		case skip:
			skip = false
		case w == "later" || w == "ready":
			skip = true
		case strings.HasPrefix(w, "Later:"):
		default:
			out = append(out, w)
		}
	}
	return strings.Join(out, " ")
}

// checkpoints lists what is in the store for shard 0.
func (c *crew) checkpoints() []string {
	c.t.Helper()
	names, err := c.snapshots().Names(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { p, ok := restore.ParseName(n); return !ok || p.Shard != 0 })
	slices.Sort(names)
	return names
}

func (c *crew) snapshots() *queue.Snapshots {
	c.t.Helper()
	s, err := c.q.OpenSnapshots(c.t.Context(), queue.SnapshotConfig{Bucket: crawl.Names(c.spec.Name).Checkpoints(), MaxBytes: 64 << 20})
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *crew) firstOfLog() uint64 {
	c.t.Helper()
	st, err := c.q.JS.Stream(c.t.Context(), crawl.Names(c.spec.Name).EventsStream(0))
	if err != nil {
		c.t.Fatal(err)
	}
	return st.CachedInfo().State.FirstSeq
}

// oneShard is a crew with one shard, small checkpoints and no delay.
func oneShard(t *testing.T) *crew {
	spec := crewSpec(1)
	spec.Delay = 0
	spec.Seeds = []string{"http://h0.example/"}
	for i := range 6 {
		spec.Hurry = append(spec.Hurry, fmt.Sprintf("h%d.example", i))
	}
	c := newCrew(t, spec)
	c.opt.Checkpoint = 4 << 10
	return c
}

// A frontier is killed and its directory is deleted: another one restores the last checkpoint,
// applies the log after it, and grants nothing until every old visit has ended.
func TestAnotherTakesOverFromCheckpointAndLog(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.twoCheckpoints()
		if got := c.checkpoints(); len(got) != 2 {
			t.Errorf("in the store: %v, want two checkpoints", got)
		}
		s.work(10)
		b := c.start("b") // waits: a runs, and keeps its share of one
		a.kill()
		if err := os.RemoveAll(a.dir); err != nil {
			t.Fatal(err)
		}
		died := time.Now()
		delete(c.by, "a")
		sh := s.applied()
		if d := time.Since(died); d > 60*c.term {
			t.Errorf("taken over after %v; a term is %v", d, c.term)
		}
		sh.Ledger.Mu.Lock()
		quiet := sh.Ledger.Phase.Until
		sh.Ledger.Mu.Unlock()
		if d := time.Until(quiet); d < times.OwnerLease-8*time.Second || d > times.OwnerLease {
			t.Errorf("quiet for %v more, want a lease from the take-over on", d)
		}
		s.compare()
		if vs := c.take(5); len(vs) != 0 {
			t.Errorf("%s granted in the quiet time", vs[0].Host)
		}
		if r := c.record(0); r.Owner != "b" || b == nil {
			t.Errorf("%+v", r)
		}
		if lost, ok := c.renew(crawl.Visit{ID: crawl.VisitID{Epoch: 1, N: 1}}); !lost || !ok {
			t.Errorf("a visit that the new owner does not know is renewed (answered: %v)", ok)
		}
	})
}

// A directory that once had the shard comes back: its file is not used, whichever frontier has
// owned the shard since.
func TestAStaleFileIsNeverUsed(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.work(40)
		s.applied()
		a.stop()
		stale, err := os.ReadFile(filepath.Join(a.dir, store.FileName(0)))
		if err != nil {
			t.Fatal(err)
		}
		if r := c.record(0); !r.Clean || r.Checkpoint == "" {
			t.Fatalf("%+v, want it released clean with a checkpoint", r)
		}
		delete(c.by, "a")
		b := c.start("b")
		c.settled("b")
		s.work(40)
		s.applied()
		if r := c.record(0); r.Owner != "b" {
			t.Fatalf("%+v", r)
		}
		b.stop()
		delete(c.by, "b")
		c.by["a"] = a
		a = c.start("a")
		c.settled("a")
		s.compare()
		now, err := os.ReadFile(filepath.Join(a.dir, store.FileName(0)))
		if err != nil || bytes.Equal(now, stale) {
			t.Errorf("the old file is still there (%v)", err)
		}
		s.work(10)
		s.compare()
		if vs := c.take(1); len(vs) == 0 {
			until(t, 3*time.Second, "a visit", func() bool { return len(c.take(1)) > 0 })
		}
	})
}

// A planned restart in the same directory, without another owner in between, needs no checkpoint
// and no pause.
func TestRestartInPlace(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.work(20)
		s.event(crawl.Event{Links: []crawl.Links{{URLs: []canon.URL{"http://h1.example/new", "http://h2.example/new", "http://h3.example/new"}}}})
		s.applied()
		var out []crawl.Visit
		until(t, 5*time.Second, "a visit", func() bool { out = c.take(1); return len(out) == 1 })
		a.stop()
		for _, name := range c.checkpoints() {
			if err := c.snapshots().Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		c.start("a")
		sh := s.applied()
		sh.Ledger.Mu.Lock()
		quiet, n := sh.Ledger.Phase.Until, len(sh.Visits.Outstanding)
		sh.Ledger.Mu.Unlock()
		if !quiet.IsZero() || n != 1 {
			t.Errorf("quiet until %v, %d visits carried along; want no pause and the one", quiet, n)
		}
		if lost, ok := c.renew(out[0]); lost || !ok {
			t.Error("its renewal is not answered")
		}
		s.event(randomEnd(s.rng, out[0], s.url))
		s.applied()
		until(t, 5*time.Second, "the visit ends", func() bool { sh.Ledger.Mu.Lock(); defer sh.Ledger.Mu.Unlock(); return len(sh.Visits.Outstanding) == 0 })
	})
}

// The last checkpoint is damaged: the one before it and the log, which was kept for that, give the
// same.
func TestADamagedCheckpoint(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.twoCheckpoints()
		a.kill()
		delete(c.by, "a")
		r := c.record(0)
		if err := c.snapshots().Delete(t.Context(), r.Checkpoint); err != nil {
			t.Fatal(err)
		}
		if _, err := c.snapshots().Put(t.Context(), r.Checkpoint, 100, func(w io.Writer) error { _, err := w.Write(make([]byte, 5000)); return err }); err != nil {
			t.Fatal(err)
		}
		c.start("b")
		s.compare()
		// The next checkpoint replaces the damaged one.
		for range 400 {
			s.event(crawl.Event{Links: []crawl.Links{{URLs: []canon.URL{s.url(), s.url(), s.url()}}}})
		}
		until(t, time.Minute, "a new checkpoint", func() bool { return c.record(0).Checkpoint != r.Checkpoint })
		if got := c.record(0).Previous; got == r.Checkpoint {
			t.Errorf("the damaged checkpoint is kept as the one before, %s is not", r.Previous)
		}
	})
}

// There was never a checkpoint: the log has everything.
func TestNoCheckpointAndAWholeLog(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		c.opt.Checkpoint = 1 << 30
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.work(30)
		s.applied()
		a.kill()
		os.RemoveAll(a.dir)
		delete(c.by, "a")
		if r := c.record(0); r.Checkpoint != "" || r.Clean {
			t.Fatalf("%+v, want neither checkpoint nor clean", r)
		}
		c.start("b")
		s.compare()
	})
}

// Without a file, a checkpoint and the beginning of the log, the frontier reports it and does not
// own the shard, so that the frontier that has the file can continue with it.
func TestNothingToContinueFrom(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.twoCheckpoints()
		a.kill()
		r := c.record(0)
		for _, name := range []string{r.Checkpoint, r.Previous} {
			if err := c.snapshots().Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
		var out syncBuffer
		log := c.log
		c.log = slog.New(slog.NewTextHandler(&out, nil))
		b := c.start("b")
		until(t, time.Minute, "an error that states what to do", func() bool {
			return strings.Contains(out.String(), "start only a with its old directory")
		})
		if now := c.record(0); now != r {
			t.Errorf("the record was %+v and is %+v", r, now)
		}
		b.stop()
		delete(c.by, "b")
		c.log = log
		c.start("a")
		s.compare()
	})
}

// Kills between the steps of a checkpoint leave copies that no record names and a log that is too
// long: the next owner cleans up.
func TestKilledBetweenTheStepsOfACheckpoint(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		a := c.start("a")
		c.settled("a")
		s := c.script()
		s.twoCheckpoints()
		a.kill()
		delete(c.by, "a")
		r := c.record(0)
		last, _ := restore.ParseName(r.Checkpoint)
		orphan := last
		orphan.N += 7 // stored, and killed before the record named it
		if _, err := c.snapshots().Put(t.Context(), orphan.String(), 10, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }); err != nil {
			t.Fatal(err)
		}
		other := restore.Name{Shard: 7, Epoch: 1, Seq: 1, N: 1} // of another shard
		if _, err := c.snapshots().Put(t.Context(), other.String(), 10, func(w io.Writer) error { _, err := w.Write([]byte("x")); return err }); err != nil {
			t.Fatal(err)
		}
		c.opt.Checkpoint = 1 << 30
		c.start("b")
		s.compare()
		until(t, time.Minute, "only what the record names is left", func() bool {
			r := c.record(0)
			want := []string{r.Checkpoint, r.Previous}
			slices.Sort(want)
			return slices.Equal(c.checkpoints(), want)
		})
		if names, err := c.snapshots().Names(t.Context()); err != nil || !slices.Contains(names, other.String()) {
			t.Errorf("another shard's checkpoint is gone: %v (%v)", names, err)
		}
		p, _ := restore.ParseName(r.Previous)
		until(t, time.Minute, "the log is cut", func() bool { return c.firstOfLog() == p.Seq })
	})
}

// The log is full before any frontier has owned its shard, and checkpoints are rarely due: it is
// purged nevertheless, and never fills again.
func TestAFullLogIsEmptied(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		spec := crewSpec(1)
		c := newCrewWith(t, spec, StreamLimits{Events: 256 << 10, Pages: 16 << 20})
		c.opt.Checkpoint = 1 << 30
		s := c.script()
		link := func(i int) crawl.Event {
			return crawl.Event{Links: []crawl.Links{{URLs: []canon.URL{canon.URL(fmt.Sprintf("http://h0.example/%d-%s", i, strings.Repeat("x", 1000)))}}}}
		}
		n := 0
		full := func() bool { // appends until the log accepts no more
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			ev := link(n)
			if _, err := s.log.Append(ctx, crawl.AppendEvent(nil, &ev)); err != nil {
				return true
			}
			n++
			return false
		}
		until(t, 20*time.Second, "the log is full", full)
		c.start("a")
		c.settled("a")
		for range 1000 {
			ev := link(n)
			n++
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			_, err := s.log.Append(ctx, crawl.AppendEvent(nil, &ev))
			cancel()
			if err != nil {
				t.Fatalf("after %d more: %v", n, err)
			}
		}
		until(t, time.Minute, "all known", func() bool {
			st, err := asker.Status(t.Context(), c.q, c.spec)
			return err == nil && int(st.Discovered) >= n
		})
		if got := len(c.checkpoints()); got > 2 {
			t.Errorf("%d checkpoints in the store, want two", got)
		}
	})
}

// The ownership record is lost: the state is still restored from what is found, and every process
// that may still act is waited for.
func TestTheRecordIsLost(t *testing.T) {
	for name, every := range map[string]int64{"whole log": 1 << 30, "checkpoints": 4 << 10} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				c := oneShard(t)
				c.opt.Checkpoint = every
				a := c.start("a")
				c.settled("a")
				s := c.script()
				if every < 1<<20 {
					s.twoCheckpoints()
				}
				s.work(30)
				s.applied()
				a.kill()
				if err := os.RemoveAll(a.dir); err != nil {
					t.Fatal(err)
				}
				delete(c.by, "a")
				if err := c.kv.Delete(t.Context(), restore.OwnerKey(0)); err != nil {
					t.Fatal(err)
				}
				before := time.Now()
				c.start("b")
				s.compare()
				if got := c.record(0).Checkpoint; (got != "") != (every < 1<<20) {
					t.Errorf("the new record names %q", got)
				}
				_, sh := c.holder(0)
				sh.Ledger.Mu.Lock()
				quiet := sh.Ledger.Phase.Until
				sh.Ledger.Mu.Unlock()
				if quiet.Before(before.Add(times.OwnerLease+c.term)) || time.Until(quiet) > times.OwnerLease+c.term {
					t.Errorf("quiet until %v after it was started, want a term and a lease", quiet.Sub(before))
				}
			})
		})
	}
}

// A frontier that learns that another owns the shard does nothing more with it.
func TestADeposedOwnerIsSilent(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		c := oneShard(t)
		c.start("a")
		c.settled("a")
		s := c.script()
		s.work(20)
		s.event(crawl.Event{Links: []crawl.Links{{URLs: []canon.URL{"http://h0.example/new", "http://h1.example/new", "http://h2.example/new"}}}})
		s.applied()
		var out []crawl.Visit
		until(t, 5*time.Second, "a visit", func() bool { out = append(out, c.take(1)...); return len(out) > 0 })
		_, sh := c.holder(0)
		r := c.record(0)
		r.Epoch, r.Owner, r.Clean = r.Epoch+100, "z", false
		v, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.kv.Put(t.Context(), restore.OwnerKey(0), v); err != nil {
			t.Fatal(err)
		}
		until(t, c.term, "it notices", func() bool { return !sh.Ledger.Valid() })
		if vs := c.take(5); len(vs) != 0 {
			t.Errorf("%s granted for another's shard", vs[0].Host)
		}
		if _, ok := c.renew(out[0]); ok {
			t.Error("a renewal is answered for another's shard")
		}
		if st, err := asker.Status(t.Context(), c.q, c.spec); err == nil {
			t.Errorf("%+v is reported for the shard of another", st)
		}
		// It takes over after z has been silent for long enough, and treats what z granted before
		// as the visits of another.
		until(t, 60*c.term, "taken over", func() bool { r := c.record(0); return r.Owner == "a" && r.Epoch > 100 })
		s.compare()
		if lost, ok := c.renew(out[0]); ok && !lost {
			t.Error("a visit of an epoch that ended unclean is renewed")
		}
	})
}
