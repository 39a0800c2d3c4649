package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

func openMembers(t testing.TB, c *Conn) jetstream.KeyValue {
	t.Helper()
	kv, err := c.OpenMembers(t.Context(), "x-MEMBERS", 0)
	if err != nil {
		t.Fatal(err)
	}
	return kv
}

// joined is a member together with the lists that it received.
type joined struct {
	leave func() // leaves in order

	mu    sync.Mutex
	lists [][]string
}

func join(t testing.TB, kv jetstream.KeyValue, kind, name string) *joined {
	t.Helper()
	return joinFor(t, kv, kind, name, term)
}

func joinFor(t testing.TB, kv jetstream.KeyValue, kind, name string, term time.Duration) *joined {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	j := new(joined)
	done := make(chan error, 1)
	go func() {
		done <- Members(ctx, kv, MemberOptions{Kind: kind, Instance: name, Term: term, Log: testLog(t)}, func(members []string) {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.lists = append(j.lists, members)
		})
	}()
	j.leave = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Members = %v", err)
		}
	})
	t.Cleanup(j.leave)
	return j
}

func (j *joined) all() [][]string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.lists)
}

// knows waits until exactly these members are known.
func (j *joined) knows(t testing.TB, members ...string) {
	t.Helper()
	eventually(t, fmt.Sprint("members ", members), func() bool {
		all := j.all()
		return len(all) > 0 && slices.Equal(all[len(all)-1], members)
	})
}

func TestMembersComeAndGo(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openMembers(t, dial(t, startServer(t, embedded.Options{})))
		a := join(t, kv, "frontier", "a")
		a.knows(t, "a")
		join(t, kv, "indexer", "i").knows(t, "i") // a member of another kind
		c := join(t, kv, "frontier", "c")
		b := join(t, kv, "frontier", "b")
		for _, j := range []*joined{a, b, c} {
			j.knows(t, "a", "b", "c")
		}
		if first := b.all()[0]; !slices.Contains(first, "b") {
			t.Errorf("b received %v and is missing from it", first)
		}
		n := len(a.all())
		time.Sleep(2 * term) // only announcements arrive
		if all := a.all(); len(all) != n {
			t.Errorf("received again, although nobody joined or left: %v", all[n:])
		}
		b.leave()
		a.knows(t, "a", "c")
		// The term is so long that both would time out if they waited for it.
		x, y := joinFor(t, kv, "other", "x", 2*within), joinFor(t, kv, "other", "y", 2*within)
		x.knows(t, "x", "y")
		y.leave()
		x.knows(t, "x")
		join(t, kv, "frontier", "b")
		c.knows(t, "a", "b", "c")
	})
}

// A member that dies without leaving is gone about a term later.
func TestMembersSilent(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		kv := openMembers(t, dial(t, s))
		a := join(t, kv, "frontier", "a")
		dies := dial(t, s)
		join(t, openMembers(t, dies), "frontier", "b")
		a.knows(t, "a", "b")
		died := time.Now()
		dies.Close()
		a.knows(t, "a")
		if d := time.Since(died); d < term*2/3 {
			t.Errorf("gone after %v of silence, a term is %v", d, term)
		}
	})
}

// A member that is cut off receives no announcements, but does not conclude that it is alone. When
// it is connected again, nobody was reported as gone.
func TestMembersCutOff(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		near := join(t, openMembers(t, dial(t, s)), "frontier", "near")
		far := join(t, openMembers(t, wire.dial(t, testLog(t))), "frontier", "far")
		far.knows(t, "far", "near")
		near.knows(t, "far", "near")
		before := len(far.all())
		wire.cut()
		near.knows(t, "near")
		time.Sleep(2 * term)
		wire.mend()
		near.knows(t, "far", "near")
		time.Sleep(2 * term)
		if all := far.all(); len(all) != before {
			t.Errorf("the member that was cut off received %v", all[before:])
		}
	})
}

// The broker is away for long, or returns without its store. Nobody is reported as gone, and all
// members still receive the announcements of all others.
func TestMembersOutliveTheBroker(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		var js []*joined
		for _, name := range []string{"a", "b"} {
			js = append(js, join(t, openMembers(t, wire.dial(t, testLog(t))), "frontier", name))
		}
		for _, j := range js {
			j.knows(t, "a", "b")
		}
		for range 2 {
			if err := s.Restart(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * term)
		}
		c := dial(t, s)
		if err := c.JS.DeleteStream(t.Context(), "KV_x-MEMBERS"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * term)
		kv := openMembers(t, c) // sequence numbers start at 1 again
		for _, j := range js {
			if all := j.all(); len(all) > 2 || !slices.Equal(all[len(all)-1], []string{"a", "b"}) {
				t.Errorf("received other lists although nobody left: %v", all)
			}
		}
		third := join(t, kv, "frontier", "c")
		for _, j := range append(js, third) {
			j.knows(t, "a", "b", "c")
		}
	})
}

// This test passes announcements to memberList directly, without a broker. It checks who counts as
// silent.
func TestMemberListCountsOurOwnAnnouncements(t *testing.T) {
	const T = 9 * time.Second
	var lists [][]string
	m := &memberList{
		o:     MemberOptions{Kind: "k", Instance: "me", Term: T},
		words: map[string]word{}, changed: func(l []string) { lists = append(lists, l) },
	}
	var revision uint64
	hear := func(name string, at time.Duration) {
		revision++
		m.hear(name, revision, at)
	}
	at := func(now time.Duration, want ...string) {
		t.Helper()
		m.tell(now)
		if len(lists) == 0 && want != nil || len(lists) > 0 && !slices.Equal(lists[len(lists)-1], want) {
			t.Errorf("at %v: received %v, want %v last", now, lists, want)
		}
	}
	const s = time.Second
	hear("x", 0)
	at(0) // our own announcement has not arrived yet
	hear("me", 1*s)
	at(1*s, "me", "x")
	// No announcement arrives for a minute, because a leader is being elected. Then ours arrives
	// first.
	hear("me", 61*s)
	at(61*s, "me", "x")
	m.hear("x", 1, 61*s) // delivered again by a new watch, not announced again
	hear("me", 64*s)
	at(64*s, "me", "x")
	hear("me", 67*s) // the fourth since the last announcement of x
	at(67*s, "me")
	hear("x", 71*s)
	at(71*s, "me", "x")
	// Many announcements of our own in a short time, as after failed attempts, do not make others
	// count as silent.
	for i := range 8 {
		hear("me", 72*s+time.Duration(i)*s/10)
	}
	at(73*s, "me", "x")
	// While our own announcement does not arrive, nobody counts as silent.
	at(100*s, "me", "x")
}

func TestMemberOptions(t *testing.T) {
	if err := Members(t.Context(), nil, MemberOptions{Kind: "k"}, nil); err == nil {
		t.Error("Members without an instance")
	}
	if err := Members(t.Context(), nil, MemberOptions{Instance: "a"}, nil); err == nil {
		t.Error("Members without a kind")
	}
}
