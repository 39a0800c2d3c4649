package asker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/internal/service"
	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// A crawl that is being created has a bucket, and no spec yet: whoever looks for it waits a moment.
// Should none come, that is said, and not that there is no such crawl.
func TestDialACrawlThatIsStarting(t *testing.T) {
	simnet.Test(t, func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), Log: log})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Shutdown()
		o := queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}
		q, err := queue.Dial(t.Context(), o, log)
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		kv, err := q.OpenBucket(t.Context(), crawl.Names("docs").Bucket(), 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Dial(t.Context(), o, "docs", log); err == nil || !strings.Contains(err.Error(), "starting") || !strings.Contains(err.Error(), "curtsy seed") {
			t.Errorf("without a spec: %v, want it said that the crawl may be starting, and what to type", err)
		}
		if _, err := Dial(t.Context(), o, "other", log); err == nil || !strings.Contains(err.Error(), `no crawl "other"`) {
			t.Errorf("without a bucket: %v, want it said that there is none", err)
		}
		found := make(chan error, 1)
		go func() {
			c, err := Dial(t.Context(), o, "docs", log)
			if err == nil {
				err = c.Close()
			}
			found <- err
		}()
		time.Sleep(100 * time.Millisecond)
		if _, err := service.ChangeSpec(t.Context(), kv, func(*crawl.Spec) (crawl.Spec, error) { return crawl.Spec{Name: "docs", Shards: 1}, nil }); err != nil {
			t.Fatal(err)
		}
		if err := <-found; err != nil {
			t.Errorf("with a spec that comes meanwhile: %v", err)
		}
	})
}
