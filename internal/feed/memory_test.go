package feed_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/curtsy/curtsy/internal/feed"
	"github.com/curtsy/curtsy/internal/simnet"
)

// Sinks that do not answer take all of the memory that feeds share. Another feed goes on.
func TestSilentSinksStopNoOther(t *testing.T) { simnet.Test(t, testSilentSinks) }

func testSilentSinks(t *testing.T) {
	w, c := opened(t)
	defer c.Close()
	memory, silent := feed.NewMemory(), make(chan struct{})
	start := func(name string, write func(b feed.Batch) ([]feed.Refused, error)) *feed.Feeder {
		o := w.o
		o.Name, o.Dead, o.Memory = name, filepath.Join(w.dir, name), memory
		f, err := feed.New(c, w.spec, fake{write}, o)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var waiting atomic.Int64
	for _, name := range []string{"a", "b"} {
		f := start(name, func(feed.Batch) ([]feed.Refused, error) {
			waiting.Add(1)
			<-silent
			return nil, ctx.Err()
		})
		running.Go(func() { _ = f.Run(ctx) })
	}
	synctest.Wait()
	if n := int(waiting.Load()); len(memory) != cap(memory) || n < cap(memory)+1 {
		t.Errorf("%d batches wait, so that not all of the memory is taken", n)
	}
	var sent atomic.Int64
	f := start("c", func(b feed.Batch) ([]feed.Refused, error) {
		sent.Add(int64(len(b.Changes)))
		return nil, nil
	})
	if err := f.Run(t.Context()); err != nil || sent.Load() != 5 {
		t.Errorf("%v, %d sent", err, sent.Load())
	}
	stop()
	close(silent)
	running.Wait()
}
