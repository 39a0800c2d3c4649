package queue

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// users is everything a crawl does with the queue, all at once: appending and following, sending
// and consuming, owning, watching owners, being a member.
type users struct {
	size               int // of messages
	appended, sent     atomic.Uint64
	followed, consumed sync.Map // number → true
	at                 atomic.Uint64
	owner              *Ownership
	seen               atomic.Uint64 // epoch the watch shows
	members            *joined
	log                *Log

	stop context.CancelFunc
	wg   sync.WaitGroup
}

func use(t testing.TB, c *Conn, size int, term time.Duration) *users {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	u := &users{size: size, stop: stop, log: openLog(t, c)}
	w, kv := openWork(t, c, 1000), openBucket(t, c)
	w.ackWait = 2 * time.Second
	u.members = joinFor(t, openMembers(t, c), "frontier", "a", term)
	joinFor(t, openMembers(t, c), "frontier", "b", term)
	o := ownOptions(t, "a")
	o.Term = term
	u.owner = own(t, kv, o)
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
			// a server that lost sight of the consumer for a moment; owners take
			// the shard anew then
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
			for n := uint64(1); ; n++ {
				data := append(binary.BigEndian.AppendUint64(nil, n), make([]byte, u.size)...)
				if err := send(data); ctx.Err() != nil {
					return
				} else if err != nil {
					t.Errorf("number %d: %v", n, err)
					return
				}
				last.Store(n)
				time.Sleep(time.Millisecond)
			}
		}
	}
	u.wg.Go(publish(&u.appended, func(data []byte) error { _, err := u.log.Append(ctx, data); return err }))
	u.wg.Go(publish(&u.sent, func(data []byte) error { return w.Send(ctx, "x.pages.0", data) }))
	u.goesOn(t, 10)
	return u
}

// goesOn waits until k more were appended and as many sent, and everything else is as it should be.
func (u *users) goesOn(t testing.TB, k uint64) {
	t.Helper()
	appended, sent := u.appended.Load()+k, u.sent.Load()+k
	held := func(m *sync.Map, n uint64) bool { _, ok := m.Load(n); return ok }
	stuck := func() string {
		switch {
		case u.appended.Load() < appended:
			return "appending"
		case u.sent.Load() < sent:
			return "sending"
		case !held(&u.followed, appended):
			return "following"
		case !held(&u.consumed, sent):
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
	for end := time.Now().Add(3 * within); stuck() != ""; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("stuck: %s (%d appended, %d sent)", stuck(), u.appended.Load(), u.sent.Load())
		}
	}
}

// A broker that is killed, stays away for longer than a term and comes back, again and again, loses
// nothing that it acknowledged, and nobody is stuck or keeps on complaining.
func TestBrokerKilled(t *testing.T) {
	t.Parallel()
	o := node{Dir: t.TempDir(), Port: freePort(t)}
	broker := o.start()
	t.Cleanup(func() { kill(broker) })
	said := newLines()
	var c *Conn
	eventually(t, "the broker", func() (ok bool) {
		var err error
		c, err = Dial(t.Context(), Options{URL: fmt.Sprint("nats://127.0.0.1:", o.Port), User: "u", Password: "p"}, slog.New(said))
		return err == nil
	})
	t.Cleanup(func() { c.Close() })
	u := use(t, c, 100, time.Second)
	for i := range 3 {
		kill(broker)
		time.Sleep(time.Duration(i) * time.Second * 3 / 2)
		broker = o.start()
		u.goesOn(t, 20)
	}
	u.finish(t)
	for what, most := range map[string]int{
		"": 200, "connection to NATS lost": 6, "following the log again": 6, "consuming again": 6, "waiting": 12, "trying again until it is back": 6,
	} {
		if n := said.count(what); n > most {
			t.Errorf("%q was said %d times, while the broker was away thrice", what, n)
		}
	}
}

// finish ends it and compares.
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
	for end := time.Now().Add(within); missing() > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("%d of %d messages acknowledged did not arrive", missing(), appended+sent)
			break
		}
	}
	if n := len(u.members.all()); n > 3 {
		t.Errorf("told of members %d times: %v", n, u.members.all())
	}
	u.stop()
	u.wg.Wait()
	if err := u.owner.Update(t.Context(), nil); errors.Is(err, ErrLost) {
		t.Error("the shard was lost, and there is no rival")
	}
	t.Logf("%d appended, %d sent, the log ends at %d", appended, sent, u.at.Load())
}
