package claims

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/internal/simnet/broker"
)

// If two crawls make the bucket at the same moment, and want the same host, one of them gets it.
// With a bucket that had a maximum age, and without the pause of settle, the server gave it to both
// in one of a few rounds.
func TestTheBucketIsMadeTwice(t *testing.T) {
	for range 40 {
		simnet.Test(t, func(t *testing.T) {
			srv := broker.Start(t)
			var have atomic.Int64
			var both sync.WaitGroup
			for _, name := range []crawl.Names{"a", "b"} {
				q := broker.Dial(t, srv)
				both.Go(func() {
					c, err := Open(t.Context(), q, Options{Crawl: name, Process: "of " + string(name), Log: slog.New(slog.DiscardHandler)})
					if err != nil {
						t.Error(err)
						return
					}
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					if k, _ := c.Take(ctx, host, 0, nothing); k != nil {
						have.Add(1)
					}
				})
			}
			both.Wait()
			if n := have.Load(); n != 1 {
				t.Errorf("%d crawls have the host", n)
			}
		})
	}
}
