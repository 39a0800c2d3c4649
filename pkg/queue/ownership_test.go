package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

const term = time.Second

func openBucket(t testing.TB, c *Conn) jetstream.KeyValue {
	t.Helper()
	kv, err := c.OpenBucket(t.Context(), "x-CRAWL", 0)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

func ownOptions(t testing.TB, owner string) OwnOptions {
	return OwnOptions{Owner: owner, Term: term, Log: testLog(t)}
}

func own(t testing.TB, kv jetstream.KeyValue, o OwnOptions) *Ownership {
	t.Helper()
	ctx, _ := cancelled(t)
	s, err := Own(ctx, kv, "frontier.0", o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run renews s until the returned function is called. That function returns the result of Run.
func run(t testing.TB, s *Ownership) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	return stop
}

func TestOwnFreeThenCleanRelease(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		a := own(t, kv, ownOptions(t, "a"))
		if !a.Valid() || !a.Clean() || a.TookOver() || a.Predecessor() != (Record{}) {
			t.Errorf("a free shard: valid %v, clean %v, took over %v", a.Valid(), a.Clean(), a.TookOver())
		}
		if now := uint64(time.Now().Unix()); a.Epoch() > now || a.Epoch() < now-5 {
			t.Errorf("epoch %d, it is %d", a.Epoch(), now)
		}
		stop := run(t, a)
		if err := a.Update(t.Context(), func(r *Record) { r.Checkpoint, r.Epoch, r.Owner = "cp-1", 1, "z" }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * term)
		if !a.Valid() {
			t.Error("not valid while Run renews")
		}
		if err := a.Release(t.Context(), "cp-2"); err != nil {
			t.Fatal(err)
		}
		if a.Valid() {
			t.Error("valid after Release")
		}
		if err := a.Update(t.Context(), nil); err == nil {
			t.Error("Update after Release went through")
		}
		time.Sleep(term / 2)
		if err := stop(); err != nil {
			t.Errorf("Run = %v after Release", err)
		}

		patient := ownOptions(t, "b")
		patient.Term = 2 * within // the test need not wait for the term: own would give up earlier
		b := own(t, kv, patient)
		want := Record{Epoch: b.Epoch(), Owner: "b", Checkpoint: "cp-2", Previous: "cp-1"}
		if !b.Clean() || !b.TookOver() || b.Epoch() <= a.Epoch() || b.Record() != want {
			t.Errorf("after a clean release: %+v, want %+v", b.Record(), want)
		}
		if p := b.Predecessor(); p.Owner != "a" || !p.Clean || p.Epoch != a.Epoch() {
			t.Errorf("predecessor %+v", p)
		}
	})
}

func TestOwnTakesOverFromSilentOwner(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		a := own(t, kv, ownOptions(t, "a"))
		stop := run(t, a)
		got := make(chan *Ownership, 1)
		go func() { got <- own(t, kv, ownOptions(t, "b")) }()
		select {
		case <-got:
			t.Fatal("took a shard whose owner renews")
		case <-time.After(3 * term):
		}
		if err := stop(); err != nil { // from here on a renews nothing
			t.Fatal(err)
		}
		silent := time.Now()
		b := <-got
		if d := time.Since(silent); d < term || d > within/2 {
			t.Errorf("taken after %v of silence, a term is %v", d, term)
		}
		if a.Valid() {
			t.Error("two owners may act")
		}
		if b.Clean() || !b.TookOver() || b.Epoch() <= a.Epoch() {
			t.Errorf("clean %v, took over %v, epoch %d after %d", b.Clean(), b.TookOver(), b.Epoch(), a.Epoch())
		}
		if err := a.Update(t.Context(), nil); !errors.Is(err, ErrLost) {
			t.Errorf("the old owner's Update = %v, want ErrLost", err)
		}
		if err := a.Run(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("the old owner's Run = %v, want ErrLost", err)
		}
		if err := a.Release(t.Context(), ""); !errors.Is(err, ErrLost) {
			t.Errorf("the old owner's Release = %v, want ErrLost", err)
		}
		if !b.Valid() || b.Update(t.Context(), nil) != nil {
			t.Error("the new owner was disturbed")
		}
	})
}

