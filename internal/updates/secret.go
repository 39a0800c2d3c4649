package updates

import (
	"context"
	"errors"
	"fmt"

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

func secretIn(ctx context.Context, secrets, crawl jetstream.KeyValue) ([]byte, error) {
	old, err := crawl.Get(ctx, secretKey)
	if err != nil && !errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, err
	}
	for range 2 {
		e, err := secrets.Get(ctx, secretKey)
		switch {
		case err == nil && old != nil: // it was moved, but perhaps not yet removed
			return e.Value(), crawl.Purge(ctx, secretKey)
		case err == nil:
			return e.Value(), nil
		case !errors.Is(err, jetstream.ErrKeyNotFound):
			return nil, err
		}
		secret := NewSecret()
		if old != nil {
			secret = old.Value()
		}
		if _, err := secrets.Create(ctx, secretKey, secret); err != nil && !errors.Is(err, jetstream.ErrKeyExists) {
			return nil, err
		}
	}
	return nil, errors.New("there, and not there")
}
