package hooks

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// kvWithin is how long the bucket may take to answer.
const kvWithin = 5 * time.Second

// bucket is a Memory in the bucket of a crawl.
type bucket struct {
	kv  jetstream.KeyValue
	key string
}

// InBucket returns a Memory in the bucket of a crawl, for what was reported to a hook. Another hook
// has a memory of its own.
func InBucket(kv jetstream.KeyValue, hook string) Memory {
	h := fnv.New64a()
	h.Write([]byte(hook)) // never fails
	return &bucket{kv, fmt.Sprintf("reported.%016x", h.Sum64())}
}

// Load implements Memory.
func (b *bucket) Load(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, kvWithin)
	defer cancel()
	e, err := b.kv.Get(ctx, b.key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return e.Value(), nil
}

// Save implements Memory.
func (b *bucket) Save(ctx context.Context, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, kvWithin)
	defer cancel()
	_, err := b.kv.Put(ctx, b.key, data)
	return err
}