func TestOwnSameDirectory(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		a := own(t, kv, ownOptions(t, "a"))
		o := ownOptions(t, "a")
		o.Term = time.Minute // long enough that the test would notice any waiting
		o.SameDir = true
		again := own(t, kv, o)
		if again.Clean() || again.TookOver() || again.Epoch() <= a.Epoch() {
			t.Errorf("clean %v, took over %v, epoch %d after %d", again.Clean(), again.TookOver(), again.Epoch(), a.Epoch())
		}
		o.Owner = "b" // the lock on the directory of b says nothing about a
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := Own(ctx, kv, "frontier.0", o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Own = %v, want the context's end", err)
		}
		o.Owner = ""
		if _, err := Own(ctx, kv, "frontier.0", o); err == nil {
			t.Error("Own without an owner")
		}
	})
}

// Many processes want one shard: exactly one gets it.
func TestOwnRace(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		ctx, cancel := context.WithTimeout(t.Context(), term)
		defer cancel()
		var mu sync.Mutex
		var won []*Ownership
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if s, err := Own(ctx, kv, "frontier.0", ownOptions(t, fmt.Sprint(i))); err == nil {
					mu.Lock()
					defer mu.Unlock()
					won = append(won, s)
				}
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Errorf("%d owners", len(won))
		}
	})
}

// An owner that is cut off from the broker stops by itself before a rival may begin. It notices the
// loss when it is connected again.
func TestOwnerCutOff(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		far := openBucket(t, wire.dial(t, testLog(t)))
		near := openBucket(t, dial(t, s))
		a := own(t, far, ownOptions(t, "a"))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lost := make(chan error, 1)
		go func() { lost <- a.Run(ctx) }()
		time.Sleep(term / 2)

		overlap := false
		got := make(chan *Ownership, 1)
		go func() {
			b := own(t, near, ownOptions(t, "b"))
			overlap = a.Valid()
			got <- b
		}()
		time.Sleep(term)
		wire.cut()
		cut := time.Now()
		eventually(t, "the owner noticing", func() bool { return !a.Valid() })
		if d := time.Since(cut); d < term/3 || d > within/2 {
			t.Errorf("stopped %v after the cut, a term is %v", d, term)
		}
		b := <-got
		if overlap {
			t.Error("two owners may act")
		}
		if b.Clean() {
			t.Error("a take-over from an owner cut off counts as clean")
		}
		wire.mend()
		select {
		case err := <-lost:
			if !errors.Is(err, ErrLost) {
				t.Errorf("Run = %v, want ErrLost", err)
			}
		case <-time.After(within):
			t.Error("Run does not end")
		}
		if a.Valid() {
			t.Error("valid again after the shard was lost")
		}
	})
}

// A renewal whose answer is lost was stored nevertheless. The next renewal continues from it.
func TestRenewalAfterLostAnswer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		far := openBucket(t, wire.dial(t, testLog(t)))
		near := openBucket(t, dial(t, s))
		a := own(t, far, ownOptions(t, "a"))
		// The owner wrote a record that the server has stored, with a revision that the owner does
		// not know.
		e, err := near.Get(t.Context(), "frontier.0")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := near.Update(t.Context(), "frontier.0", e.Value(), e.Revision()); err != nil {
			t.Fatal(err)
		}
		if err := a.Update(t.Context(), nil); err != nil || !a.Valid() {
			t.Errorf("Update = %v", err)
		}
		// If the broker is away for a while and nobody else takes the shard, the ownership does not
		// end.
		stop := run(t, a)
		wire.cut()
		wire.hangUp()
		eventually(t, "out of term", func() bool { return !a.Valid() })
		wire.mend()
		eventually(t, "renewed", a.Valid)
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
}

