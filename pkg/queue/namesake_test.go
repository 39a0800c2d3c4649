package queue

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Of two processes with the same name the later one ends, and the other one continues.
func TestNamesake(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		kv := openMembers(t, dial(t, startServer(t, embedded.Options{})))
		first := join(t, kv, "frontier", "a")
		other := join(t, kv, "frontier", "b")
		first.knows(t, "a", "b")
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err := Members(ctx, kv, MemberOptions{Kind: "frontier", Instance: "a", Term: term, Log: testLog(t)}, func([]string) {})
		if !errors.Is(err, ErrNamesake) {
			t.Fatalf("Members of the second a = %v", err)
		}
		first.knows(t, "a", "b")
		other.knows(t, "a", "b")
		first.leave()
		other.knows(t, "b")
		// Once the first process is gone, the name is free, even if that process did not leave in
		// order.
		if _, err := kv.Put(t.Context(), "frontier.a", []byte("dead 1")); err != nil {
			t.Fatal(err)
		}
		join(t, kv, "frontier", "a").knows(t, "a", "b")
		time.Sleep(term)
	})
}

// A delayed announcement of a dead predecessor is not taken for a namesake.
func TestNamesakeSpeaksTwice(t *testing.T) {
	n := newNamesakes()
	hear := func(value string, revision uint64, wantLater bool, want error) {
		t.Helper()
		if later, err := n.heard([]byte(value), revision); later != wantLater || !errors.Is(err, want) {
			t.Errorf("heard %q at %d = %v, %v", value, revision, later, err)
		}
	}
	hear("older 3", 9, false, nil) // before our first announcement
	hear(string(n.word()), 10, false, nil)
	hear("older 3", 11, false, nil)
	hear("older 3", 11, false, nil) // the same announcement again, from another watch
	hear("newer 0", 12, false, nil)
	hear("newer 12", 13, true, nil)
	hear("older 3", 14, false, ErrNamesake)
}
