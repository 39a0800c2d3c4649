package updates

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/curtsy/curtsy/pkg/queue"
	"github.com/nats-io/nats.go/jetstream"
)

// secretKey is the key of a crawl's secret in the bucket of secrets, and its former key in the
// crawl's own bucket.
const secretKey = "updates-secret"

// Secret is the secret of a crawl's Addresses. The first caller makes it, and all get the same. It
// is kept in secrets, a bucket that only frontiers may read. One that is in crawl, which fetchers
// read as well, is moved: sites have been told addresses made of it.
func Secret(ctx context.Context, secrets, crawl jetstream.KeyValue) ([]byte, error) {
	secret, err := secretIn(ctx, secrets, crawl)
	if err != nil {
		return nil, fmt.Errorf("the secret of report addresses: %w", err)
	}
	return secret, nil
}

// A replica of a bucket may be behind the one that takes writes for as long as it takes a server to
// get up again.
const (
	replicaTries = 150
	replicaPause = 200 * time.Millisecond
)

// purgeIf removes the secret from where it was, if it was there.
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
		case err == nil && old != nil: // it was moved, but perhaps not yet removed
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
		// Another frontier has made it just now, and the server that we read from has not heard.
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(replicaPause):
		}
	}
	return nil, errors.New("the record exists, but it cannot be read")
}
