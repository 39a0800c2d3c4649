package updates

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/simnet"
	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/curtsy/curtsy/pkg/queue/embedded"
)

// All callers get the same secret at all times. A secret in the crawl's bucket, which fetchers
// read, is moved and removed from there.
func TestSecretIsOne(t *testing.T) {
	t.Run("new", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) { testSecretIsOne(t, nil) })
	})
	t.Run("from the crawl's bucket", func(t *testing.T) {
		simnet.Test(t, func(t *testing.T) { testSecretIsOne(t, NewSecret()) })
	})
}

func testSecretIsOne(t *testing.T, old []byte) {
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
	secrets, err := q.OpenSmallBucket(t.Context(), "x-SECRET")
	if err != nil {
		t.Fatal(err)
	}
	if old != nil {
		if _, err := kv.Put(t.Context(), secretKey, old); err != nil {
			t.Fatal(err)
		}
	}
	// A replica that is behind the others reports for a while that there is none.
	defer func() {
		first, err := Secret(t.Context(), secrets, kv)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Secret(t.Context(), &behind{KeyValue: secrets, gets: 2}, kv)
		if err != nil || !bytes.Equal(first, again) {
			t.Errorf("%x from a replica that is behind, %x else: %v", again, first, err)
		}
	}()
	// In a cluster, another frontier may be writing at the same time.
	if _, err := Secret(t.Context(), &overtaken{KeyValue: secrets}, kv); err != nil {
		t.Errorf("who was overtaken by another frontier: %v", err)
	}
	var got [8][]byte
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			secret, err := Secret(t.Context(), secrets, kv)
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
		if old != nil && !bytes.Equal(secret, old) {
			t.Fatalf("another secret than the one of the published addresses")
		}
	}
	if _, err := kv.Get(t.Context(), secretKey); !errors.Is(err, jetstream.ErrKeyNotFound) {
		t.Errorf("it can be read by fetchers: %v", err)
	}
}

// behind is a bucket that answers the first gets as if it were empty.
type behind struct {
	jetstream.KeyValue
	gets int
}

func (b *behind) Get(ctx context.Context, key string) (jetstream.KeyValueEntry, error) {
	if b.gets--; b.gets >= 0 {
		return nil, jetstream.ErrKeyNotFound
	}
	return b.KeyValue.Get(ctx, key)
}

// overtaken refuses the first write with the error of a cluster in which another write is under
// way.
type overtaken struct {
	jetstream.KeyValue
	refused bool
}

func (b *overtaken) Create(ctx context.Context, key string, value []byte, opts ...jetstream.KVCreateOpt) (uint64, error) {
	if !b.refused {
		b.refused = true
		return 0, &jetstream.APIError{Code: 400, ErrorCode: 10164, Description: "wrong last sequence"}
	}
	return b.KeyValue.Create(ctx, key, value, opts...)
}
