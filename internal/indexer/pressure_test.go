package indexer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
)

// hostOf is a host of a shard.
func (w *world) hostOf(shard int) string {
	for i := 0; ; i++ {
		p := page(fmt.Sprintf("https://n%d.example/", i), 1, "")
		if crawl.ShardOf(p.URL.Host(), w.spec.Shards) == shard {
			return string(p.URL.Host())
		}
	}
}

// A shard whose indexer is down fills its share of the queue. Only publishers for this shard have
// to wait. When it has an owner again, everything is stored.
func TestFullShardStopsNobodyElse(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		var err error
		w.work, err = w.q.OpenWork(t.Context(), queue.WorkConfig{Stream: "test-PAGES", Subjects: []string{"test.pages.0", "test.pages.1"}, MaxMsgsPerSubject: 8})
		if err != nil {
			t.Fatal(err)
		}
		a, b := w.peer("one", "", Options{}, nil), w.peer("two", "", Options{}, nil)
		w.holders(1, a, b)
		alive, dead := a.ids()[0], b.ids()[0]
		b.kill()
		f := &feeder{w: w, stop: func() {}, last: map[string]string{}}
		handed := make(chan struct{})
		var n atomic.Int32
		go func() {
			defer close(handed)
			for i := range 30 {
				f.hand(fmt.Sprintf("https://%s/%d", w.hostOf(dead), i), 1)
				n.Add(1)
			}
		}()
		eventually(t, "the shard without owner is full", func() bool { return w.q.Waiting()[fmt.Sprintf("test.pages.%d", dead)] != "" })
		for i := range 200 {
			f.hand(fmt.Sprintf("https://%s/%d", w.hostOf(alive), i), 1)
		}
		eventually(t, "the neighbour goes on", func() bool { return a.Status().Pages == 200 })
		if n := n.Load(); n != 8 {
			t.Errorf("%d messages wait for the shard without owner, want 8", n)
		}
		b = w.peer("two", b.dir, Options{}, nil)
		<-handed
		w.complete(f, a, b)
	})
}

// bothCarriers runs a test with pages that travel through NATS, and with pages that are taken over
// in the same process.
func bothCarriers(t *testing.T, test func(t *testing.T, taken bool)) {
	for name, taken := range map[string]bool{"NATS": false, "taken over": true} {
		t.Run(name, func(t *testing.T) {
			simnet.Test(t, func(t *testing.T) { test(t, taken) })
		})
	}
}

// A page that cannot be stored is given up at its fifth delivery and reported. The other pages of
// its message and the other messages of its batch are stored.
func TestPageThatCannotBeStored(t *testing.T) {
	bothCarriers(t, func(t *testing.T, taken bool) {
		w := newWorld(t, 1)
		bad := "https://a.example/bad"
		x := w.peer("one", "", Options{Embedded: true}, nil, func(x *Indexer) { x.retry = 20 * time.Millisecond })
		eventually(t, "held", func() bool { return len(x.ids()) == 1 })
		s := x.ownShards()[0]
		if taken {
			w.taker = x.Indexer
		}
		s.put = func(batch []pages.Page) (pages.Result, error) {
			for _, p := range batch {
				if string(p.URL) == bad {
					return pages.Result{}, errors.New("this page makes the store fail")
				}
			}
			return s.store.Put(batch)
		}
		for i := range 63 {
			w.hand(page(fmt.Sprintf("https://a.example/%d", i), 1, "<p>good"))
		}
		w.hand(page("https://a.example/before", 1, "<p>good"), page(bad, 1, "<p>bad"), page("https://a.example/after", 1, "<p>good"))
		w.idle()
		if n := x.Status().Pages; n != 65 {
			t.Errorf("%d pages stored, want 65", n)
		}
		if got := w.events(0, func(ev *crawl.Event) []string { return ev.StoreFailed }); len(got) != 1 || got[0] != bad {
			t.Errorf("StoreFailed %v", got)
		}
		if n := testutil.ToFloat64(x.metrics.failed); n != 1 {
			t.Errorf("curtsy_indexer_pages_failed_total = %v", n)
		}
	})
}

