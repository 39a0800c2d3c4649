package indexer

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/ask"
	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Indexers that start together share the shards of a new crawl evenly, and then nothing moves.
func TestEvenSharing(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 8)
		peers := []*peer{w.peer("one", "", Options{}, nil), w.peer("two", "", Options{}, nil), w.peer("three", "", Options{}, nil)}
		f := w.feed()
		w.holders(2, peers...)
		before := [][]int{peers[0].ids(), peers[1].ids(), peers[2].ids()}
		time.Sleep(3 * peerTerm)
		for i, p := range peers {
			if !slices.Equal(before[i], p.ids()) {
				t.Errorf("%s held %v, now %v", p.o.Instance, before[i], p.ids())
			}
		}
		w.complete(f, peers...)
	})
}

// One indexer becomes three and one again while pages arrive all the time. Search finds what has
// moved.
func TestGrowAndShrink(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 6)
		o := Options{Search: true}
		a := w.peer("one", "", o, nil)
		f := w.feed()
		w.holders(6, a)
		b, c := w.peer("two", "", o, nil), w.peer("three", "", o, nil)
		w.holders(2, a, b, c)
		b.stop()
		c.stop()
		time.Sleep(2 * peerTerm)
		if n := len(a.ids()); n != 2 {
			t.Errorf("pages moved although their homes are only away: one holds %d shards", n)
		}
		b, c = w.peer("two", b.dir, o, nil), w.peer("three", c.dir, o, nil)
		w.holders(2, a, b, c)
		w.retire("two", "three")
		w.holders(0, a)
		if len(b.ids())+len(c.ids()) != 0 {
			t.Error("retired and holding")
		}
		w.complete(f, a, b, c)
		if st := w.settled(a.Indexer); st.Pages != int64(len(f.last)) {
			t.Errorf("%d pages", st.Pages)
		}
		found := map[string]bool{}
		for _, h := range searched(w, "aardvark").Hits {
			found[h.URL] = true
		}
		if len(found) != len(f.last) {
			t.Errorf("search finds %d of %d pages", len(found), len(f.last))
		}
		kv, err := w.q.OpenBucket(t.Context(), "test-CRAWL", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := kv.Delete(t.Context(), crawl.Retired("two")); err != nil {
			t.Fatal(err)
		}
		w.holders(3, a, b)
		// If all are retired, some indexer must keep the pages all the same.
		w.retire("one", "two")
		w.holders(2, a, b, c)
	})
}

// retire requests that instances give away their shards.
func (w *world) retire(names ...string) {
	w.t.Helper()
	kv, err := w.q.OpenBucket(w.t.Context(), "test-CRAWL", 0)
	for _, name := range names {
		if err == nil {
			_, err = kv.PutString(w.t.Context(), crawl.Retired(name), "now")
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// An indexer is killed at any step of a move, and comes back: nothing is lost.
func TestKilledInAMove(t *testing.T) {
	for _, step := range []string{"leaving", "copied", "parked"} {
		t.Run("giver "+step, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 2)
				a := w.peer("one", "", Options{}, once(step))
				f := w.feed()
				w.holders(2, a)
				b := w.peer("two", "", Options{}, nil)
				<-a.killed
				a.ended()
				a = w.peer("one", a.dir, Options{}, nil)
				w.holders(1, a, b)
				w.complete(f, a, b)
			})
		})
	}
	for _, step := range []string{"restored", "claimed"} {
		for _, back := range []bool{true, false} {
			name := "taker " + step
			if !back {
				name += ", not back"
			}
			if !back && step == "claimed" {
				continue // then the pages are with it; see TestLostHome
			}
			t.Run(name, func(t *testing.T) {
				simnet.Test(t, func(t *testing.T) {
					w := newWorld(t, 2)
					a := w.peer("one", "", Options{}, nil)
					f := w.feed()
					w.holders(2, a)
					b := w.peer("two", "", Options{}, once(step))
					<-b.killed
					b.ended()
					if !back {
						w.holders(2, a)
						w.complete(f, a)
						return
					}
					b = w.peer("two", b.dir, Options{}, nil)
					w.holders(1, a, b)
					w.complete(f, a, b)
				})
			})
		}
	}
}

// The old primary is gone for ever after it has copied its pages: the new one needs nothing more of
// it.
func TestGiverDiesAfterParking(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		parked := make(chan struct{})
		a := w.peer("a", "", Options{}, func(step string) error {
			if step == "parked" {
				close(parked)
				return errKilled
			}
			return nil
		})
		f := w.feed()
		w.holders(1, a)
		o := Options{}
		b := w.peer(winner("a"), "", o, nil)
		<-parked
		a.ended()
		w.complete(f, b)
	})
}

