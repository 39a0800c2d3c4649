package store

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/curtsy/curtsy/internal/crawl"
)

// TestOutboxAfterACrash: a message is in the outbox until a commit after it was sent. It has the
// same number and contents when the file is opened again.
func TestOutboxAfterACrash(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	if err := errors.Join(f.Send(4, &crawl.Event{StoreLost: "a"}), f.SendPages([]crawl.Page{{URL: "http://a.example/"}}), f.Send(4, &crawl.Event{StoreLost: "b"})); err != nil {
		t.Fatal(err)
	}
	if n := len(f.CommittedOutbox()); n != 0 || f.Pending() != 3 {
		t.Errorf("%d messages are released, %d wait", n, f.Pending())
	}
	commit(t, f)
	f.MarkSent(1)
	f = reopened(t, f) // before a commit: it is sent once more
	if n := len(f.CommittedOutbox()); n != 3 {
		t.Fatalf("%d messages", n)
	}
	f.MarkSent(1)
	commit(t, f)
	f = reopened(t, f)
	out := f.CommittedOutbox()
	if len(out) != 2 || out[0].N != 2 || !out[0].Pages || out[0].Shard != 3 || out[1].N != 3 || out[1].Pages || out[1].Shard != 4 {
		t.Fatalf("%+v", out)
	}
	data, err := f.Outgoing(out[1])
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := crawl.DecodeEvent(data); err != nil || ev.StoreLost != "b" || out[1].Size != len(data) {
		t.Errorf("%+v of %d bytes: %v", ev, out[1].Size, err)
	}
	if err := f.Send(4, &crawl.Event{}); err != nil || f.Unsent[2].N != 4 {
		t.Errorf("the next message is number %d: %v", f.Unsent[2].N, err)
	}
}

// TestOutboxCapacity: too many bytes end the granting of visits until they were sent.
func TestOutboxCapacity(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	big := string(make([]byte, maxPendingBytes/2))
	for n := range 2 {
		if !f.HasCapacity() {
			t.Fatalf("no capacity with %d messages", n)
		}
		if err := f.Send(4, &crawl.Event{StoreLost: big}); err != nil {
			t.Fatal(err)
		}
	}
	if f.HasCapacity() {
		t.Error("there is capacity without end")
	}
	commit(t, f)
	f.MarkSent(1)
	if !f.HasCapacity() {
		t.Error("what was sent counts")
	}
}

// TestForwardedLinks: links for a shard become one message, as long as it is not too long.
func TestForwardedLinks(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	long := &crawl.Links{FoundOn: "http://a.example/"}
	for range 10_000 {
		long.URLs = append(long.URLs, "http://b.example/a/long/path/of/some/length")
	}
	for _, to := range []int{9, 5, 5} {
		if err := f.Forward(to, &crawl.Links{FoundOn: "http://a.example/"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := f.Forward(9, long); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, f)
	var to []int
	for _, m := range f.CommittedOutbox() {
		if to = append(to, m.Shard); m.Size > crawl.MaxEventBytes {
			t.Errorf("a message of %d bytes", m.Size)
		}
	}
	if !slices.Contains(to, 5) || !slices.IsSorted(to[len(to)-2:]) || len(to) < 3 {
		t.Errorf("messages to %v", to)
	}
}

// TestSendOutbox sends events in the order of each shard, and no pages. An error ends it.
func TestSendOutbox(t *testing.T) {
	t.Parallel()
	f := testFile(t, testPath(t), Hooks{})
	for n := range 3 {
		if err := errors.Join(f.Send(4, &crawl.Event{StoreLost: string(rune('a' + n))}), f.SendPages([]crawl.Page{{}})); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, f)
	ctx, stop := context.WithCancel(t.Context())
	var sent string
	err := f.SendOutbox(ctx, false, func(_ context.Context, shard int, data []byte) error {
		ev, err := crawl.DecodeEvent(data)
		if err != nil || shard != 4 {
			t.Errorf("to %d: %v", shard, err)
		}
		if sent += ev.StoreLost; len(sent) == 3 {
			stop()
		}
		return nil
	})
	if err != nil || sent != "abc" {
		t.Errorf("sent %q: %v", sent, err)
	}
	broken := errors.New("no broker")
	if err := f.SendOutbox(t.Context(), true, func(context.Context, int, []byte) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	if n := len(f.CommittedOutbox()); n < 3 {
		t.Errorf("%d messages are left", n)
	}
}
