package updates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// secretKey is the key of a crawl's secret in the bucket of secrets. Earlier it was in the crawl's
// own bucket, under the same key.
const secretKey = "updates-secret"

// Secret returns the secret of a crawl's Addresses. The first caller makes it, and all get the
// same. It is stored in secrets, a bucket that only frontiers may read. If it is still in crawl,
// which fetchers read too, it is moved, because sites have addresses made with it.
func Secret(ctx context.Context, secrets, crawl jetstream.KeyValue) ([]byte, error) {
	secret, err := secretIn(ctx, secrets, crawl)
	if err != nil {
		return nil, fmt.Errorf("the secret of report addresses: %w", err)
	}
	return secret, nil
}

// After a restart, a replica of a bucket may be behind its leader for as long as a server takes to
// start.
const (
	replicaTries = 150
	replicaPause = 200 * time.Millisecond
)

// purgeIf removes the secret from its former place, if it was there.
func purgeIf(ctx context.Context, crawl jetstream.KeyValue, old jetstream.KeyValueEntry) error {
	if old == nil {
		return nil
	}
	return crawl.Purge(ctx, secretKey)
}

func secretIn(ctx context.Context, secrets, crawl jetstream.KeyValue) ([]byte, error) {
	old, err := crawl.Get(ctx, secretKey)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	for range replicaTries {
		e, err := secrets.Get(ctx, secretKey)
		switch {
		case err == nil && old != nil: // it was moved, but perhaps not yet removed here
			return e.Value(), purgeIf(ctx, crawl, old)
		case err == nil:
			return e.Value(), nil
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return nil, err
		}
		secret := NewSecret()
		if old != nil {
			secret = old.Value()
		}
		switch _, err := secrets.Create(ctx, secretKey, secret); {
		case err == nil:
			return secret, purgeIf(ctx, crawl, old)
		case !queue.ChangedMeanwhile(err):
			return nil, err
		}
		// Another frontier has just made it, and the server that we read from does not have it yet.
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(replicaPause):
		}
	}
	return nil, errors.New("the record exists, but it cannot be read")
}