// A full disk costs no page, however long it lasts.
func TestDiskFullForLong(t *testing.T) {
	bothCarriers(t, func(t *testing.T, taken bool) {
		w := newWorld(t, 1)
		x := w.peer("one", "", Options{Embedded: true}, nil, func(x *Indexer) { x.retry = 20 * time.Millisecond })
		eventually(t, "held", func() bool { return len(x.ids()) == 1 })
		s := x.ownShards()[0]
		if taken {
			w.taker = x.Indexer
		}
		var full atomic.Bool
		var tries atomic.Int32
		full.Store(true)
		s.put = func(batch []pages.Page) (pages.Result, error) {
			if full.Load() {
				tries.Add(1)
				return pages.Result{}, fmt.Errorf("write: %w", pages.ErrNoSpace)
			}
			return s.store.Put(batch)
		}
		w.hand(page("https://a.example/", 1, "<p>kept"))
		eventually(t, "tried often", func() bool { return tries.Load() > 5 })
		if st := x.Status(); !strings.Contains(st.Paused, "too little space") || st.Pending != 1 {
			t.Errorf("status %+v", st)
		}
		full.Store(false)
		w.idle()
		if st := x.Status(); st.Paused != "" || st.Pages != 1 {
			t.Errorf("status %+v", st)
		}
		if got := w.events(0, func(ev *crawl.Event) []string { return ev.StoreFailed }); len(got) != 0 {
			t.Errorf("StoreFailed %v", got)
		}
	})
}

// Below the minimum of free space nothing is stored and no shard is taken over. Stored pages stay
// and are served, and it continues by itself.
func TestDiskFloor(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x := w.peer("one", "", Options{}, nil)
		f := w.fill(5)
		x.setFull(errors.New("the disk has little room"))
		time.Sleep(50 * time.Millisecond)
		f.hand("https://a.example/late", 1)
		other := w.peer(winner("one"), "", Options{MinFree: 1 << 62}, nil)
		time.Sleep(3 * peerTerm)
		if st := x.Status(); st.Pages != 5 || st.Pending != 1 || st.Paused != "the disk has little room" {
			t.Errorf("below the floor: %+v", st)
		}
		if n := len(asked[any](w, "pages", nil)); n != 5 {
			t.Errorf("%d pages answered", n)
		}
		if st := other.Status(); len(st.Shards) != 0 || !strings.Contains(st.Paused, "--min-free") {
			t.Errorf("without room from the start: %+v", st)
		}
		x.setFull(nil)
		w.complete(f, x)
	})
}

// An indexer that was fenced after it received a page cannot acknowledge it: the page belongs to
// its successor.
func TestLateAcknowledgement(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x := w.peer("one", "", Options{}, nil)
		eventually(t, "held", func() bool { return len(x.ids()) == 1 })
		s := x.ownShards()[0]
		storing, store := make(chan struct{}), make(chan struct{})
		s.put = func(batch []pages.Page) (pages.Result, error) {
			close(storing)
			<-store
			return s.store.Put(batch)
		}
		w.hand(page("https://a.example/", 1, "<p>whose"))
		<-storing
		kv, err := w.q.OpenBucket(t.Context(), "test-CRAWL", 0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := kv.Get(t.Context(), "indexer.0")
		if err != nil {
			t.Fatal(err)
		}
		var epoch uint64
		if _, err := fmt.Sscanf(string(e.Value()), `{"epoch":%d`, &epoch); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		got := make(chan queue.Message, 1)
		successor := make(chan error, 1)
		keep := make(chan struct{})
		go func() {
			successor <- w.work.Consume(ctx, "test.pages.0", "indexer-0", epoch+1, queue.ConsumeOptions{}, func(_ context.Context, batch []queue.Message) error {
				got <- batch[0]
				<-keep
				return nil
			})
		}()
		<-got // the successor has the page, not yet stored
		close(store)
		eventually(t, "stored by the one that was fenced", func() bool { return x.ownShards() == nil || s.store.Stats().Pages == 1 })
		time.Sleep(200 * time.Millisecond) // its acknowledgement is on the way
		if n, err := w.work.Pending(t.Context(), "test.pages.0"); n != 1 || err != nil {
			t.Errorf("%d messages pending, %v: the late acknowledgement counted", n, err)
		}
		close(keep)
		w.idle()
		cancel()
		<-successor
	})
}
