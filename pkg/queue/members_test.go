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

// joined is a member and what it was told.
type joined struct {
	leave func() // in order

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

// knows waits until these are the members.
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
		join(t, kv, "indexer", "i").knows(t, "i") // another kind
		c := join(t, kv, "frontier", "c")
		b := join(t, kv, "frontier", "b")
		for _, j := range []*joined{a, b, c} {
			j.knows(t, "a", "b", "c")
		}
		if first := b.all()[0]; !slices.Contains(first, "b") {
			t.Errorf("b was told of %v, and is not among them", first)
		}
		n := len(a.all())
		time.Sleep(2 * term) // they only say that they are there
		if all := a.all(); len(all) != n {
			t.Errorf("told again, although nobody came or went: %v", all[n:])
		}
		b.leave()
		a.knows(t, "a", "c")
		// Nobody waits a term for that.
		x, y := joinFor(t, kv, "other", "x", 2*within), joinFor(t, kv, "other", "y", 2*within)
		x.knows(t, "x", "y")
		y.leave()
		x.knows(t, "x")
		join(t, kv, "frontier", "b")
		c.knows(t, "a", "b", "c")
	})
}

// Someone who dies leaves no word, and is gone about a term later.
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

// Who is cut off hears nobody, and does not take that for being alone. When it is
// back, nobody was gone.
func TestMembersCutOff(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		s := startServer(t, embedded.Options{})
		wire := newCable(t, s)
		near := join(t, openMembers(t, dial(t, s)), "frontier", "near")
		far := join(t, openMembers(t, wire.dial(t, testLog(t))), "frontier", "far")
		far.knows(t, "far", "near")
		near.knows(t, "far", "near")
		told := len(far.all())
		wire.cut()
		near.knows(t, "near")
		time.Sleep(2 * term)
		wire.mend()
		near.knows(t, "far", "near")
		time.Sleep(2 * term)
		if all := far.all(); len(all) != told {
			t.Errorf("the one cut off was told %v", all[told:])
		}
	})
}

// The broker away for long, or without its store when it comes back: nobody was gone, and everybody
// still hears everybody.
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
		kv := openMembers(t, c) // sequences begin at 1 again
		for _, j := range js {
			if all := j.all(); len(all) > 2 || !slices.Equal(all[len(all)-1], []string{"a", "b"}) {
				t.Errorf("told of others although nobody went: %v", all)
			}
		}
		third := join(t, kv, "frontier", "c")
		for _, j := range append(js, third) {
			j.knows(t, "a", "b", "c")
		}
	})
}

// The words as they come, without a broker: who is silent, and who only seems so.
func TestMemberListJudgesByOurOwnWords(t *testing.T) {
	const T = 9 * time.Second
	var told [][]string
	m := &memberList{
		o:     MemberOptions{Kind: "k", Instance: "me", Term: T},
		words: map[string]word{}, changed: func(l []string) { told = append(told, l) },
	}
	var revision uint64
	hear := func(name string, at time.Duration) {
		revision++
		m.hear(name, revision, at)
	}
	at := func(now time.Duration, want ...string) {
		t.Helper()
		m.tell(now)
		if len(told) == 0 && want != nil || len(told) > 0 && !slices.Equal(told[len(told)-1], want) {
			t.Errorf("at %v: told %v, want %v last", now, told, want)
		}
	}
	const s = time.Second
	hear("x", 0)
	at(0) // we are not in yet
	hear("me", 1*s)
	at(1*s, "me", "x")
	// Nobody is heard for a minute, a leader is being elected. Then we are, first.
	hear("me", 61*s)
	at(61*s, "me", "x")
	m.hear("x", 1, 61*s) // shown again by a new watch, not said again
	hear("me", 64*s)
	at(64*s, "me", "x")
	hear("me", 67*s) // the fourth since x's
	at(67*s, "me")
	hear("x", 71*s)
	at(71*s, "me", "x")
	// Quick words of our own, as after failed ones, make nobody silent.
	for i := range 8 {
		hear("me", 72*s+time.Duration(i)*s/10)
	}
	at(73*s, "me", "x")
	// Without our own word nobody is silent either.
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
