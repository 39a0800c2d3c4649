package queue

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// A server whose disk was full could not delete acknowledged messages. After a restart it still has
// them, and its consumer counts them as acknowledged. They are delivered once more, since otherwise
// they would stay for ever and count as pending.
func TestAcknowledgedMessagesThatAreBack(t *testing.T) {
	t.Run("and nothing else", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) { settledAreBack(t, false) })
	})
	// The consumer has work from the start, and an unacknowledged message precedes the others.
	t.Run("beside others", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) { settledAreBack(t, true) })
	})
}

func settledAreBack(t *testing.T, others bool) {
	dir := t.TempDir()
	o := embedded.Options{Dir: dir}
	s := startServer(t, o)
	wire := newCable(t, s)
	c := wire.dial(t, testLog(t))
	w := openWork(t, c, 100)
	w.ackWait = 3 * time.Second

	sendN(t, w, "x.pages.0", 3)
	s.Shutdown() // so that everything is written to the files
	msgs := filepath.Join(dir, "jetstream", "$G", "streams", "x-PAGES", "msgs")
	kept := t.TempDir()
	if err := os.CopyFS(kept, os.DirFS(msgs)); err != nil {
		t.Fatal(err)
	}
	s = startServer(t, o)
	wire.plug(s)

	var mu sync.Mutex
	seen := map[uint64]int{}
	ready, refuse := 0, others
	ctx, cancel := cancelled(t)
	consumed := make(chan error, 1)
	go func() {
		consumed <- w.Consume(ctx, "x.pages.0", "i-0", 1, ConsumeOptions{Ready: func() { ready++ }}, func(_ context.Context, batch []Message) error {
			mu.Lock()
			defer mu.Unlock()
			if refuse && batch[0].Seq == 1 {
				return errors.New("not yet")
			}
			for _, m := range batch {
				seen[m.Seq]++
			}
			return nil
		})
	}()
	times := func(n int) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return (refuse || seen[1] >= 1) && seen[2] == n && seen[3] == n
		}
	}
	eventually(t, "a first delivery", times(1))
	eventually(t, "settled", func() bool {
		n, err := w.Pending(t.Context(), "x.pages.0")
		return err == nil && (n == 0 || others && n == 1)
	})

	s.Shutdown()
	if err := os.RemoveAll(msgs); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(msgs, os.DirFS(kept)); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	refuse = false
	mu.Unlock()
	if others {
		go func() { // waits for the server, like a fetcher
			_ = w.Send(ctx, "x.pages.0", []byte("another"))
		}()
	}
	wire.plug(startServer(t, o))
	eventually(t, "a second delivery", times(2))
	eventually(t, "settled", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		n, err := w.Pending(ctx, "x.pages.0")
		return err == nil && n == 0
	})
	cancel()
	if err := <-consumed; err != nil || ready != 1 {
		t.Errorf("Consume: %v, ready %d times", err, ready)
	}
}