// mirror is a bucket seen through a server that lags: reads return the state from the moment when
// it was frozen. It can also lose the answers to writes.
type mirror struct {
	jetstream.KeyValue
	frozen jetstream.KeyValueEntry // nil: reads return the current state
	mute   bool                    // writes are stored, but their answers are lost
}

func (m *mirror) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if m.frozen != nil {
		return m.frozen, nil
	}
	return m.KeyValue.Get(ctx, key)
}

func (m *mirror) Create(ctx context.Context, key string, value []byte, _ ...jetstream.KVCreateOpt) (uint64, error) {
	return m.answer(m.KeyValue.Create(ctx, key, value))
}

func (m *mirror) Update(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	return m.answer(m.KeyValue.Update(ctx, key, value, revision))
}

func (m *mirror) answer(revision uint64, err error) (uint64, error) {
	if m.mute && err == nil {
		return 0, context.DeadlineExceeded
	}
	return revision, err
}

func (m *mirror) freeze(t *testing.T) {
	t.Helper()
	e, err := m.KeyValue.Get(t.Context(), "frontier.0")
	if err != nil {
		t.Fatal(err)
	}
	m.frozen = e
}

// A rival that reads the same old record for ever, whether that owner seems silent or released the
// shard, takes nothing from a live owner.
func TestLaggingReadsTakeNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		for _, clean := range []bool{false, true} {
			m := &mirror{KeyValue: kv}
			first := own(t, kv, ownOptions(t, "a"))
			if clean {
				if err := first.Release(t.Context(), ""); err != nil {
					t.Fatal(err)
				}
			}
			m.freeze(t)
			if clean {
				first = own(t, kv, ownOptions(t, "a"))
			}
			stop := run(t, first)
			ctx, cancel := context.WithTimeout(t.Context(), 4*term)
			if s, err := Own(ctx, m, "frontier.0", ownOptions(t, "b")); err == nil {
				t.Errorf("clean %v: took a shard that is renewed, on what was true once: %+v", clean, s.Record())
			}
			cancel()
			if err := stop(); err != nil || !first.Valid() {
				t.Errorf("clean %v: the owner was disturbed: %v", clean, err)
			}
			if err := first.Release(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// An owner that reads a record older than its own last write has lost nothing.
func TestLaggingReadsLoseNothing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		before := own(t, kv, ownOptions(t, "z"))
		m := &mirror{KeyValue: kv}
		m.freeze(t) // a record of another owner with an older epoch
		if err := before.Release(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		a := own(t, kv, ownOptions(t, "a"))
		a.kv = m
		// The next renewal is stored, but its answer is lost.
		m.mute = true
		if err := a.Update(t.Context(), nil); err == nil || errors.Is(err, ErrLost) {
			t.Fatalf("Update = %v", err)
		}
		m.mute = false
		if err := a.Update(t.Context(), nil); err == nil || errors.Is(err, ErrLost) {
			t.Errorf("Update = %v on a record of before", err)
		}
		m.frozen = nil // the server has caught up
		if err := a.Update(t.Context(), nil); err != nil || !a.Valid() {
			t.Errorf("Update = %v", err)
		}
		// The record is deleted for good, together with its revisions.
		if err := kv.Purge(t.Context(), "frontier.0"); err != nil {
			t.Fatal(err)
		}
		if err := a.Run(t.Context()); !errors.Is(err, ErrLost) {
			t.Errorf("Run = %v without a record, want ErrLost", err)
		}
	})
}

