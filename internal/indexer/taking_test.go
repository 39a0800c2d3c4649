package indexer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/indexer/intake"
	"github.com/curtsy/curtsy/internal/pages"
	"github.com/curtsy/curtsy/internal/simnet"
)

// newTaker starts an indexer that takes pages over, and waits until its shard is open.
func (w *world) newTaker(dir string, fault func(point string) error) *peer {
	w.t.Helper()
	x := w.peer("one", dir, Options{Embedded: true, Fault: fault}, nil)
	eventually(w.t, "open", func() bool { return len(x.ids()) == w.spec.Shards })
	w.taker = x.Indexer
	return x
}

// The process is killed at each step of storing a message, and before and after it was taken over.
// Each page whose message was taken over is stored afterwards, once.
func TestKilledWhileTakingOver(t *testing.T) {
	for _, point := range []string{"commit pages-0.db", "committed pages-0.db", "acknowledge"} {
		for nth := range 3 {
			simnet.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				var n atomic.Int32
				dead := errors.New("killed")
				var killed, armed atomic.Bool
				x := w.newTaker("", func(at string) error {
					if killed.Load() || armed.Load() && at == point && int(n.Add(1)) > nth {
						killed.Store(true)
						return dead
					}
					return nil
				})
				armed.Store(true) // opening the store has commits of its own
				safe := 0
				for ; safe < 20 && !killed.Load(); safe++ {
					w.hand(page(fmt.Sprintf("https://a.example/%d", safe), uint64(safe+1), "<p>text"))
					if safe%3 == 0 {
						synctest.Wait()
						time.Sleep(10 * time.Millisecond)
					}
				}
				if !killed.Load() {
					t.Fatalf("%s was not reached %d times", point, nth+1)
				}
				x.kill()
				x = w.newTaker(x.dir, nil)
				w.idle()
				if st := x.Status(); st.Pages != int64(safe) || st.Pending != 0 {
					t.Errorf("%s, time %d: %d pages are stored and %d pending, want %d and 0", point, nth+1, st.Pages, st.Pending, safe)
				}
			})
		}
	}
}

// A crawl that is stopped stores what it has taken over, and leaves no file of it.
func TestStoppedWhileTakingOver(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x := w.newTaker("", nil)
		s := x.ownShards()[0]
		s.put = func(batch []pages.Page) (pages.Result, error) {
			time.Sleep(time.Second) // so that the others wait
			return s.store.Put(batch)
		}
		for i := range 200 {
			w.hand(page(fmt.Sprintf("https://a.example/%d", i), 1, "<p>text"))
		}
		x.stop()
		store, err := pages.OpenReadOnly(x.dir + "/pages-0.db")
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		if n := store.Stats().Pages; n != 200 {
			t.Errorf("%d pages are stored, want 200", n)
		}
		if all, err := os.ReadDir(x.dir); err != nil || strings.Contains(fmt.Sprint(all), "intake") {
			t.Errorf("files: %v, %v", all, err)
		}
	})
}

// While the disk has too little space, and before the shard is open, a message waits for as long as
// its context.
func TestTakingOverWaits(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x := w.newTaker("", nil)
		msg := crawl.AppendPages(nil, []crawl.Page{page("https://a.example/", 1, "<p>text")})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		x.setFull(errors.New("too little space"))
		if err := x.TakePages(ctx, 0, msg); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "too little space") {
			t.Errorf("with too little space: %v", err)
		}
		taken := make(chan error, 1)
		go func() { taken <- x.TakePages(t.Context(), 0, msg) }()
		synctest.Wait()
		select {
		case err := <-taken:
			t.Fatalf("taken with too little space: %v", err)
		default:
		}
		x.setFull(nil)
		if err := <-taken; err != nil {
			t.Error(err)
		}
		w.idle()
		x.stop()
		if err := x.TakePages(ctx, 0, msg); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after the end: %v", err)
		}
	})
}

// A message that cannot be read is dropped; one of a newer version stops the indexer and stays.
func TestMessagesThatCannotBeRead(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		x := w.newTaker("", nil)
		if err := x.TakePages(t.Context(), 0, []byte("no message")); err != nil {
			t.Fatal(err)
		}
		w.hand(page("https://a.example/", 1, "<p>text"))
		w.idle()
		if n := x.Status().Pages; n != 1 {
			t.Errorf("%d pages", n)
		}
		if err := x.TakePages(t.Context(), 0, []byte{0x08, 0x7f}); err != nil { // version 127
			t.Fatal(err)
		}
		if <-x.done; !errors.Is(x.err, crawl.ErrVersion) {
			t.Errorf("the indexer ends with %v", x.err)
		}
		in, err := intake.Open(x.dir, 0, 0, x.log)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if n := in.Pending(); n == 0 {
			t.Error("the message of a newer version is lost")
		}
	})
}
