package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// users performs everything that a crawl does with the queue at the same time: it appends and
// follows, sends and consumes, owns shards, watches owners and is a member.
type users struct {
	size               int // of messages
	appended, sent     atomic.Uint64
	followed, consumed sync.Map // number → true
	at                 atomic.Uint64
	owner              *Ownership
	seen               atomic.Uint64 // epoch that the watch reports
	members            *joined
	log                *Log
	wait               waiter

	stop context.CancelFunc
	wg   sync.WaitGroup
}

// waiter is the type of eventually and testaid.Until.
type waiter func(t testing.TB, what string, cond func() bool, report ...func() string)

func use(t testing.TB, c *Conn, size int, term time.Duration, wait waiter) *users {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	u := &users{size: size, stop: stop, log: openLog(t, c), wait: wait}
	w, kv := openWork(t, c, 1000), openBucket(t, c)
	w.ackWait = 2 * time.Second
	u.members = joinFor(t, openMembers(t, c), "frontier", "a", term)
	joinFor(t, openMembers(t, c), "frontier", "b", term)
	o := ownOptions(t, "a")
	o.Term = term
	var err error
	u.owner, err = Own(ctx, kv, "frontier.0", o)
	check(t, err)
	run(t, u.owner)
	t.Cleanup(u.wg.Wait)
	t.Cleanup(stop)
	u.wg.Go(func() {
		_ = WatchOwners(ctx, kv, "frontier", func(m map[string]Record) { u.seen.Store(m["frontier.0"].Epoch) })
	})
	u.wg.Go(func() {
		err := u.log.Follow(ctx, Position{}, func(batch []Entry) error {
			for _, e := range batch {
				if last := u.at.Load(); e.Seq != last+1 {
					return fmt.Errorf("%d after %d", e.Seq, last)
				}
				u.at.Store(e.Seq)
				u.followed.Store(binary.BigEndian.Uint64(e.Data), true)
			}
			return nil
		})
		if err != nil {
			t.Errorf("Follow = %v", err)
		}
	})
	u.wg.Go(func() {
		for epoch := u.owner.Epoch(); ; epoch++ {
			err := w.Consume(ctx, "x.pages.0", "i-0", epoch, ConsumeOptions{}, func(_ context.Context, batch []Message) error {
				for _, m := range batch {
					u.consumed.Store(binary.BigEndian.Uint64(m.Data), true)
				}
				return nil
			})
			// The server lost sight of the consumer for a moment; owners acquire the shard again
			// then.
			if errors.Is(err, ErrFenced) {
				continue
			}
			if err != nil {
				t.Errorf("Consume = %v", err)
			}
			return
		}
	})
	publish := func(last *atomic.Uint64, send func(data []byte) error) func() {
		return func() {
			pause := time.NewTicker(10 * time.Millisecond)
			defer pause.Stop()
			for n := uint64(1); ; n++ {
				data := append(binary.BigEndian.AppendUint64(nil, n), make([]byte, u.size)...)
				if err := send(data); ctx.Err() != nil {
					return
				} else if err != nil {
					t.Errorf("number %d: %v", n, err)
					return
				}
				last.Store(n)
				<-pause.C
			}
		}
	}
	u.wg.Go(publish(&u.appended, func(data []byte) error { _, err := u.log.Append(ctx, data); return err }))
	u.wg.Go(publish(&u.sent, func(data []byte) error { return w.Send(ctx, "x.pages.0", data) }))
	u.goesOn(t, 10)
	return u
}

// goesOn waits until k more messages were appended and k more were sent, and until all other parts
// are in the expected state.
func (u *users) goesOn(t testing.TB, k uint64) {
	t.Helper()
	appended, sent := u.appended.Load()+k, u.sent.Load()+k
	contains := func(m *sync.Map, n uint64) bool { _, ok := m.Load(n); return ok }
	stuck := func() string {
		switch {
		case u.appended.Load() < appended:
			return "appending"
		case u.sent.Load() < sent:
			return "sending"
		case !contains(&u.followed, appended):
			return "following"
		case !contains(&u.consumed, sent):
			return "consuming"
		case !u.owner.Valid():
			return "owning"
		case u.seen.Load() != u.owner.Epoch():
			return "watching owners"
		}
		if l := u.members.all(); len(l) == 0 || !slices.Equal(l[len(l)-1], []string{"a", "b"}) {
			return "being a member"
		}
		return ""
	}
	u.wait(t, "that all goes on", func() bool { return stuck() == "" }, func() string {
		return fmt.Sprintf("stuck: %s (%d appended, %d sent)", stuck(), u.appended.Load(), u.sent.Load())
	})
}

// A broker is killed, stays away for longer than a term and returns, again and again. It loses no
// message that it acknowledged, nobody is blocked for ever, and nobody keeps logging problems. (The
// test first cuts the connection. The files that exist then are what the broker leaves when it is
// killed.)
func TestBrokerKilled(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		s := startServer(t, embedded.Options{Dir: dir})
		wire := newCable(t, s)
		logged := newLines()
		c := wire.dial(t, slog.New(logged))
		u := use(t, c, 100, time.Second, eventually)
		for i := range 3 {
			wire.cut()
			wire.hangUp()
			synctest.Wait()
			left := t.TempDir()
			check(t, os.CopyFS(left, os.DirFS(dir)))
			s.Shutdown()
			time.Sleep(time.Duration(i) * time.Second * 3 / 2)
			dir = left
			s = startServer(t, embedded.Options{Dir: dir})
			if s.WasClean() {
				t.Error("the broker seems to have ended in order")
			}
			wire.plug(s)
			wire.mend()
			u.goesOn(t, 20)
		}
		u.finish(t)
		for what, most := range map[string]int{
			"": 200, "the connection to NATS is lost": 6, "following the log again": 6, "consuming again": 6, "waiting": 12, "trying to reconnect": 6,
		} {
			if n := logged.count(what); n > most {
				t.Errorf("%q was logged %d times, while the broker was away thrice", what, n)
			}
		}
	})
}

// finish ends all activities and compares what was sent with what was received.
func (u *users) finish(t testing.TB) {
	t.Helper()
	u.goesOn(t, 5)
	appended, sent := u.appended.Load(), u.sent.Load()
	missing := func() (n int) {
		for i := range appended {
			if _, ok := u.followed.Load(i + 1); !ok {
				n++
			}
		}
		for i := range sent {
			if _, ok := u.consumed.Load(i + 1); !ok {
				n++
			}
		}
		return n
	}
	u.wait(t, "that all messages acknowledged arrive", func() bool { return missing() == 0 }, func() string {
		return fmt.Sprintf("%d of %d messages did not arrive", missing(), appended+sent)
	})
	if n := len(u.members.all()); n > 3 {
		t.Errorf("received lists of members %d times: %v", n, u.members.all())
	}
	u.stop()
	u.wg.Wait()
	if err := u.owner.Update(t.Context(), nil); errors.Is(err, ErrLost) {
		t.Error("the shard was lost, and there is no rival")
	}
	t.Logf("%d appended, %d sent, the log ends at %d", appended, sent, u.at.Load())
}