// A call that waits for another write of the record ends with its own context.
func TestUpdateEndsWithItsContext(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		r := new(register)
		s, err := Own(t.Context(), r, "frontier.0", ownOptions(t, "me"))
		check(t, err)
		r.slow = time.Hour
		done := make(chan error, 1)
		go func() { done <- s.Update(t.Context(), nil) }()
		synctest.Wait()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Update(ctx, nil); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Update = %v after %v, its context ended after a second", err, time.Since(began))
		}
		began = time.Now()
		if err := s.Release(t.Context(), ""); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != term {
			t.Errorf("Release = %v after %v, it waits for a term", err, time.Since(began))
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// Servers that lost power use revisions again: the revision that we rely on may now be that of
// another owner's record.
func TestRevisionUsedAgain(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		m := &mirror{KeyValue: openBucket(t, dial(t, startServer(t, embedded.Options{})))}
		a := own(t, m, ownOptions(t, "a"))
		time.Sleep(term + time.Millisecond)
		m.frozen = entry{key: "frontier.0", value: fmt.Sprintf(`{"epoch":%d,"owner":"b"}`, a.Epoch()+1), revision: a.revision}
		if err := a.Update(t.Context(), nil); !errors.Is(err, ErrLost) {
			t.Errorf("Update = %v, want ErrLost", err)
		}
		if e, err := m.KeyValue.Get(t.Context(), "frontier.0"); err != nil || e.Revision() != a.revision {
			t.Errorf("the other's record was overwritten: %v", err)
		}
	})
}

// If the answer to the write that takes the shard is lost, the shard is still ours. The previous
// ownership is reported as clean or unclean correctly.
func TestOwnAfterLostAnswer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		if err := own(t, kv, ownOptions(t, "a")).Release(t.Context(), "cp"); err != nil {
			t.Fatal(err)
		}
		m := &mirror{KeyValue: kv, mute: true}
		o := ownOptions(t, "b")
		o.Term = 20 * time.Second
		c := &claim{kv: m, key: "frontier.0", o: o}
		if s, err := c.try(t.Context()); s != nil || err == nil {
			t.Fatalf("try = %v, %v", s, err)
		}
		m.mute = false
		s, err := c.try(t.Context())
		if err != nil || s == nil {
			t.Fatalf("try = %v, %v: it must wait for its own silence", s, err)
		}
		if p := s.Predecessor(); !s.Clean() || !s.TookOver() || p.Owner != "a" || p.Checkpoint != "cp" || !s.Valid() {
			t.Errorf("clean %v, took over %v, from %+v", s.Clean(), s.TookOver(), p)
		}
	})
}

// While Mine returns false, Own watches the shard. It takes the shard at once when Mine returns
// true and the owner has been silent for long enough.
func TestOwnWhenItIsMine(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		own(t, kv, ownOptions(t, "a")) // nobody renews this one
		var mine atomic.Bool
		o := ownOptions(t, "b")
		o.Mine = mine.Load
		got := make(chan *Ownership, 1)
		go func() { got <- own(t, kv, o) }()
		select {
		case <-got:
			t.Fatal("took a shard that should not be ours")
		case <-time.After(3 * term):
		}
		mine.Store(true)
		start := time.Now()
		<-got
		if d := time.Since(start); d > within/2 {
			t.Errorf("took %v, though the owner had been silent for long", d)
		}
	})
}

// An outage of the broker of less than two thirds of a term ends no ownership, and Release waits
// until the outage is over.
func TestOwnershipOutlivesTheBroker(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		const term = 3 * time.Second
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		c := wire.dial(t, testLog(t))
		o := ownOptions(t, "a")
		o.Term = term
		a := own(t, openBucket(t, c), o)
		run(t, a)
		time.Sleep(term / 4)
		wire.cut()
		time.Sleep(term / 4) // a renewal is lost
		wire.mend()
		for end := time.Now().Add(term); time.Now().Before(end); time.Sleep(term / 100) {
			if !a.Valid() {
				t.Fatal("not valid, after a short absence of the broker")
			}
		}
		eventually(t, "reconnect", c.NC.IsConnected)
		wire.cut()
		wire.hangUp()
		mended := time.AfterFunc(term/4, wire.mend)
		defer mended.Stop()
		if err := a.Release(t.Context(), "cp"); err != nil {
			t.Errorf("Release = %v, the broker was away for a moment", err)
		}
	})
}

