package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bucketBytes is the capacity that a bucket reserves.
const bucketBytes = 8 << 20

// OpenBucket opens a key-value bucket with a capacity of 8 MiB that keeps one value for each key.
// It creates the bucket if it does not exist. replicas 0 means Options.Replicas.
func (c *Conn) OpenBucket(ctx context.Context, name string, replicas int) (jetstream.KeyValue, error) {
	return c.openBucket(ctx, name, bucketConfig{bytes: bucketBytes, replicas: replicas})
}

// smallBucketBytes is the capacity that a bucket of a few small values reserves. A server that is
// nearly full still grants it when it would refuse 8 MiB.
const smallBucketBytes = 64 << 10

// OpenSmallBucket is OpenBucket for a bucket of a few small values, with a capacity of 64 KiB.
func (c *Conn) OpenSmallBucket(ctx context.Context, name string) (jetstream.KeyValue, error) {
	return c.openBucket(ctx, name, bucketConfig{bytes: smallBucketBytes})
}

// OpenSizedBucket is OpenBucket for a bucket with a capacity of size bytes.
func (c *Conn) OpenSizedBucket(ctx context.Context, name string, size int64) (jetstream.KeyValue, error) {
	return c.openBucket(ctx, name, bucketConfig{bytes: size})
}

type bucketConfig struct {
	bytes    int64
	ttl      time.Duration // of keys; 0: for ever
	replicas int           // 0: Options.Replicas
}

// openBucket creates the stream of the bucket itself, because CreateKeyValue always allows every
// replica to answer reads. A replica that lags, or whose disk is full, would then keep answering
// with old values. With this stream the leader answers.
func (c *Conn) openBucket(ctx context.Context, name string, o bucketConfig) (kv jetstream.KeyValue, err error) {
	err = c.api(ctx, name, func(ctx context.Context) (err error) {
		err = c.openStream(ctx, jetstream.StreamConfig{
			Name:              "KV_" + name,
			Subjects:          []string{"$KV." + name + ".>"},
			MaxMsgsPerSubject: 1,
			MaxBytes:          o.bytes,
			MaxAge:            o.ttl,
			Replicas:          o.replicas,
			Discard:           jetstream.DiscardNew,
			AllowRollup:       true,
			DenyDelete:        true,
		})
		if err == nil {
			kv, err = c.JS.KeyValue(ctx, name)
		}
		return notSeenYet(err)
	})
	if err != nil {
		return nil, fmt.Errorf("bucket %s: %w", name, err)
	}
	return kv, nil
}

// notSeenYet turns "not found" into an error after which the call is repeated. The next server that
// receives a request may not know yet of a bucket that was just created or found.
func notSeenYet(err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("it exists, but this connection does not see it yet: %w", nats.ErrTimeout)
	}
	return err
}
