package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/curtsy/curtsy/internal/crawl"
	"github.com/curtsy/curtsy/pkg/queue"
)

const (
	// forgetAfter is how long a record is kept at least. No pause may last as long, and a crawl
	// that is at the host writes every few seconds.
	forgetAfter = MaxPause + 5*time.Minute
	// sweepEvery is how often old records are deleted. The last revision is recorded as often.
	sweepEvery = 5 * time.Minute
)

// errChanged says that another process wrote the record meanwhile.
var errChanged = errors.New("the record was changed by another process")

// store is where the records are.
type store interface {
	// read returns the record under a key and its revision, 0 if there is none.
	read(ctx context.Context, key string) (record, uint64, error)
	// write replaces the record that has this revision. If the record has a newer revision, the
	// error is errChanged. After any other error the record may have been written.
	write(ctx context.Context, key string, r record, revision uint64) (uint64, error)
	// last returns the revision of the newest record, and the edition of the bucket. If the edition
	// differs from an earlier one, the records were lost, and revisions are counted from the
	// beginning.
	last(ctx context.Context) (revision uint64, edition string, err error)
	// forget deletes all records that were not written after this revision.
	forget(ctx context.Context, revision uint64) error
}

// bucket is the store in NATS.
type bucket struct {
	kv jetstream.KeyValue
	js jetstream.JetStream
}

func openBucket(ctx context.Context, q *queue.Conn) (store, error) {
	kv, err := q.OpenSizedBucket(ctx, crawl.HostsBucket, crawl.HostsBucketBytes)
	if err != nil {
		return nil, err
	}
	b := bucket{kv, q.JS}
	return b, b.settle(ctx)
}

// settling is how old a bucket must be before anything is written into it. While several processes
// create it at the same moment, a NATS server may let each of them write the first record of a key
// (seen with 2.15.2), and both would have the host.
const settling = 2 * time.Second

// settle waits until a bucket that was just made is old enough, by the server's own clock.
func (b bucket) settle(ctx context.Context) error {
	s, err := b.stream(ctx)
	if err != nil {
		return err
	}
	info := s.CachedInfo()
	if info.State.LastSeq > 0 {
		return nil
	}
	select {
	case <-time.After(min(settling-info.TimeStamp.Sub(info.Created), settling)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b bucket) read(ctx context.Context, key string) (record, uint64, error) {
	e, err := b.kv.Get(ctx, key)
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return record{}, 0, nil
	}
	if err != nil {
		return record{}, 0, fmt.Errorf("read %s: %w", key, err)
	}
	return decode(e.Value()), e.Revision(), nil
}

func (b bucket) write(ctx context.Context, key string, r record, revision uint64) (uint64, error) {
	value, err := r.encode()
	if err != nil {
		return 0, err
	}
	var next uint64
	if revision == 0 {
		next, err = b.kv.Create(ctx, key, value)
	} else {
		next, err = b.kv.Update(ctx, key, value, revision)
	}
	switch {
	case queue.ChangedMeanwhile(err):
		return 0, errChanged
	case err != nil:
		return 0, fmt.Errorf("write %s: %w", key, err)
	}
	return next, nil
}

func (b bucket) stream(ctx context.Context) (jetstream.Stream, error) {
	s, err := b.js.Stream(ctx, "KV_"+crawl.HostsBucket)
	if err != nil {
		return nil, fmt.Errorf("read bucket %s: %w", crawl.HostsBucket, err)
	}
	return s, nil
}

func (b bucket) last(ctx context.Context) (revision uint64, edition string, err error) {
	s, err := b.stream(ctx)
	if err != nil {
		return 0, "", err
	}
	info := s.CachedInfo()
	return info.State.LastSeq, info.Created.UTC().Format(time.RFC3339Nano), nil
}

func (b bucket) forget(ctx context.Context, revision uint64) error {
	s, err := b.stream(ctx)
	if err != nil {
		return err
	}
	if err := s.Purge(ctx, jetstream.WithPurgeSequence(revision+1)); err != nil {
		return fmt.Errorf("delete old records of bucket %s: %w", crawl.HostsBucket, err)
	}
	return nil
}
