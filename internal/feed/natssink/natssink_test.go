package natssink

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// A stream that the sink made has the last message of each page, however often a batch came.
func TestStream(t *testing.T) { simnet.Test(t, testStream) }

func testStream(t *testing.T) {
	srv, q := broker.Open(t)
	_ = srv
	s, err := Open(Options{Subject: "curtsy.pages", Stream: "PAGES", Connect: func() (*nats.Conn, error) { return q.NC, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for range 2 {
		if err := s.Prepare(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	b := feed.Batch{Crawl: "docs", Shard: 2, Generation: 7}
	for i := range 3 {
		c := feed.Change{ID: fmt.Sprint("id", i), Version: int64(i + 1)}
		c.Row.URL = fmt.Sprint("https://a.example/", i)
		b.Changes = append(b.Changes, c)
	}
	b.Changes[2].Row.Text = strings.Repeat("x", 2<<20)
	for range 2 {
		refused, err := s.Write(ctx, b)
		if err != nil || len(refused) != 1 || refused[0].Change.ID != "id2" {
			t.Fatalf("%+v, %v", refused, err)
		}
	}
	gone := b
	gone.Changes = []feed.Change{{ID: "id0", Version: 9}}
	gone.Changes[0].Row.Removed = "http-4xx"
	if _, err := s.Write(ctx, gone); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Sweep(ctx, "docs", 2, 7), s.Sweep(ctx, "docs", 2, 7)); err != nil {
		t.Fatal(err)
	}
	stream, err := q.JS.Stream(ctx, "PAGES")
	if err != nil || stream.CachedInfo().State.Msgs != 3 {
		t.Fatalf("%+v, %v", stream.CachedInfo().State, err)
	}
	last := func(subject string) *jetstream.RawStreamMsg {
		t.Helper()
		m, err := stream.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			t.Fatal(subject, err)
		}
		return m
	}
	if m := last("curtsy.pages.2.id0"); m.Header.Get("Curtsy-Removed") != "http-4xx" || len(m.Data) != 0 {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	if m := last("curtsy.pages.2.id1"); m.Header.Get("Curtsy-Version") != "2" || !strings.HasPrefix(string(m.Data), `{"id":"id1","version":2,"url"`) {
		t.Errorf("%v %s", m.Header, m.Data)
	}
	last("curtsy.pages.2.sweep")
	other, err := Open(Options{Subject: "nobody", Connect: func() (*nats.Conn, error) { return q.NC, nil }})
	if err != nil {
		t.Fatal(err)
	}
	permanent := (*feed.Permanent)(nil)
	if err := other.Prepare(ctx, nil); !errors.As(err, &permanent) || !strings.Contains(err.Error(), "?stream=NAME") {
		t.Errorf("%v", err)
	}
}

func TestOpen(t *testing.T) {
	for _, o := range []Options{{}, {Subject: "a b"}, {Subject: "a.>"}, {Subject: "a..b"}, {Subject: strings.Repeat("x", maxSubject+1)}, {Subject: "a", Stream: "a.b"}} {
		if _, err := Open(o); err == nil {
			t.Errorf("%+v was accepted", o)
		}
	}
	if _, err := Open(Options{Subject: strings.Repeat("x", maxSubject), Stream: "A"}); err != nil {
		t.Error(err)
	}
}