// A watch continues when its bucket is created again with sequence numbers from 1. Old records do
// not confuse it.
func TestWatchOwnersOutlivesTheBucket(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		c := dial(t, s)
		kv := openBucket(t, c)
		own(t, kv, ownOptions(t, "a"))
		var mu sync.Mutex
		var last map[string]Record
		calls := 0
		ctx, cancel := cancelled(t)
		done := make(chan error, 1)
		far := openBucket(t, newCable(t, s).dial(t, testLog(t)))
		go func() {
			done <- WatchOwners(ctx, far, "frontier", func(m map[string]Record) {
				mu.Lock()
				defer mu.Unlock()
				last, calls = m, calls+1
			})
		}()
		is := func(owner string) func() bool {
			return func() bool {
				mu.Lock()
				defer mu.Unlock()
				return last["frontier.0"].Owner == owner
			}
		}
		eventually(t, "the first owner", is("a"))
		if err := s.Restart(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "reconnect", c.NC.IsConnected)
		if err := c.JS.DeleteStream(ctx, "KV_x-CRAWL"); err != nil {
			t.Fatal(err)
		}
		own(t, openBucket(t, c), ownOptions(t, "b"))
		eventually(t, "the second owner", is("b"))
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		mu.Lock()
		if calls > 4 {
			t.Errorf("changed was called %d times", calls)
		}
		mu.Unlock()

		m := &recordList{changed: func(m map[string]Record) { last = m }}
		for _, epoch := range []uint64{7, 6} {
			m.begin()
			m.entry(entry{key: "frontier.0", value: fmt.Sprintf(`{"epoch":%d}`, epoch)})
			m.entry(nil)
			if got := last["frontier.0"].Epoch; got != 7 {
				t.Errorf("changed received epoch %d", got)
			}
		}
	})
}

// entry is an entry that a watch delivers.
type entry struct {
	jetstream.KeyValueEntry
	key, value string
	revision   uint64
}

func (e entry) Revision() uint64                { return e.revision }
func (e entry) Key() string                     { return e.key }
func (e entry) Value() []byte                   { return []byte(e.value) }
func (e entry) Operation() jetstream.KeyValueOp { return jetstream.KeyValuePut }

func TestWatchOwners(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openBucket(t, dial(t, startServer(t, embedded.Options{})))
		a := own(t, kv, ownOptions(t, "a"))
		ctx, cancel := cancelled(t)
		calls := make(chan map[string]Record, 100)
		done := make(chan error, 1)
		go func() { done <- WatchOwners(ctx, kv, "frontier", func(m map[string]Record) { calls <- m }) }()
		if m := <-calls; len(m) != 1 || m["frontier.0"].Owner != "a" {
			t.Errorf("at the start: %v", m)
		}
		for range 3 { // renewals are not reported
			if err := a.Update(ctx, nil); err != nil {
				t.Fatal(err)
			}
		}
		// Shards under another prefix are not reported either.
		if _, err := Own(ctx, kv, "indexer.0", ownOptions(t, "a")); err != nil {
			t.Fatal(err)
		}
		if _, err := Own(ctx, kv, "frontier.1", ownOptions(t, "b")); err != nil {
			t.Fatal(err)
		}
		if m := <-calls; len(m) != 2 || m["frontier.1"].Owner != "b" {
			t.Errorf("after another shard was taken: %v", m)
		}
		if err := a.Release(ctx, ""); err != nil {
			t.Fatal(err)
		}
		if m := <-calls; !m["frontier.0"].Clean {
			t.Errorf("after a release: %v", m)
		}
		if err := kv.Delete(ctx, "frontier.0"); err != nil {
			t.Fatal(err)
		}
		if m := <-calls; len(m) != 1 {
			t.Errorf("after a deletion: %v", m)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}