// winner is a name that gets the only shard if a is the other member.
func winner(a string) string {
	for i := 0; ; i++ {
		name := string(rune('b' + i))
		if assigned := assign(1, a, name); assigned[0] == name {
			return name
		}
	}
}

// The copy is lost in transit: the pages stay where they are, and the next attempt comes only much
// later.
func TestCopyLost(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		a := w.peer("one", "", Options{}, func(step string) error {
			if step == "parked" {
				if err := w.q.JS.DeleteObjectStore(t.Context(), crawl.Names("test").Move(0)); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		f := w.feed()
		w.holders(1, a)
		b := w.peer(winner("one"), "", Options{}, nil)
		eventually(t, "given up", func() bool { return testutil.ToFloat64(a.metrics.notMoved) == 1 })
		w.holders(1, a)
		if len(b.ids()) != 0 {
			t.Error("held by both")
		}
		w.complete(f, a)
	})
}

// Without space in NATS for the copy the pages stay where they are, and nothing stops for it.
func TestNoRoomForTheCopy(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		a := w.peer("one", "", Options{}, nil)
		f := w.feed()
		w.holders(1, a)
		for size := int64(256 << 20); size >= 1<<20; {
			_, err := w.q.JS.CreateStream(t.Context(), jetstream.StreamConfig{Name: fmt.Sprintf("hog-%d-%d", size, rand.Int()), MaxBytes: size})
			if err != nil {
				size /= 2
			}
		}
		w.peer(winner("one"), "", Options{}, nil)
		eventually(t, "not moved", func() bool { return testutil.ToFloat64(a.metrics.notMoved) == 1 })
		w.complete(f, a)
	})
}

// While a shard moves, a question is answered for the others, and the answer names the missing one.
func TestQuestionDuringAMove(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		parked, asked := make(chan struct{}), make(chan struct{})
		a := w.peer("one", "", Options{}, func(step string) error {
			if step == "parked" {
				close(parked)
				<-asked
			}
			return nil
		})
		w.holders(2, a)
		f := w.fill(20)
		b := w.peer("two", "", Options{}, nil)
		<-parked
		n := 0
		err := ask.Gather(t.Context(), w.q.NC, "test", "pages", nil, 2, func(json.RawMessage) error { n++; return nil })
		moving := 1 - a.ids()[0]
		if !errors.Is(err, ask.ErrIncomplete) || !strings.Contains(err.Error(), fmt.Sprintf("no answer for 1 of 2 shards (%d)", moving)) {
			t.Errorf("asked during the move: %v", err)
		}
		if held := a.Status().Pages; int64(n) != held || held == 0 {
			t.Errorf("%d pages answered, %d held", n, held)
		}
		close(asked)
		w.complete(f, a, b)
	})
}

// Two indexers may restore a copied shard: one does.
func TestTwoClaimants(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		a := w.peer("a", "", Options{}, once("parked"))
		f := w.feed()
		w.holders(1, a)
		to := w.peer(winner("a"), "", Options{}, once("restored"))
		<-a.killed
		<-to.killed
		a.ended()
		to.ended()
		// Neither the old nor the new primary is there. Both of these restore the shard when they
		// believe that it is theirs.
		b, c := w.peer("y", "", Options{}, nil), w.peer("z", "", Options{}, nil)
		for range 100 {
			b.assignments.Alone()
			c.assignments.Alone()
			if len(b.ids())+len(c.ids()) > 0 {
				break
			}
			sleep(t.Context(), 50*time.Millisecond)
		}
		w.complete(f, b, c)
	})
}

// A handler that does not find a shard leaves it out of its answer, and then names the shards that
// are owned. If the shard were among them, the caller would conclude that its pages do not exist.
func TestGoneIsNotHeld(t *testing.T) {
	x := &Indexer{shards: map[int]*shard{}}
	for range 2000 {
		s := &shard{part: part{id: 3, gone: new(atomic.Bool)}}
		x.addShard(s)
		var seen sync.WaitGroup
		seen.Go(func() {
			for !s.gone.Load() {
				runtime.Gosched()
			}
			if ids := x.ids(); len(ids) > 0 {
				t.Errorf("gone, and held: %v", ids)
			}
		})
		x.letGo(s)
		seen.Wait()
	}
}
