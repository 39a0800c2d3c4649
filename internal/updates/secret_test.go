package updates

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// Whoever asks, and whenever, gets the same.
func TestSecretIsOne(t *testing.T) {
	t.Parallel()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	srv, err := embedded.Start(embedded.Options{Dir: t.TempDir(), MaxStore: 1 << 28, Log: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Shutdown)
	q, err := queue.Dial(t.Context(), queue.Options{InProcess: srv.InProcess(), User: srv.User(), Password: srv.Password()}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { q.Close() })
	kv, err := q.OpenBucket(t.Context(), "x-CRAWL", 0)
	if err != nil {
		t.Fatal(err)
	}
	var got [8][]byte
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			secret, err := Secret(t.Context(), kv)
			if err != nil {
				t.Error(err)
			}
			got[i] = secret
		})
	}
	wg.Wait()
	for _, secret := range got {
		if len(secret) < 16 || !bytes.Equal(secret, got[0]) {
			t.Fatalf("secrets differ: %x", got)
		}
	}
}
