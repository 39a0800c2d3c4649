package updates

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// secretKey is where a crawl's secret stands in its bucket.
const secretKey = "updates-secret"

// Secret is the secret of a crawl's Addresses, kept in its bucket. Who asks first makes it; all get the same.
func Secret(ctx context.Context, kv jetstream.KeyValue) ([]byte, error) {
	for range 2 {
		e, err := kv.Get(ctx, secretKey)
		if err == nil {
			return e.Value(), nil
		}
		if !errors.Is(err, jetstream.ErrKeyNotFound) {
			return nil, fmt.Errorf("the secret of report addresses: %w", err)
		}
		secret := NewSecret()
		if _, err = kv.Create(ctx, secretKey, secret); err == nil {
			return secret, nil
		}
		if !errors.Is(err, jetstream.ErrKeyExists) {
			return nil, fmt.Errorf("the secret of report addresses: %w", err)
		}
	}
	return nil, errors.New("the secret of report addresses: there, and not there")
}
