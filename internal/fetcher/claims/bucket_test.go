package claims

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
	"github.com/curtsy/curtsy/pkg/canon"
	"github.com/curtsy/curtsy/pkg/queue"
)

func connect(t testing.TB) *queue.Conn {
	t.Helper()
	_, q := broker.Open(t)
	return q
}

// A real server refuses a write that is not based on the latest revision, and stores what was
// written.
func TestBucket(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		q := connect(t)
		s, err := openBucket(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		if r, revision, err := s.read(ctx, "h.a.example"); err != nil || revision != 0 || r.Held {
			t.Errorf("nothing was read as %+v, revision %d, %v", r, revision, err)
		}
		want := record{Crawl: "a", Process: "p", Number: 3, Held: true, Pause: time.Second, Want: []crawl.Names{"b"}}
		first, err := s.write(ctx, "h.a.example", want, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.write(ctx, "h.a.example", want, 0); err != errChanged {
			t.Errorf("a second first writing: %v", err)
		}
		if _, err := s.write(ctx, "h.b.example", want, 0); err != nil {
			t.Error(err)
		}
		second, err := s.write(ctx, "h.a.example", want, first)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.write(ctx, "h.a.example", record{}, first); err != errChanged {
			t.Errorf("a writing that came too late: %v", err)
		}
		r, revision, err := s.read(ctx, "h.a.example")
		if err != nil || revision != second || fmt.Sprint(r) != fmt.Sprint(want) {
			t.Errorf("read %+v of revision %d, %v", r, revision, err)
		}
	})
}

// Crawls take turns on a real server, too.
func TestClaimsOnAServer(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		q := connect(t)
		var both [2]*Claims
		for i, name := range []crawl.Names{"a", "b"} {
			var err error
			if both[i], err = Open(t.Context(), q, Options{Crawl: name, Process: "of " + string(name), Log: slog.New(slog.DiscardHandler)}); err != nil {
				t.Fatal(err)
			}
		}
		const rest = 100 * time.Millisecond
		var last time.Time
		for i := range 6 {
			k, wait := both[i%2].Take(t.Context(), host, 0, nothing)
			if k == nil {
				t.Fatalf("no claim; ask again in %v", wait)
			}
			if gap := time.Since(last); gap < rest {
				t.Errorf("visit %d came after %v", i, gap)
			}
			if lease, _ := k.Hold(t.Context()); !lease.Alive() {
				t.Errorf("visit %d may ask for nothing", i)
			}
			last = time.Now()
			k.Release(t.Context(), last.Add(rest))
		}
	})
}

// The bucket has the capacity that docs/guides/several-machines.md names.
func TestRoom(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		q := connect(t)
		c, err := Open(t.Context(), q, Options{Crawl: "some-crawl", Process: strings.Repeat("P", 26), Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		const hosts = 100
		for i := range hosts {
			k, _ := c.Take(t.Context(), canon.Host(fmt.Sprintf("www.quite-some-name-%d.example.org", i)), 0, nothing)
			if k == nil {
				t.Fatal("no claim")
			}
			k.Hold(t.Context())
			k.Release(t.Context(), time.Now().Add(time.Second))
		}
		info, err := q.JS.Stream(t.Context(), "KV_"+crawl.HostsBucket)
		if err != nil {
			t.Fatal(err)
		}
		state := info.CachedInfo()
		t.Logf("%d bytes a host", state.State.Bytes/hosts)
		if n := crawl.HostsBucketBytes / (state.State.Bytes / hosts); state.State.Msgs != hosts || n < 100_000 {
			t.Errorf("%d messages; room for %d hosts", state.State.Msgs, n)
		}
	})
}

// The cost of a claim for a visit, on a server in the same process that need not sync.
func BenchmarkVisit(b *testing.B) {
	q := connect(b)
	c, err := Open(b.Context(), q, Options{Crawl: "a", Process: "p", Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		k, _ := c.Take(b.Context(), host, 0, nothing)
		if k == nil {
			b.Fatal("no claim")
		}
		k.Hold(b.Context())
		k.Release(b.Context(), time.Now())
	}
}
